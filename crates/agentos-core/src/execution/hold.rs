//! Operations that can't be begun yet: they wait, and are tried again when a person approves or their time comes.
//!
//! Whoever performs an operation may find that it must not begin: a file asks to be trusted, a disk is full. That is no
//! failure, and holding a process for it would not survive a restart. So it becomes a wait of the run like any other.
//!
//! What may not get better by waiting says how often it waits (`Hold::limit`); after that it has failed.
//!
//! Waiting for a slot says something about the machine and nothing about the run, so it does not count where time is
//! measured: while a run does nothing else the timeouts of its attempts stand still, and move on by what it has waited.

use super::AdvanceError;
use super::cursor::Cursor;
use crate::effect::Timer;
use crate::entry::{Entry, Hold, HoldKind, OperationResult};
use crate::failure::{Failure, FailureKind};
use crate::id::{InboxKey, Try};
use crate::operation::Treatment;
use crate::path::OperationId;
use crate::program::Ticket;
use crate::time::Millis;

impl Cursor {
    /// Whoever was to perform an operation says that it can't begin yet.
    pub(super) fn operation_held(
        &mut self,
        id: OperationId,
        r#try: Try,
        hold: Hold,
    ) -> Result<(), AdvanceError> {
        let is_performed = Self::kind_of(&id).treatment() == Treatment::Performed;
        let is_open = self.journal.operation(&id).is_some_and(|record| {
            !record.is_answered() && record.r#try == r#try && record.hold().is_none()
        });
        if !is_performed || !is_open {
            return self.left_ended(id, r#try);
        }
        if self.journal.operation(&id).is_some_and(|record| record.cancel_ordered) {
            let result = OperationResult::Cancelled {};
            self.append(Entry::OperationEnded { operation: id, result })?;
            return Ok(());
        }
        let holds = self.journal.operation(&id).map_or(0, |record| record.limited_holds);
        if hold.limit.is_some_and(|limit| holds >= limit) {
            let message = format!("{}; it was tried {} times", hold.message, holds + 1);
            let failure = Failure::new(FailureKind::Error, message).bounded();
            let result = OperationResult::Failed { failure };
            self.append(Entry::OperationEnded { operation: id, result })?;
            return Ok(());
        }
        self.append(Entry::OperationHeld { operation: id.clone(), r#try, hold })?;
        if let Some(ticket) = self.operations.get(&id).copied() {
            self.performing.remove(&ticket);
            self.begin_hold(ticket, &id);
        }
        Ok(())
    }

    /// A held operation waits, until its time comes if it has one. Whether it is held.
    pub(super) fn begin_hold(&mut self, ticket: Ticket, id: &OperationId) -> bool {
        let held = self.journal.operation(id).filter(|record| !record.cancel_ordered);
        let Some(until) = held.and_then(|record| record.hold()).map(|held| held.value.until) else {
            return false;
        };
        self.waiting.insert(ticket);
        self.timers.extend(until.map(|until| (until, Timer::Operation(id.clone()))));
        true
    }

    /// What was held for a slot, for room on the disk or for a tool may be tried again. A person's approval is waited for.
    pub(super) fn admitted(&mut self, id: &OperationId) -> Result<(), AdvanceError> {
        match self.hold_kind(id) {
            Some(HoldKind::Slot | HoldKind::Disk | HoldKind::Tool) => self.release(id, None),
            Some(HoldKind::Approval) | None => Ok(()),
        }
    }

    fn hold_kind(&self, id: &OperationId) -> Option<HoldKind> {
        Some(self.journal.operation(id)?.hold()?.value.kind)
    }

    /// Whether the run does nothing and waits for a slot.
    pub(super) fn waits_for_slot(&self) -> bool {
        self.performing.is_empty() && self.journal.held_for(HoldKind::Slot).next().is_some()
    }

    /// What a run has waited for a slot, and done nothing else, does not count where time is measured.
    fn give_back_wait(&mut self, id: &OperationId) -> Result<(), AdvanceError> {
        if !self.performing.is_empty() || self.hold_kind(id) != Some(HoldKind::Slot) {
            return Ok(());
        }
        let since = self.journal.operation(id).and_then(|record| record.held_at());
        let waited = since.map_or(0, |since| self.at.0.saturating_sub(since.0));
        if waited > 0 {
            let away_ms = Millis::new(waited.unsigned_abs());
            self.append(Entry::RunResumed { away_ms })?;
        }
        Ok(())
    }

    /// A held operation is tried again.
    pub(super) fn release(
        &mut self,
        id: &OperationId,
        granted: Option<String>,
    ) -> Result<(), AdvanceError> {
        let held = self.journal.operation(id).filter(|record| !record.cancel_ordered);
        let Some(r#try) = held.filter(|record| record.hold().is_some()).map(|record| record.r#try)
        else {
            return Ok(());
        };
        self.give_back_wait(id)?;
        self.stop_hold_timer(id);
        self.append(Entry::OperationReleased { operation: id.clone(), granted })?;
        if let Some(ticket) = self.operations.get(id).copied() {
            self.waiting.remove(&ticket);
            self.performing.insert(ticket);
        }
        self.perform(id, r#try);
        Ok(())
    }

    /// The clock does not matter any more to a held operation.
    pub(super) fn stop_hold_timer(&mut self, id: &OperationId) {
        let held = self.journal.operation(id).and_then(|record| record.hold());
        if let Some(until) = held.and_then(|held| held.value.until) {
            self.timers.remove(&(until, Timer::Operation(id.clone())));
        }
    }

    /// A person has decided about something that is held. What was decided before it was held does not count.
    pub(super) fn decide_on_held(
        &mut self,
        key: &InboxKey,
        id: &OperationId,
    ) -> Result<(), AdvanceError> {
        let Some(held) = self.journal.operation(id).and_then(|record| record.hold()) else {
            return Ok(());
        };
        if held.seq > self.delivered || !self.operations.contains_key(id) {
            return Ok(());
        }
        let subject = held.value.subject.clone();
        let said = self.journal.signal(key).map(|signal| &signal.payload);
        let is = |name: &str| said.and_then(|said| said.get(name));
        if is("approved").and_then(serde_json::Value::as_bool) == Some(true) {
            return self.release(id, subject.or_else(|| Some(String::new())));
        }
        let by = is("by").and_then(serde_json::Value::as_str).unwrap_or("somebody");
        let message = format!("{by} did not approve it: {}", held.value.message);
        let failure = Failure::new(FailureKind::NonRetryable, message).bounded();
        self.stop_hold_timer(id);
        let result = OperationResult::Failed { failure };
        self.append(Entry::OperationEnded { operation: id.clone(), result })?;
        Ok(())
    }
}
