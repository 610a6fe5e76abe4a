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
use crate::value;

impl Cursor {
    /// Takes in one happening. What is late, stale or known already changes nothing.
    pub(super) fn absorb(&mut self, happening: Happening) -> Result<(), AdvanceError> {
        if self.ended {
            return Ok(());
        }
        match happening {
            Happening::Started { operation, r#try, detail } => {
                if self.is_current(&operation, r#try) && !self.is_started(&operation) {
                    self.append(Entry::OperationStarted { operation, r#try, detail })?;
                }
                Ok(())
            }
            Happening::Ended { operation, r#try, result } => {
                self.operation_ended(operation, r#try, result)
            }
            Happening::Interrupted { operation, r#try } => {
                self.operation_interrupted(operation, r#try)
            }
            Happening::Timer(timer) => self.timer_fired(timer),
            Happening::Message(message) => self.message_came(message),
        }
    }

    /// Whether the world still owes an answer for just this try.
    fn is_current(&self, id: &OperationId, r#try: Try) -> bool {
        Self::kind_of(id).treatment() == Treatment::Performed
            && self
                .journal
                .operation(id)
                .is_some_and(|record| !record.is_answered() && record.r#try == r#try)
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
            return Ok(());
        }
        let result = match result {
            OperationResult::Ok { value } => match value::check(&value) {
                Ok(()) => OperationResult::Ok { value },
                Err(error) => OperationResult::Failed {
                    failure: Failure::new(FailureKind::Limit, error.to_string()),
                },
            },
            other => other,
        };
        self.append(Entry::OperationEnded { operation: id, result })?;
        Ok(())
    }

    /// An interrupted operation is executed again, unless it was to be stopped anyway.
    fn operation_interrupted(&mut self, id: OperationId, r#try: Try) -> Result<(), AdvanceError> {
        if !self.is_current(&id, r#try) {
            return Ok(());
        }
        self.append(Entry::OperationInterrupted { operation: id.clone(), r#try })?;
        let Some(record) = self.journal.operation(&id) else {
            return Ok(());
        };
        if record.cancel_ordered {
            self.append(Entry::OperationEnded {
                operation: id,
                result: OperationResult::Cancelled,
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

    fn timer_fired(&mut self, timer: Timer) -> Result<(), AdvanceError> {
        let Some(entry) =
            self.timers.iter().find(|(due, known)| *known == timer && *due <= self.at).cloned()
        else {
            return Ok(());
        };
        self.timers.remove(&entry);
        match timer {
            Timer::Operation(operation) => {
                if self.journal.operation(&operation).is_some_and(|record| !record.is_answered()) {
                    self.append(Entry::TimerFired { operation })?;
                }
            }
            Timer::Retry(failed) => self.retry_due(&failed)?,
            Timer::Grace(scope) => {
                self.append(Entry::GraceExpired { scope })?;
            }
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
            self.append(Entry::AttemptStarted { scope: step.attempt(attempt.next()) })?;
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
            MessageBody::Cancel { reason } => Entry::CancelRequested { key, reason },
        })?;
        Ok(())
    }
}
