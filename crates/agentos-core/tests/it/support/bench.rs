//! A run on the workbench: a program, its log, and a clock in the hands of the test.

use agentos_core::effect::{Happening, Timer};
use agentos_core::entry::{Entry, OperationResult, RunOutcome};
use agentos_core::execution::{AdvanceError, Divergence, Execution, Options};
use agentos_core::failure::Failure;
use agentos_core::id::Try;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::time::Timestamp;
use agentos_core::turn::Turn;
use agentos_core::value::Value;

use super::fact::{key, name, op, scope};
use super::log::Log;
use super::play::Play;

/// A run with everything that was committed of it.
pub(crate) struct Bench {
    pub(crate) log: Log,
    pub(crate) execution: Execution<Play>,
    /// The latest turn.
    pub(crate) turn: Turn,
}

impl Bench {
    /// A new run at 0.
    pub(crate) fn start(play: Play) -> Self {
        Self::resume(Log::started(), play)
    }

    /// A program at the end of its log.
    pub(crate) fn resume(log: Log, play: Play) -> Self {
        Self::try_resume(log, play, Options::default()).expect("the program goes with its log")
    }

    pub(crate) fn try_resume(
        mut log: Log,
        play: Play,
        options: Options,
    ) -> Result<Self, AdvanceError> {
        let now = log.records().last().map_or(Timestamp(0), |record| record.at);
        let (execution, turn) = Execution::replay(play, log.journal(), options, now)?;
        log.extend(turn.chunk.clone());
        Ok(Self { log, execution, turn })
    }

    /// Takes a turn.
    pub(crate) fn go(&mut self, at: i64, happenings: Vec<Happening>) -> &Turn {
        let turn = self.execution.advance(happenings, Timestamp(at));
        self.turn = turn.expect("the turn can be taken");
        self.log.extend(self.turn.chunk.clone());
        &self.turn
    }

    /// Takes turns until there is nothing more to do without the world.
    pub(crate) fn finish_turn(&mut self) {
        while self.turn.more {
            let at = self.turn.chunk.at.0;
            self.go(at, Vec::new());
        }
    }

    /// The kinds of the latest turn's entries.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.turn.chunk.entries.iter().map(Entry::kind).collect()
    }

    pub(crate) fn outcome(&self) -> Option<&RunOutcome> {
        self.execution.outcome()
    }

    /// Why the run failed.
    pub(crate) fn failure(&self) -> &Failure {
        match self.outcome() {
            Some(RunOutcome::Failed { failure }) => failure,
            other => panic!("the run did not fail: {other:?}"),
        }
    }

    pub(crate) fn notes(&self) -> Vec<&str> {
        self.execution.program().notes()
    }
}

/// What comes of executing another program against a log.
pub(crate) fn refusal(log: &Log, play: Play) -> AdvanceError {
    match Bench::try_resume(log.clone(), play, Options::default()) {
        Err(error) => error,
        Ok(bench) => panic!("the program was taken for the log's: {:?}", bench.turn),
    }
}

/// In what another program differs from the one that a log is of.
pub(crate) fn divergence(log: &Log, play: Play) -> Divergence {
    match refusal(log, play) {
        AdvanceError::Diverged(divergence) => divergence,
        error => panic!("{error}"),
    }
}

pub(crate) fn started(id: &str, r#try: u32, detail: Value) -> Happening {
    Happening::Started { operation: op(id), r#try: Try(r#try), detail }
}

pub(crate) fn ended(id: &str, r#try: u32, value: Value) -> Happening {
    let result = OperationResult::Ok { value };
    Happening::Ended { operation: op(id), r#try: Try(r#try), result }
}

pub(crate) fn failed(id: &str, r#try: u32, failure: Failure) -> Happening {
    let result = OperationResult::Failed { failure };
    Happening::Ended { operation: op(id), r#try: Try(r#try), result }
}

pub(crate) fn stopped(id: &str, r#try: u32) -> Happening {
    let result = OperationResult::Cancelled {};
    Happening::Ended { operation: op(id), r#try: Try(r#try), result }
}

pub(crate) fn interrupted(id: &str, r#try: u32) -> Happening {
    Happening::Interrupted { operation: op(id), r#try: Try(r#try) }
}

pub(crate) fn timer(id: &str) -> Happening {
    Happening::Timer(Timer::Operation(op(id)))
}

pub(crate) fn retry_timer(path: &str) -> Happening {
    Happening::Timer(Timer::Retry(scope(path)))
}

pub(crate) fn attempt_timer(path: &str) -> Happening {
    Happening::Timer(Timer::Attempt(scope(path)))
}

pub(crate) fn grace_timer(path: &str) -> Happening {
    Happening::Timer(Timer::Grace(scope(path)))
}

pub(crate) fn signal(text: &str, signal: &str, payload: Value) -> Happening {
    let body = MessageBody::Signal { name: name(signal), payload };
    Happening::Message(Message { key: key(text), body })
}

pub(crate) fn decision(text: &str, id: &str, approved: bool) -> Happening {
    let (by, comment) = ("me".to_owned(), None);
    let body = MessageBody::Approval { operation: op(id), approved, by, comment };
    Happening::Message(Message { key: key(text), body })
}

pub(crate) fn child_ended(text: &str, id: &str, outcome: RunOutcome) -> Happening {
    let body = MessageBody::ChildEnded { operation: op(id), outcome };
    Happening::Message(Message { key: key(text), body })
}

pub(crate) fn cancel(text: &str) -> Happening {
    Happening::Message(Message { key: key(text), body: MessageBody::Cancel { reason: None } })
}
