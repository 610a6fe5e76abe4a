//! A run in the hands of a test: a clock, a world that answers, and a crash after every commit.

use std::path::PathBuf;

use agentos_core::codec::{decode, encode};
use agentos_core::effect::Happening;
use agentos_core::entry::{Entry, Record, RunOutcome};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::{InboxKey, RunId, Seed, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::journal::Journal;
use agentos_core::name::Name;
use agentos_core::time::Timestamp;
use agentos_core::turn::Turn;
use agentos_sdk::{Failure, RunInfo, RustProgram, Value, Workflow};
use uuid::Uuid;

use crate::world::World;

/// A workflow, its input, and what will be said to its run.
pub(crate) struct Bench {
    workflow: Workflow,
    input: Value,
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
    /// The operations that were performed, in order.
    pub(crate) performed: Vec<String>,
}

impl Bench {
    pub(crate) fn new(workflow: Workflow) -> Self {
        Self { workflow, input: Value::Null, messages: Vec::new(), chance: None }
    }

    pub(crate) fn input(mut self, input: Value) -> Self {
        self.input = input;
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
        self.messages.push((at, Message { key, body }));
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

    pub(crate) fn run_start(&self) -> Vec<Record> {
        let run = RunId(Uuid::from_u128(7));
        let started = self
            .workflow
            .run_started(run, self.input.clone(), Seed(42), Timestamp(0))
            .expect("a name");
        vec![Record::new(Seq(0), Timestamp(0), Entry::RunStarted(started))]
    }

    pub(crate) fn replay(&self, log: &[Record]) -> (Execution<RustProgram>, Turn) {
        let info = RunInfo {
            run_id: "build-abcdef".to_owned(),
            workspace_path: PathBuf::from("/workspace"),
            ..RunInfo::default()
        };
        let journal = Journal::fold(log.to_vec()).expect("the log folds");
        let options = Options { was_parked: true, ..Options::default() };
        let now = log.last().expect("a log that has begun").at;
        Execution::replay(self.workflow.program(info), journal, options, now)
            .expect("the program goes with its log")
    }

    /// Drives a run on from the end of its log.
    pub(crate) fn drive(&self, mut log: Vec<Record>) -> Driven {
        let (mut execution, mut turn) = self.replay(&log);
        let mut commits = vec![log.len()];
        let mut world = World::new(self.chance);
        let mut lines = Vec::new();
        loop {
            let chunk = decode(&encode(&turn.chunk)).expect("what was written is read");
            assert_eq!(chunk, turn.chunk);
            log.extend(chunk.into_records());
            if !turn.is_empty() {
                commits.push(log.len());
            }
            world.order(turn.effects.drain(..));
            let said = turn.lines.iter().map(|line| format!("{:?} {}", line.level, line.message));
            lines.extend(said);
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
        Driven { log, commits, outcome, lines, performed: world.performed }
    }

    /// What happens next, if anything: something in the world, or else a timer or message. It depends on the log alone,
    /// so that a crash makes no difference.
    fn next(
        &self,
        execution: &Execution<RustProgram>,
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
        match world.next(execution, log.len()) {
            Some(happening) => Some((last + 1, Some(happening))),
            None => outside,
        }
    }

    /// The next timer or message.
    fn next_outside(
        &self,
        execution: &Execution<RustProgram>,
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

pub(crate) fn failure(message: &str) -> Failure {
    Failure::new(agentos_sdk::FailureKind::Error, message)
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

    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.log.iter().map(|record| record.entry.kind()).collect()
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.kinds().into_iter().filter(|found| *found == kind).count()
    }
}
