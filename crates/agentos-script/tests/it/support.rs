//! A run in the hands of a test: a clock, a world that answers, and a crash after every commit.

use std::sync::Arc;

use agentos_core::codec::{decode, encode};
use agentos_core::effect::Happening;
use agentos_core::entry::{Entry, Record, RunOutcome, RunStarted};
use agentos_core::execution::{Execution, Options};
use agentos_core::failure::Failure;
use agentos_core::id::{InboxKey, RunId, Seed, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::journal::Journal;
use agentos_core::name::Name;
use agentos_core::program::Program;
use agentos_core::time::Timestamp;
use agentos_core::turn::Turn;
use agentos_core::value::Value;
use agentos_script::definition::Definition;
use agentos_script::limits::Limits;
use agentos_script::run::RunInfo;
use agentos_script::sources::Sources;
use uuid::Uuid;

use crate::world::World;

/// When the runs of the tests begin: a time that a script can tell from zero.
pub(crate) const START: i64 = 1_700_000_000_000;

type Opener = Box<dyn Fn() -> Box<dyn Program>>;

/// A program, its input, and what will be said to its run.
pub(crate) struct Bench {
    open: Opener,
    start: RunStarted,
    messages: Vec<(i64, Message)>,
    /// With a seed, the world answers in any order, and some of it fails or hangs.
    chance: Option<u64>,
}

/// A run that is over, or that waits for ever.
#[derive(Debug)]
pub(crate) struct Driven {
    pub(crate) log: Vec<Record>,
    /// How long the log was after each commit.
    pub(crate) commits: Vec<usize>,
    pub(crate) outcome: Option<RunOutcome>,
    pub(crate) lines: Vec<String>,
    /// What was warned of.
    pub(crate) warnings: Vec<String>,
    /// The operations that were performed, in order.
    pub(crate) performed: Vec<String>,
}

/// The definition of one module.
pub(crate) fn definition(text: &str) -> Arc<Definition> {
    let sources = Sources::single("templates/test.ts", text);
    Arc::new(Definition::compile(&sources).unwrap_or_else(|error| panic!("{error}")))
}

/// A workflow whose function has this body.
pub(crate) fn workflow(body: &str) -> String {
    format!(
        "import {{ createWorkflow, NonRetryableError, CancelledError, TimeoutError }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"test\" }}, async (ctx) => {{\n{body}\n}});\n"
    )
}

impl Bench {
    /// A workflow whose function has this body.
    pub(crate) fn body(body: &str) -> Self {
        Self::new(definition(&workflow(body)))
    }

    pub(crate) fn new(definition: Arc<Definition>) -> Self {
        Self::limited(definition, Limits::default())
    }

    pub(crate) fn limited(definition: Arc<Definition>, limits: Limits) -> Self {
        let run = RunId(Uuid::from_u128(7));
        let start = definition.run_started(run, Value::Null, Seed(42), Timestamp(START));
        let info = RunInfo {
            run_id: "test-abcdef".to_owned(),
            workspace_path: "/workspace".to_owned(),
            ..RunInfo::default()
        };
        let open =
            move || -> Box<dyn Program> { Box::new(definition.program(info.clone(), limits)) };
        Self::of_program(Box::new(open), start.expect("a name"))
    }

    pub(crate) fn of_program(open: Opener, start: RunStarted) -> Self {
        Self { open, start, messages: Vec::new(), chance: None }
    }

    pub(crate) fn input(mut self, input: Value) -> Self {
        self.start.input = input;
        self
    }

    pub(crate) fn chance(mut self, seed: u64) -> Self {
        self.chance = Some(seed);
        self
    }

    pub(crate) fn signal(self, at: i64, name: &str, payload: Value) -> Self {
        let name = Name::new(name).expect("a name");
        self.message(at, MessageBody::Signal { name, payload })
    }

    pub(crate) fn cancel(self, at: i64) -> Self {
        self.message(at, MessageBody::Cancel { reason: None })
    }

    pub(crate) fn decide(self, at: i64, question: &str, approved: bool) -> Self {
        let operation = question.parse().expect("the id of an operation");
        let by = "me".to_owned();
        self.message(at, MessageBody::Approval { operation, approved, by, comment: None })
    }

    fn message(mut self, at: i64, body: MessageBody) -> Self {
        let key = InboxKey(format!("m{}", self.messages.len()));
        self.messages.push((START + at, Message { key, body }));
        self
    }

    /// Executes the run from its start to its end, and again with a crash after every commit.
    pub(crate) fn run(&self) -> Driven {
        let whole = self.drive(self.run_start());
        for cut in &whole.commits {
            let log = whole.log[..*cut].to_vec();
            let (_, turn) = self.replay(&log);
            let decided = &turn.chunk.entries;
            assert!(*cut == 1 || turn.is_empty(), "a replay of {cut} entries decided {decided:?}");
            let again = self.drive(log);
            assert_eq!(again.log, whole.log, "after a crash at {cut}");
            again.repeats_nothing(*cut);
        }
        whole
    }

    /// Executes the run once.
    pub(crate) fn run_once(&self) -> Driven {
        self.drive(self.run_start())
    }

    pub(crate) fn run_start(&self) -> Vec<Record> {
        vec![Record::new(Seq(0), Timestamp(START), Entry::RunStarted(self.start.clone()))]
    }

    pub(crate) fn replay(&self, log: &[Record]) -> (Execution<Box<dyn Program>>, Turn) {
        let journal = Journal::fold(log.to_vec()).expect("the log folds");
        let options = Options { was_parked: true, ..Options::default() };
        let now = log.last().expect("a log that has begun").at;
        Execution::replay((self.open)(), journal, options, now)
            .expect("the program goes with its log")
    }

    /// Drives a run on from the end of its log.
    pub(crate) fn drive(&self, mut log: Vec<Record>) -> Driven {
        let (mut execution, mut turn) = self.replay(&log);
        let mut commits = vec![log.len()];
        let mut world = World::new(self.chance);
        let (mut lines, mut warnings) = (Vec::new(), Vec::new());
        loop {
            let chunk = decode(&encode(&turn.chunk)).expect("what was written is read");
            assert_eq!(chunk, turn.chunk);
            log.extend(chunk.into_records());
            if !turn.is_empty() {
                commits.push(log.len());
            }
            world.order(turn.effects.drain(..));
            for line in &turn.lines {
                let said = format!("{:?} {}", line.level, line.message);
                if line.is_warning { warnings.push(said) } else { lines.push(said) }
            }
            if turn.standing.is_ended() {
                break;
            }
            let last = log.last().expect("a log that has begun").at.0;
            let next = match turn.more {
                true => Some((last, None)),
                false => self.next(&execution, &log, &mut world),
            };
            let Some((at, happening)) = next else { break };
            let happenings = happening.into_iter().collect();
            turn = execution.advance(happenings, Timestamp(at)).expect("the turn can be taken");
        }
        let outcome = execution.outcome().cloned();
        Driven { log, commits, outcome, lines, warnings, performed: world.performed }
    }

    /// What happens next, if anything: something in the world, or else a timer or message. It depends on the log alone,
    /// so that a crash makes no difference.
    fn next(
        &self,
        execution: &Execution<Box<dyn Program>>,
        log: &[Record],
        world: &mut World,
    ) -> Option<(i64, Option<Happening>)> {
        let last = log.last().expect("a log that has begun").at.0;
        let outside = self.next_outside(execution, log);
        let outside = outside.map(|(at, happening)| (at.max(last), Some(happening)));
        let impatient = self.chance.is_some() && world.draw("time", log.len()).is_multiple_of(3);
        if impatient && outside.is_some() {
            return outside;
        }
        match world.next(log.len()) {
            Some(happening) => Some((last + 1, Some(happening))),
            None => outside,
        }
    }

    /// The next timer or message.
    fn next_outside(
        &self,
        execution: &Execution<Box<dyn Program>>,
        log: &[Record],
    ) -> Option<(i64, Happening)> {
        let known =
            |key: &InboxKey| log.iter().any(|record| record.entry.message_key() == Some(key));
        let message = self.messages.iter().find(|(_, message)| !known(&message.key));
        let message = message.map(|(at, message)| (*at, Happening::Message(message.clone())));
        let timer = execution.timers().next();
        let timer = timer.map(|(at, timer)| (at.0, Happening::Timer(timer.clone())));
        [message, timer].into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}

impl Driven {
    /// Nothing was performed that had its answer when the log was this long.
    fn repeats_nothing(&self, cut: usize) {
        let ended = self.log[..cut].iter().filter_map(|record| match &record.entry {
            Entry::OperationEnded { operation, .. } => Some(operation.as_str()),
            _ => None,
        });
        let repeated = ended.filter(|ended| self.performed.iter().any(|done| done == ended));
        assert_eq!(repeated.collect::<Vec<_>>(), [""; 0], "after a crash at {cut}");
    }

    /// What the workflow returned.
    pub(crate) fn output(&self) -> &Value {
        match &self.outcome {
            Some(RunOutcome::Completed { output }) => output,
            other => panic!("the run did not complete: {other:?}"),
        }
    }

    /// Why it failed.
    pub(crate) fn failure(&self) -> &Failure {
        match &self.outcome {
            Some(RunOutcome::Failed { failure }) => failure,
            other => panic!("the run did not fail: {other:?}"),
        }
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.log.iter().filter(|record| record.entry.kind() == kind).count()
    }
}
