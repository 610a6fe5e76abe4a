//! Which answers a run that is executed anew keeps.

use std::collections::HashSet;

use super::RebaseError;
use crate::entry::{Entry, OperationResult, Record, RunOutcome, StepOutcome};
use crate::failure::Failure;
use crate::id::{InboxKey, Seq, StepNumber};
use crate::path::{OperationId, ScopePath, StepPath};

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Everything: another source, the same run.
    Everything,
    /// Answers to what was asked for before this step: a fork.
    BeforeStep(StepNumber),
    /// Whatever finished, except what failed and what followed from that: a retry.
    Finished,
}

/// The choice, made for one log.
#[derive(Debug)]
pub(super) struct Selection {
    keep: Keep,
    /// Whatever was asked for from here on is not kept.
    cut: Seq,
    /// What failed: steps with all their attempts, and operations.
    failed: Vec<Failed>,
    operations: HashSet<OperationId>,
    signals: HashSet<InboxKey>,
}

#[derive(Debug, Clone, PartialEq)]
enum Failed {
    Step(StepPath),
    Operation(OperationId),
}

impl Selection {
    pub(super) fn new(log: &[Record], keep: Keep) -> Result<Self, RebaseError> {
        let end = Seq(log.last().map_or(0, |last| last.seq.0 + 1));
        let (cut, failed) = match keep {
            Keep::Everything => (end, Vec::new()),
            Keep::BeforeStep(number) => {
                let asked = asked_at(log, number).ok_or(RebaseError::NoSuchStep(number))?;
                // A fork is not told to end, so nothing that followed from that is asked for in it.
                (asked.min(stopped_at(log)), Vec::new())
            }
            Keep::Finished => failure(log)?,
        };
        let mut selection =
            Self { keep, cut, failed, operations: HashSet::new(), signals: HashSet::new() };
        for record in log {
            selection.select(record);
        }
        Ok(selection)
    }

    fn select(&mut self, record: &Record) {
        let before = record.seq < self.cut;
        match &record.entry {
            Entry::OperationOrdered { operation, .. } if before && !self.is_failed(operation) => {
                self.operations.insert(operation.clone());
            }
            Entry::SignalArrived { key, .. } | Entry::ApprovalGiven { key, .. }
                if before || self.keep == Keep::Finished =>
            {
                self.signals.insert(key.clone());
            }
            Entry::SignalConsumed { key, operation } if self.operations.contains(operation) => {
                self.signals.insert(key.clone());
            }
            _ => {}
        }
    }

    fn is_failed(&self, operation: &OperationId) -> bool {
        self.failed.iter().any(|failed| match failed {
            Failed::Operation(failed) => failed == operation,
            Failed::Step(step) => operation.scope().is_within(step),
        })
    }

    /// The operations that are kept.
    pub(super) fn operations(&self) -> &HashSet<OperationId> {
        &self.operations
    }

    /// Whether it is kept that the program asked for this.
    pub(super) fn asked(&self, record: &Record) -> bool {
        match &record.entry {
            Entry::OperationOrdered { operation, .. } => self.operation(operation),
            Entry::StepRequested { step, .. } => {
                let within = |failed: &Failed| matches!(failed, Failed::Step(failed) if failed == step || step.scope().is_within(failed));
                record.seq < self.cut && !self.failed.iter().any(within)
            }
            _ => false,
        }
    }

    /// Whether a step that ended at this position had finished for good.
    pub(super) fn step(&self, step: &StepPath, seq: Seq) -> bool {
        let failed = |failed: &Failed| match failed {
            Failed::Step(failed) => failed == step || step.scope().is_within(failed),
            Failed::Operation(operation) => operation.scope().is_within(step),
        };
        seq < self.cut && !self.failed.iter().any(failed)
    }

    /// Whether what happened to this operation is kept.
    pub(super) fn operation(&self, id: &OperationId) -> bool {
        self.operations.contains(id)
    }

    /// Whether this answer to it is. Being cancelled by what is not kept is no answer.
    pub(super) fn answer(&self, id: &OperationId, result: &OperationResult, seq: Seq) -> bool {
        self.operation(id) && (!result.is_cancelled() || seq < self.cut)
    }

    /// Whether this end of a child run is kept.
    pub(super) fn child(&self, id: &OperationId, outcome: &RunOutcome, seq: Seq) -> bool {
        self.operation(id) && (!matches!(outcome, RunOutcome::Cancelled { .. }) || seq < self.cut)
    }

    /// Whether this signal or decision is kept.
    pub(super) fn signal(&self, key: &InboxKey) -> bool {
        self.signals.contains(key)
    }

    /// Whether what happened to this scope at this position is kept: its beginning, its failure, what the clock did to it.
    pub(super) fn scope(&self, scope: &ScopePath, seq: Seq) -> bool {
        let below = |failed: &Failed| matches!(failed, Failed::Step(step) if scope.is_within(step));
        let failed = self.failed.iter().any(below);
        seq < self.cut && !failed
    }

