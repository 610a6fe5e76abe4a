//! What a turn has come to: entries to commit, effects to perform, and how the run stands after that.

use super::cursor::Cursor;
use crate::codec::Chunk;
use crate::effect::{Effect, Timer};
use crate::entry::{Entry, RunOutcome};
use crate::id::Seq;
use crate::inbox::{Message, MessageBody};
use crate::standing::{EndStatus, Standing};
use crate::turn::{Outgoing, Turn};

impl Cursor {
    pub(super) fn take_turn(&mut self) -> Turn {
        self.watch_activity();
        let entries = std::mem::take(&mut self.staged);
        self.uncounted = 0;
        let first = Seq(self.journal.len() - entries.len() as u64);
        let effects = std::mem::take(&mut self.effects);
        Turn {
            more: !self.ended && self.has_deliveries(),
            outgoing: self.farewell(&entries).into_iter().collect(),
            chunk: Chunk { first, at: self.at, entries, causes: std::mem::take(&mut self.causes) },
            consumed: std::mem::take(&mut self.consumed),
            effects: effects.into_iter().filter(|effect| self.is_wanted(effect)).collect(),
            lines: std::mem::take(&mut self.lines),
            standing: self.standing(),
        }
    }

    /// What a child run tells its parent with its last commit.
    fn farewell(&self, entries: &[Entry]) -> Option<Outgoing> {
        let start = self.journal.start()?;
        let parent = start.parent.as_ref()?;
        let outcome = entries.iter().find_map(|entry| match entry {
            Entry::RunEnded { outcome } => Some(outcome.clone()),
            _ => None,
        })?;
        let key = start.run.farewell();
        let body = MessageBody::ChildEnded { operation: parent.operation.clone(), outcome };
        Some(Outgoing { to: parent.run, message: Message { key, body } })
    }

    /// The run's timeout runs only while the run is active.
    fn watch_activity(&mut self) {
        if let Some(due) = self.timeout_at.take() {
            self.timers.remove(&(due, Timer::Run));
        }
        if !self.ended && self.journal.failing().is_none() {
            self.timeout_at = self.journal.timeout_due();
            self.timers.extend(self.timeout_at.map(|due| (due, Timer::Run)));
        }
    }

    /// An effect ordered and taken back within one turn never happens.
    fn is_wanted(&self, effect: &Effect) -> bool {
        let record = self.journal.operation(effect.operation());
        match effect {
            Effect::Perform { r#try, .. } => record.is_some_and(|record| {
                !record.is_answered() && !record.cancel_ordered && *r#try == record.r#try
            }),
            Effect::Stop { operation, r#try, .. } => {
                self.journal.is_abandoned(operation)
                    || record.is_some_and(|record| !record.is_answered() && *r#try == record.r#try)
            }
        }
    }

    pub(super) fn standing(&self) -> Standing {
        let wake_at = self.timers.first().map(|(due, _)| *due);
        match self.journal.end() {
            Some(RunOutcome::Completed { .. }) => Standing::Ended { status: EndStatus::Completed },
            Some(RunOutcome::Failed { .. }) => Standing::Ended { status: EndStatus::Failed },
            Some(RunOutcome::TimedOut { .. }) => Standing::Ended { status: EndStatus::TimedOut },
            Some(RunOutcome::Cancelled { .. }) => Standing::Ended { status: EndStatus::Cancelled },
            None if self.performing.is_empty()
                && !self.has_deliveries()
                && self.left.is_empty() =>
            {
                Standing::Parked { wake_at }
            }
            None => Standing::Working { wake_at },
        }
    }
}
