//! The recorded life of the run itself: started, resumed, moved to another source, cancelled, failing, ended.

use std::collections::HashMap;

use super::illegal::Illegal;
use super::scope::ScopeRecord;
use super::{Deliverable, Journal};
use crate::entry::{Abandoned, KeptAnswer, RunOutcome, RunStarted};
use crate::failure::Failure;
use crate::id::{InboxKey, Seq, StepNumber};
use crate::path::{OperationId, ScopePath};
use crate::time::{Millis, Timestamp};

impl Journal {
    pub(super) fn run_started(
        &mut self,
        seq: Seq,
        at: Timestamp,
        start: RunStarted,
    ) -> Result<(), Illegal> {
        if self.start.is_some() {
            return Err(Illegal::Repeated { what: "the run".into() });
        }
        self.start = Some(start);
        self.scopes.insert(ScopePath::root(), ScopeRecord::default());
        self.deliver(seq, at, Deliverable::RunStart);
        Ok(())
    }

    /// Another source: nothing of the log so far counts any more, but what it left behind must be stopped.
    pub(super) fn begin_anew(
        &mut self,
        abandoned: Vec<Abandoned>,
        keeps_numbers: bool,
    ) -> Result<(), Illegal> {
        let (numbers, last_number) = match keeps_numbers {
            true => (self.all_numbers(), self.last_number),
            false => (HashMap::new(), 0),
        };
        let mut left_behind = std::mem::take(&mut self.left_behind);
        let mut still = std::mem::take(&mut self.abandoned);
        for left in abandoned {
            // A try that follows on one that is not proven dead has not begun: the earlier one is what lives.
            if still.insert(left.operation.clone()) {
                left_behind.insert(left.operation.clone(), left);
            }
        }
        let left_alive = still.clone();
        let (next, began) = (self.next, self.next + 1);
        *self = Self {
            next,
            began,
            left_behind,
            left_alive,
            abandoned: still,
            numbers,
            last_number,
            ..Self::default()
        };
        Ok(())
    }

    /// The number of every path that has ever had one.
    fn all_numbers(&mut self) -> HashMap<String, StepNumber> {
        let mut numbers = std::mem::take(&mut self.numbers);
        let steps = self.steps.iter().map(|(path, step)| (path.as_str(), step.number));
        let operations = self.operations.iter();
        let operations = operations.map(|(id, operation)| (id.as_str(), operation.number));
        for (path, number) in steps.chain(operations) {
            numbers.extend(number.map(|number| (path.to_owned(), number)));
        }
        numbers
    }

    pub(super) fn abandoned_ended(
        &mut self,
        seq: Seq,
        at: Timestamp,
        operation: OperationId,
    ) -> Result<(), Illegal> {
        if !self.abandoned.remove(&operation) {
            return Err(Illegal::UnknownOperation { operation });
        }
        self.deliver(seq, at, Deliverable::Abandoned(operation));
        Ok(())
    }

    pub(super) fn cancel_requested(
        &mut self,
        seq: Seq,
        at: Timestamp,
        key: InboxKey,
    ) -> Result<(), Illegal> {
        if !self.cancels.insert(key) {
            return Err(Illegal::Repeated { what: "the cancellation".into() });
        }
        self.deliver(seq, at, Deliverable::Cancel);
        Ok(())
    }

    pub(super) fn run_failing(
        &mut self,
        seq: Seq,
        at: Timestamp,
        failure: Failure,
    ) -> Result<(), Illegal> {
        if self.failing.is_some() {
            return Err(Illegal::Repeated { what: "the run's own failure".into() });
        }
        self.failing = Some(failure.clone());
        self.deliver(seq, at, Deliverable::Failing(failure));
        Ok(())
    }

    pub(super) fn run_ended(&mut self, outcome: RunOutcome) -> Result<(), Illegal> {
        if let Some(operation) = self.abandoned.first() {
            let state = "left behind and not proven dead";
            return Err(Illegal::OutOfOrder { of: operation.to_string(), state });
        }
        self.check_nothing_open(&ScopePath::root())?;
        self.end = Some(outcome);
        Ok(())
    }

    /// Time in which nobody drove the run does not count as active.
    pub(super) fn run_resumed(
        &mut self,
        seq: Seq,
        at: Timestamp,
        away: Millis,
    ) -> Result<(), Illegal> {
        self.activity.resume(self.last_at.unwrap_or(at), at);
        self.deliver(seq, at, Deliverable::Resumed(away, at));
        Ok(())
    }

    /// Nor does time between what was executed anew and the life that follows on it.
    pub(super) fn run_rebased(
        &mut self,
        seq: Seq,
        at: Timestamp,
        away: Millis,
    ) -> Result<(), Illegal> {
        if self.rebased.is_some() {
            return Err(Illegal::Repeated { what: "the end of the history".into() });
        }
        self.rebased = Some(seq);
        if away.is_zero() {
            return Ok(());
        }
        self.run_resumed(seq, at, away)
    }

    pub(super) fn answers_kept(&mut self, answers: Vec<KeptAnswer>) -> Result<(), Illegal> {
        self.kept.extend(answers.into_iter().map(|kept| (kept.operation, kept.result)));
        Ok(())
    }
}
