//! The most trivial driver there can be: everything in memory, every effect answered at once.
//!
//! It stands in for a store and a world that cost nothing, so that what is left is the core.

use agentos_core::codec::Chunk;
use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{OperationResult, Record};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::Seq;
use agentos_core::journal::Journal;
use agentos_core::program::Program;
use agentos_core::time::{Millis, Timestamp};
use agentos_core::turn::Turn;
use serde_json::json;

use crate::script::Node;
use crate::simulation::Scenario;

/// The log of a run that was only just created.
pub(super) fn created() -> Chunk {
    let first = Scenario::new(Node::Log).first_entry();
    Chunk::new(Seq::FIRST, Timestamp(0), vec![first])
}

/// Folds a log that is known to be whole.
pub(super) fn fold(log: impl IntoIterator<Item = Record>) -> Journal {
    Journal::fold(log).expect("a log that the core wrote folds")
}

/// A run under way.
pub(super) struct Driven<P> {
    execution: Execution<P>,
    effects: Vec<Effect>,
    now: Timestamp,
}

impl<P: Program> Driven<P> {
    /// Begins where the journal ends; its first turn comes with it.
    pub(super) fn begin(program: P, journal: Journal) -> (Self, Turn) {
        let now = journal.last_at().unwrap_or(Timestamp(0));
        let (execution, mut turn) = Execution::replay(program, journal, Options::default(), now)
            .expect("the program fits its log");
        let effects = std::mem::take(&mut turn.effects);
        (Self { execution, effects, now }, turn)
    }

    /// Answers everything that was asked for and takes the next turn; `None` when the run is over.
    pub(super) fn turn(&mut self) -> Option<Turn> {
        if self.execution.outcome().is_some() {
            return None;
        }
        self.now = self.now.after(Millis::new(1));
        let happenings = std::mem::take(&mut self.effects).into_iter().map(answer).collect();
        let mut turn = self.execution.advance(happenings, self.now).expect("the core goes on");
        self.effects = std::mem::take(&mut turn.effects);
        Some(turn)
    }
}

fn answer(effect: Effect) -> Happening {
    match effect {
        Effect::Perform { operation, r#try, .. } => {
            let result = OperationResult::Ok { value: json!({ "exit": 0 }) };
            Happening::Ended { operation, r#try, result }
        }
        Effect::Stop { operation, r#try, .. } => {
            Happening::Ended { operation, r#try, result: OperationResult::Cancelled {} }
        }
    }
}

/// Executes a program from its beginning to its end, handing out every turn.
pub(super) fn drive<P: Program>(
    program: P,
    journal: Journal,
    mut each: impl FnMut(Turn),
) -> Driven<P> {
    let (mut driven, first) = Driven::begin(program, journal);
    each(first);
    while let Some(turn) = driven.turn() {
        each(turn);
    }
    driven
}

/// The whole log of a program, chunk by chunk as it would have been committed.
pub(super) fn log_of(program: impl Program) -> Vec<Chunk> {
    let mut log = vec![created()];
    drop(drive(program, fold(created().into_records()), |turn| log.push(turn.chunk)));
    log.retain(|chunk| !chunk.entries.is_empty());
    log
}

/// A log as its entries.
pub(super) fn records(log: &[Chunk]) -> Vec<Record> {
    log.iter().cloned().flat_map(Chunk::into_records).collect()
}

/// A log of just so many entries: what is left of a longer one after a crash.
pub(super) fn cut(log: Vec<Chunk>, entries: usize) -> Vec<Chunk> {
    let mut left = entries;
    let mut short = Vec::new();
    for mut chunk in log {
        chunk.entries.truncate(left);
        left -= chunk.entries.len();
        if !chunk.entries.is_empty() {
            short.push(chunk);
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::lean::{Body, Operations, Steps};

    fn kinds(log: &[Chunk]) -> Vec<&'static str> {
        records(log).iter().map(|record| record.entry.kind()).collect()
    }

    #[test]
    fn an_operation_is_two_entries_and_a_turn() {
        let log = log_of(Operations::new(1));
        let expected = ["run.started", "operation.ordered", "operation.ended", "run.ended"];
        assert_eq!(kinds(&log), expected);
        assert_eq!(log.len(), 3);
    }

    #[test]
    fn an_effectful_step_is_five_entries_and_a_turn() {
        let log = log_of(Steps::new(100, Body::Effect));
        assert_eq!(kinds(&log).len(), 2 + 5 * 100);
        assert_eq!(log.len(), 2 + 100);
    }

    #[test]
    fn pure_steps_share_one_turn() {
        let log = log_of(Steps::new(100, Body::Pure));
        assert_eq!((kinds(&log).len(), log.len()), (2 + 3 * 100, 2));
    }

    #[test]
    fn a_cut_log_has_so_many_entries_and_folds() {
        let log = cut(log_of(Steps::new(10, Body::Effect)), 23);
        assert_eq!(fold(records(&log)).len(), 23);
    }
}
