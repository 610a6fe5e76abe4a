//! A run in the hands of a test: a clock, a world that answers, and a crash after every commit.

use std::collections::VecDeque;
use std::path::PathBuf;

use agentos_core::codec::{decode, encode};
use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{Entry, OperationResult, Record, RunOutcome};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::{InboxKey, RunId, Seed, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::journal::Journal;
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::time::Timestamp;
use agentos_core::turn::Turn;
use agentos_sdk::{Failure, RunInfo, RustProgram, Value, Workflow};
use serde_json::json;
use uuid::Uuid;

/// A workflow, its input, and what will be said to its run.
pub(crate) struct Bench {
    workflow: Workflow,
    input: Value,
    messages: Vec<(i64, Message)>,
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
        Self { workflow, input: Value::Null, messages: Vec::new() }
    }

    pub(crate) fn input(mut self, input: Value) -> Self {
        self.input = input;
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
        let mut effects = VecDeque::new();
        let (mut lines, mut performed) = (Vec::new(), Vec::new());
        loop {
            let chunk = decode(&encode(&turn.chunk)).expect("what was written is read");
            assert_eq!(chunk, turn.chunk);
            log.extend(chunk.into_records());
            if !turn.is_empty() {
                commits.push(log.len());
            }
            effects.extend(turn.effects.drain(..));
            lines
                .extend(turn.lines.iter().map(|line| format!("{:?} {}", line.level, line.message)));
            if turn.standing.is_ended() {
                break;
            }
            let last = log.last().expect("a log that has begun").at.0;
            let (at, happening) = match (turn.more, effects.pop_front()) {
                (true, None) => (last, None),
                (true, Some(effect)) => {
                    effects.push_front(effect);
                    (last, None)
                }
                (false, Some(effect)) => {
                    performed.push(effect.operation().to_string());
                    match perform(&execution, effect) {
                        Some(happening) => (last + 1, Some(happening)),
                        None => (last, None),
                    }
                }
                (false, None) => match self.next(&execution, &log) {
                    Some((at, happening)) => (at.max(last), Some(happening)),
                    None => break,
                },
            };
            turn = execution
                .advance(happening.into_iter().collect(), Timestamp(at))
                .expect("the turn can be taken");
        }
        let outcome = execution.outcome().cloned();
        Driven { log, commits, outcome, lines, performed }
    }

    /// The next timer or message.
    fn next(&self, execution: &Execution<RustProgram>, log: &[Record]) -> Option<(i64, Happening)> {
        let known =
            |key: &InboxKey| log.iter().any(|record| record.entry.message_key() == Some(key));
        let message = self.messages.iter().find(|(_, message)| !known(&message.key));
        let message = message.map(|(at, message)| (*at, Happening::Message(message.clone())));
        let timer = execution.timers().next();
        let timer = timer.map(|(at, timer)| (at.0, Happening::Timer(timer.clone())));
        [message, timer].into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}

/// What the world answers. A command that says `hang` goes on until it is stopped.
fn perform(execution: &Execution<RustProgram>, effect: Effect) -> Option<Happening> {
    match effect {
        Effect::Stop { operation, r#try, .. } => {
            Some(Happening::Ended { operation, r#try, result: OperationResult::Cancelled {} })
        }
        Effect::Perform { operation, kind: OperationKind::Invoke, args, child, .. } => {
            let output = json!({ "of": operation.name(), "got": args });
            let outcome = RunOutcome::Completed { output };
            let body = MessageBody::ChildEnded { operation, outcome };
            Some(Happening::Message(Message { key: child?.farewell(), body }))
        }
        Effect::Perform { operation, kind: OperationKind::Effect, r#try, .. } => {
            let work = execution.program().actions().take(&operation).expect("work to do");
            let result = match pollster::block_on(work) {
                Ok(value) => OperationResult::Ok { value },
                Err(failure) => OperationResult::Failed { failure },
            };
            Some(Happening::Ended { operation, r#try, result })
        }
        Effect::Perform { operation, r#try, args, .. } => {
            let command = args["command"].as_str().unwrap_or_default();
            let result = match command {
                "hang" => return None,
                "break" => OperationResult::Failed { failure: failure("broken") },
                _ => OperationResult::Ok {
                    value: json!({ "stdout": command, "exit_code": i32::from(command == "fail") }),
                },
            };
            Some(Happening::Ended { operation, r#try, result })
        }
    }
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure::new(agentos_sdk::FailureKind::Error, message)
}

impl Driven {
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