    /// Whether the wish to end the run, and its own failure, are kept.
    pub(super) fn ending(&self) -> bool {
        self.keep == Keep::Everything
    }
}

/// The position at which the step or operation of this number was asked for.
fn asked_at(log: &[Record], wanted: StepNumber) -> Option<Seq> {
    let asked = log.iter().find(|record| match &record.entry {
        Entry::StepRequested { number, .. } | Entry::OperationOrdered { number, .. } => {
            *number == Some(wanted)
        }
        _ => false,
    });
    asked.map(|record| record.seq)
}

/// What made the run fail, and when: whatever was asked for after that is a consequence.
fn failure(log: &[Record]) -> Result<(Seq, Vec<Failed>), RebaseError> {
    let ended = log.iter().find_map(|record| match &record.entry {
        Entry::RunEnded { outcome } => Some((record.seq, outcome)),
        _ => None,
    });
    match ended {
        None | Some((_, RunOutcome::Completed { .. })) => Err(RebaseError::NotFailed),
        Some((_, RunOutcome::TimedOut { .. } | RunOutcome::Cancelled { .. })) => {
            Ok((stopped_at(log), Vec::new()))
        }
        Some((end, RunOutcome::Failed { failure })) => {
            let (seq, failed) = culprits(log, &ScopePath::root(), failure);
            Ok((seq.min(stopped_at(log)).min(end), failed))
        }
    }
}

/// When the run was told to end: by somebody, by the clock, or by itself.
fn stopped_at(log: &[Record]) -> Seq {
    let stop = log.iter().find(|record| {
        matches!(
            record.entry,
            Entry::CancelRequested { .. } | Entry::RunFailing { .. } | Entry::RunEnded { .. }
        )
    });
    stop.map_or(Seq(u64::MAX), |record| record.seq)
}

/// What a run failed with, and where that was first seen: the steps and operations whose failure nothing was done
/// about. If the workflow threw something of its own, that is whatever failed last.
fn culprits(log: &[Record], scope: &ScopePath, failure: &Failure) -> (Seq, Vec<Failed>) {
    let failed: Vec<(Seq, Failed, &Failure)> =
        log.iter().filter_map(|record| failed_in(record, scope)).collect();
    let last_asked = log.iter().rev().find(|record| is_asked_in(record, scope));
    let last_asked = last_asked.map_or(Seq::FIRST, |record| record.seq);
    let same = |(_, _, found): &&(Seq, Failed, &Failure)| *found == failure;
    let unhandled = failed.iter().filter(same).filter(|(seq, _, _)| *seq > last_asked);
    let mut blamed: Vec<&(Seq, Failed, &Failure)> = unhandled.collect();
    if blamed.is_empty() {
        blamed.extend(failed.iter().rfind(|found| same(found)).or(failed.last()));
    }
    let cut = blamed.iter().map(|(seq, _, _)| *seq).min().unwrap_or(Seq(u64::MAX));
    (cut, blamed.iter().map(|(_, failed, failure)| innermost(log, failed, failure)).collect())
}

/// The step or operation of this scope whose failure the entry records.
fn failed_in<'a>(record: &'a Record, scope: &ScopePath) -> Option<(Seq, Failed, &'a Failure)> {
    match &record.entry {
        Entry::StepEnded { step, outcome: StepOutcome::Failed { failure } }
            if step.scope() == *scope =>
        {
            Some((record.seq, Failed::Step(step.clone()), failure))
        }
        Entry::OperationEnded { operation, result: OperationResult::Failed { failure } }
            if operation.scope() == *scope =>
        {
            Some((record.seq, Failed::Operation(operation.clone()), failure))
        }
        Entry::ChildEnded {
            operation,
            outcome: RunOutcome::Failed { failure } | RunOutcome::TimedOut { failure },
            ..
        } if operation.scope() == *scope => {
            Some((record.seq, Failed::Operation(operation.clone()), failure))
        }
        _ => None,
    }
}

fn is_asked_in(record: &Record, scope: &ScopePath) -> bool {
    match &record.entry {
        Entry::StepRequested { step, .. } => step.scope() == *scope,
        Entry::OperationOrdered { operation, .. } => operation.scope() == *scope,
        _ => false,
    }
}

/// The step inside this one, in its last attempt, whose failure went all the way up.
fn innermost(log: &[Record], failed: &Failed, failure: &Failure) -> Failed {
    let Failed::Step(step) = failed else {
        return failed.clone();
    };
    let attempt = log.iter().rev().find_map(|record| match &record.entry {
        Entry::AttemptStarted { scope, .. } if scope.owner().as_ref() == Some(step) => Some(scope),
        _ => None,
    });
    let inside = attempt.and_then(|attempt| {
        log.iter().rev().find_map(|record| match failed_in(record, attempt) {
            Some((_, Failed::Step(inner), found)) if found == failure => Some(Failed::Step(inner)),
            _ => None,
        })
    });
    inside.map_or_else(|| failed.clone(), |inner| innermost(log, &inner, failure))
}
