//! What is simulated: a program, what comes into it from outside, and the chances of its world.

use std::collections::BTreeMap;
use std::rc::Rc;

use agentos_core::bounds;
use agentos_core::entry::{Entry, Parent, RunStarted};
use agentos_core::id::{InboxKey, RunId, Seed};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::chance::{self, Chance};
use crate::script::{Generator, Node, Shape, with_own_accounts};

/// A message that comes in at some time: a signal, with the name `cancel` the wish that the run end, with the identity of
/// a question as its name a decision on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mail {
    /// When.
    pub at: i64,
    /// The signal's name.
    pub name: String,
    /// Its key, and what it carries.
    pub key: String,
}

impl Mail {
    /// The message as the inbox has it.
    ///
    /// # Panics
    /// If the name is none.
    #[must_use]
    pub fn message(&self) -> Message {
        let body = if self.name == "cancel" {
            MessageBody::Cancel { reason: None }
        } else if let Ok(operation) = self.name.parse() {
            let approved = chance::number(&self.key).is_multiple_of(2);
            MessageBody::Approval { operation, approved, by: "somebody".into(), comment: None }
        } else {
            let name = Name::new(&self.name).expect("mail has short names");
            MessageBody::Signal { name, payload: json!(self.key) }
        };
        Message { key: InboxKey(self.key.clone()), body }
    }
}

/// Everything that decides how an uninterrupted run goes.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The program.
    pub program: Rc<Node>,
    /// Decides how long effects take, what comes of them, and in which order things happen that happen at once.
    pub seed: String,
    /// What comes in from outside.
    pub mail: Vec<Mail>,
    /// How long cleanup may go on.
    pub grace: u64,
    /// How long the run may be active; 0 for as long as it takes.
    pub timeout: u64,
    /// When the run ends at the latest; 0 for never.
    pub deadline: i64,
    /// How many entries a turn gathers before it is cut.
    pub turn_entries: usize,
    /// Workflows that the program, and they themselves, may invoke.
    pub children: BTreeMap<String, Rc<Node>>,
    /// Whether a run that only waits is given back until something happens.
    pub parks: bool,
    /// Which fork of the run this is; 0 for the run itself.
    pub fork: u64,
    /// What a source switch moves the run to; without it, the same program in another edition.
    pub edit: Option<Rc<Node>>,
}

impl Scenario {
    /// A program by itself, with nothing coming in.
    #[must_use]
    pub fn new(program: Node) -> Self {
        Self {
            program: Rc::new(program),
            seed: "world".to_owned(),
            mail: Vec::new(),
            grace: 10,
            timeout: 0,
            deadline: 0,
            turn_entries: bounds::TURN_ENTRIES,
            children: BTreeMap::new(),
            parks: false,
            fork: 0,
            edit: None,
        }
    }

    /// The same with a workflow that can be invoked.
    #[must_use]
    pub fn with_child(mut self, name: &str, program: Node) -> Self {
        self.children.insert(name.to_owned(), Rc::new(program));
        self
    }

    /// The same with a message coming in.
    #[must_use]
    pub fn with_mail(mut self, at: i64, name: &str) -> Self {
        let key = format!("m{}", self.mail.len());
        self.mail.push(Mail { at, name: name.to_owned(), key });
        self
    }

