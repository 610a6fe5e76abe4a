//! What the world says becomes entries, where it is news.

use super::AdvanceError;
use super::cursor::Cursor;
use crate::bounds;
use crate::effect::{Happening, Timer};
use crate::entry::{Entry, OperationResult};
use crate::failure::{Failure, FailureKind};
use crate::id::Try;
use crate::inbox::{Message, MessageBody};
use crate::journal::StepState;
use crate::operation::Treatment;
use crate::path::{OperationId, ScopePath};
use crate::time::{Millis, Timestamp};
use crate::value::{self, Value};

impl Cursor {
    /// Takes in one happening. What is late, stale or known already changes nothing.
    pub(super) fn absorb(&mut self, happening: Happening) -> Result<(), AdvanceError> {
        if self.ended {
            return Ok(());
        }
        match happening {
            Happening::Started { operation, r#try, detail } => {
                self.operation_started(operation, r#try, detail)
            }
            Happening::Ended { operation, r#try, result } => {
                self.operation_ended(operation, r#try, result)
            }
            Happening::Interrupted { operation, r#try } => {
                self.operation_interrupted(operation, r#try)
            }
            Happening::Held { operation, r#try, hold } => {
                self.operation_held(operation, r#try, hold)
            }
            Happening::Admitted { operation } => self.admitted(&operation),
            Happening::Timer(timer) => self.timer_fired(timer),
            Happening::Message(message) => self.message_came(message),
            Happening::Resumed => self.resumed(),
        }
    }

    /// Whether the world still owes an answer for just this try.
    fn is_current(&self, id: &OperationId, r#try: Try) -> bool {
        matches!(Self::kind_of(id).treatment(), Treatment::Performed | Treatment::Invoked)
            && self
                .journal
                .operation(id)
                .is_some_and(|record| !record.is_answered() && record.r#try == r#try)
    }

    fn operation_started(
        &mut self,
        id: OperationId,
        r#try: Try,
        detail: Value,
    ) -> Result<(), AdvanceError> {
        if !self.is_current(&id, r#try) || self.is_started(&id) {
            return Ok(());
        }
        if Self::kind_of(&id).treatment() == Treatment::Invoked
            && self.journal.operation(&id).is_some_and(|record| !record.cancel_ordered)
            && let Some(ticket) = self.operations.get(&id).copied()
        {
            self.performing.remove(&ticket);
            self.waiting.insert(ticket);
        }
        let detail = if value::check(&detail).is_ok() { detail } else { Value::Null };
        self.append(Entry::OperationStarted { operation: id, r#try, detail })?;
        Ok(())
    }

    fn is_started(&self, id: &OperationId) -> bool {
        self.journal.operation(id).is_some_and(|record| record.is_started())
    }

    fn operation_ended(
        &mut self,
        id: OperationId,
        r#try: Try,
        result: OperationResult,
    ) -> Result<(), AdvanceError> {
        if !self.is_current(&id, r#try) {
            return self.left_ended(id, r#try);
        }
        let result = match result {
            OperationResult::Ok { value } => match value::check(&value) {
                Ok(()) => OperationResult::Ok { value },
                Err(error) => OperationResult::Failed {
                    failure: Failure::new(FailureKind::Limit, error.to_string()),
                },
            },
            OperationResult::Failed { failure } => {
                OperationResult::Failed { failure: failure.bounded() }
            }
            OperationResult::Cancelled {} => OperationResult::Cancelled {},
        };
        self.append(Entry::OperationEnded { operation: id, result })?;
        Ok(())
    }

    /// An interrupted operation is executed again, unless it was to be stopped anyway.
    fn operation_interrupted(&mut self, id: OperationId, r#try: Try) -> Result<(), AdvanceError> {
        if !self.is_current(&id, r#try) {
            return self.left_ended(id, r#try);
        }
        // A child run can't be interrupted: whoever comes next finds it in the store, or creates it.
        if Self::kind_of(&id).treatment() != Treatment::Performed {
            return Ok(());
        }
        self.append(Entry::OperationInterrupted { operation: id.clone(), r#try })?;
        let Some(record) = self.journal.operation(&id) else {
            return Ok(());
        };
        if record.cancel_ordered {
            self.append(Entry::OperationEnded {
                operation: id,
                result: OperationResult::Cancelled {},
            })?;
        } else if r#try.0 >= bounds::OPERATION_TRIES {
            let message = format!("interrupted {} times; it is not tried again", r#try);
            let failure = Failure::new(FailureKind::Interrupted, message);
            self.append(Entry::OperationEnded {
                operation: id,
                result: OperationResult::Failed { failure },
            })?;
        } else {
            let again = r#try.next();
            self.append(Entry::OperationRetried { operation: id.clone(), r#try: again })?;
            self.perform(&id, again);
        }
        Ok(())
    }

    /// What a source switch left behind is proven dead.
    pub(super) fn left_ended(&mut self, id: OperationId, r#try: Try) -> Result<(), AdvanceError> {
        let is_left = self.journal.left_behind().get(&id).is_some_and(|left| left.r#try == r#try);
        if is_left && self.journal.is_abandoned(&id) {
            self.append(Entry::AbandonedEnded { operation: id })?;
        }
        Ok(())
    }

    fn timer_fired(&mut self, timer: Timer) -> Result<(), AdvanceError> {
        let Some(due) = self.due_of(&timer).filter(|due| *due <= self.at) else {
            return Ok(());
        };
        if !self.timers.remove(&(due, timer.clone())) {
            return Ok(());
        }
        match timer {
            Timer::Operation(operation)
                if self
                    .journal
                    .operation(&operation)
                    .is_some_and(|record| record.hold().is_some()) =>
            {
                self.release(&operation, None)?;
            }
            Timer::Operation(operation) => {
                if self.journal.operation(&operation).is_some_and(|record| !record.is_answered()) {
                    self.append(Entry::TimerFired { operation })?;
                }
            }
            Timer::Retry(failed) => self.retry_due(&failed)?,
            Timer::Grace(scope) => {
                self.append(Entry::GraceExpired { scope })?;
            }
            // It gets back what it has waited, and its timer with that.
            Timer::Attempt(_) if self.waits_for_slot() => {}
            Timer::Attempt(scope) => {
                self.append(Entry::AttemptTimedOut { scope })?;
            }
            Timer::Run | Timer::Deadline => {
                if let Some(failure) = timer.failure() {
                    self.fail_run(failure)?;
                }
            }
        }
        Ok(())
    }

    /// When a timer is due, if it could be running.
    fn due_of(&mut self, timer: &Timer) -> Option<Timestamp> {
        match timer {
            Timer::Operation(id) => {
                let record = self.journal.operation(id)?;
                record.due.or_else(|| record.hold()?.value.until)
            }
            Timer::Retry(failed) => {
                let ticket = self.steps.get(&failed.owner()?).copied()?;
                let (due, _) = self.step_of(ticket)?.retry_timer.as_ref()?;
                Some(*due)
            }
            Timer::Grace(scope) => {
                self.living(scope).and_then(|scope| self.scopes[scope].grace_until)
            }
            Timer::Attempt(scope) => {
                self.living(scope).and_then(|scope| self.scopes[scope].timeout_at)
            }
            Timer::Run => self.timeout_at,
            Timer::Deadline => self.journal.start()?.deadline,
        }
    }

    /// After a while in which nobody drove the run, that while does not count where time is measured.
    pub(super) fn resumed(&mut self) -> Result<(), AdvanceError> {
        let Some(last) = self.journal.last_at() else {
            return Ok(());
        };
        let away = self.at.0.saturating_sub(last.0);
        let begun = self.journal.generation_len() > 1 && self.journal.end().is_none();
        if away >= bounds::AWAY_MS && begun {
            let away_ms = Millis::new(away.unsigned_abs());
            self.append(Entry::RunResumed { away_ms })?;
        }
        Ok(())
    }

    fn retry_due(&mut self, failed: &ScopePath) -> Result<(), AdvanceError> {
        let Some(step) = failed.owner() else {
            return Ok(());
        };
        let attempt = failed.attempt();
        if self
            .journal
            .step(&step)
            .is_some_and(|record| record.state() == StepState::Retrying(attempt))
        {
            self.start_attempt(step.attempt(attempt.next()))?;
        }
        Ok(())
    }

    /// A message leaves the inbox with the commit that records it. One that is recorded already has left: whoever
    /// brings it looked into the inbox before that commit.
    fn message_came(&mut self, message: Message) -> Result<(), AdvanceError> {
        let Message { key, body } = message;
        if self.journal.has_message(&key) {
            return Ok(());
        }
        self.consumed.push(key.clone());
        self.append(match body {
            MessageBody::Signal { name, payload } => Entry::SignalArrived { key, name, payload },
            MessageBody::Approval { operation, approved, by, comment } => {
                Entry::ApprovalGiven { key, operation, approved, by, comment }
            }
            MessageBody::ChildEnded { operation, outcome } => {
                Entry::ChildEnded { key, operation, outcome }
            }
            MessageBody::Cancel { reason } => Entry::CancelRequested { key, reason },
        })?;
        Ok(())
    }
}
