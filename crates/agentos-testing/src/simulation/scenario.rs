//! What is simulated: a program, what comes into it from outside, and the chances of its world.

use std::rc::Rc;

use agentos_core::bounds;
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{InboxKey, RunId, Seed};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::chance::{self, Chance};
use crate::script::{Generator, Node, Shape};

/// A message that comes in at some time: a signal, or with the name `cancel` the wish that the run end.
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
    /// How many entries a turn gathers before it is cut.
    pub turn_entries: usize,
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
            turn_entries: bounds::TURN_ENTRIES,
        }
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
        let mut scenario = Self::new(Generator::new(seed, shape).program());
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
        scenario.grace = *chance.pick(&[0, 2, 5, 50]);
        scenario.turn_entries = *chance.pick(&[1, 3, 10, bounds::TURN_ENTRIES]);
        scenario
    }

    /// The run's id.
    #[must_use]
    pub fn run(&self) -> RunId {
        RunId(Uuid::from_u64_pair(0, u64::from(chance::number(&self.seed))))
    }

    /// The first entry of the run's log.
    ///
    /// # Panics
    /// Never: the workflow's name is one.
    #[must_use]
    pub fn first_entry(&self) -> Entry {
        Entry::RunStarted(RunStarted {
            run: self.run(),
            workflow: Name::new("simulated").expect("a short name"),
            definition: String::new(),
            input: json!({}),
            seed: Seed(u64::from(chance::number(&self.seed))),
            grace_ms: Millis::new(self.grace),
        })
    }

    /// When everything begins.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        Timestamp(0)
    }
}