    /// A scenario made up from a seed.
    #[must_use]
    pub fn generate(seed: u64) -> Self {
        let mut chance = Chance::new(format!("scenario {seed}"));
        let shape = if chance.percent(60) { Shape::Steady } else { Shape::Everything };
        let family = chance.percent(20);
        let mut generator = Generator::new(seed, shape);
        if family {
            generator = generator.invoking("child");
        }
        let mut scenario = Self::new(generator.program());
        if family {
            let mut child = Generator::new(seed + 1, shape).invoking("grandchild");
            let mut grandchild = Generator::new(seed + 2, shape);
            scenario = scenario
                .with_child("child", child.small_program())
                .with_child("grandchild", grandchild.small_program());
        }
        let mut own = Chance::new(format!("own accounts {seed}"));
        if own.percent(60) {
            scenario.program = Rc::new(with_own_accounts(&scenario.program, &mut own));
        }
        let mut closing = Chance::new(format!("waits in closing scopes {seed}"));
        if closing.percent(15) {
            scenario = scenario.waiting_while_it_closes(&mut closing);
        }
        scenario.parks = chance.percent(30);
        scenario.seed = format!("w{seed}");
        for _ in 0..chance.below(4) {
            let at = i64::from(1 + chance.below(10));
            scenario = scenario.with_mail(at, if chance.percent(50) { "ev0" } else { "ev1" });
        }
        if chance.percent(25) {
            let at = i64::from(1 + chance.below(10));
            scenario = scenario.with_mail(at, "cancel");
        }
        if chance.percent(5) {
            let at = i64::from(1 + chance.below(10));
            scenario = scenario.with_mail(at, "cancel");
        }
        for question in ["/approve:a#1", "/approve:b#1", "/a#1@1/approve:a#1"] {
            if chance.percent(30) {
                let at = i64::from(1 + chance.below(10));
                scenario = scenario.with_mail(at, question);
            }
        }
        if chance.percent(15) {
            scenario.timeout = u64::from(2 + chance.below(12));
        }
        if chance.percent(10) {
            scenario.deadline = i64::from(3 + chance.below(20));
        }
        scenario.grace = *chance.pick(&[0, 2, 5, 50]);
        scenario.turn_entries = *chance.pick(&[1, 3, 10, bounds::TURN_ENTRIES]);
        scenario
    }

    /// The same with cleanup that waits for a signal which came before, and a run that is cancelled meanwhile: the signal was
    /// kept, and the wait must not get it.
    fn waiting_while_it_closes(mut self, chance: &mut Chance) -> Self {
        let wait = Node::Wait { name: "ev0".to_owned(), ms: u64::from(1 + chance.below(4)) };
        let body = Box::new(self.program.as_ref().clone());
        self.program = Rc::new(Node::Try { body, rescue: None, cleanup: Box::new(wait) });
        self.with_mail(1, "ev0").with_mail(i64::from(2 + chance.below(6)), "cancel")
    }

    /// The run's id.
    #[must_use]
    pub fn run(&self) -> RunId {
        RunId(Uuid::from_u64_pair(self.fork, u64::from(chance::number(&self.seed))))
    }

    /// The first entry of the run's log.
    ///
    /// # Panics
    /// Never: the workflow's name is one.
    #[must_use]
    pub fn first_entry(&self) -> Entry {
        let workflow = Name::new("simulated").expect("a short name");
        Entry::RunStarted(RunStarted {
            input: json!({}),
            seed: Seed(u64::from(chance::number(&self.seed))),
            grace_ms: Millis::new(self.grace),
            timeout_ms: (self.timeout > 0).then(|| Millis::new(self.timeout)),
            deadline: (self.deadline > 0).then_some(Timestamp(self.deadline)),
            ..RunStarted::new(self.run(), workflow)
        })
    }

    /// The first entry of a child's log.
    #[must_use]
    pub fn child_entry(&self, child: RunId, workflow: Name, parent: Parent) -> Entry {
        Entry::RunStarted(RunStarted {
            input: json!({}),
            seed: Seed(u64::from(chance::number(&child.to_string()))),
            grace_ms: Millis::new(self.grace),
            parent: Some(parent),
            ..RunStarted::new(child, workflow)
        })
    }

    /// The program of a workflow. Without one of that name it does nothing.
    #[must_use]
    pub fn program_of(&self, workflow: &str) -> Rc<Node> {
        if workflow == "simulated" {
            return Rc::clone(&self.program);
        }
        self.children
            .get(workflow)
            .cloned()
            .unwrap_or_else(|| Rc::new(Node::Seq { of: Vec::new() }))
    }

    /// The program of an edition of the first run's source.
    #[must_use]
    pub fn edition(&self, edition: u32) -> Rc<Node> {
        let edit = self.edit.as_ref().filter(|_| edition > 0);
        Rc::clone(edit.unwrap_or(&self.program))
    }

    /// When everything begins.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        Timestamp(0)
    }
}
