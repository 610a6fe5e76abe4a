//! Timeouts of attempts. Those of the run are in [`super::cursor`]: they fail it as a whole.

use super::cursor::Cursor;
use crate::effect::Timer;
use crate::failure::{Failure, FailureKind};
use crate::path::ScopePath;
use crate::program::BodyOutcome;
use crate::time::{Millis, Timestamp};

impl Cursor {
    /// An attempt's clock begins when its body does.
    pub(super) fn begin_timeout(&mut self, scope: usize, from: Timestamp) {
        self.scopes[scope].counts_from = from;
        let path = self.scopes[scope].path.clone();
        let step = path.owner().and_then(|step| self.journal.step(&step));
        if let Some(timeout) = step.and_then(|step| step.timeout) {
            self.set_timeout(scope, from.after(timeout));
        }
    }

    fn set_timeout(&mut self, scope: usize, due: Timestamp) {
        let path = self.scopes[scope].path.clone();
        self.stop_timeout(scope);
        self.scopes[scope].timeout_at = Some(due);
        if self.journal.scope(&path).is_some_and(|record| record.timed_out.is_none()) {
            self.timers.insert((due, Timer::Attempt(path)));
        }
    }

    /// The attempt's body is over, or its time has changed.
    pub(super) fn stop_timeout(&mut self, scope: usize) {
        let stopping = &mut self.scopes[scope];
        if let Some(due) = stopping.timeout_at.take() {
            self.timers.remove(&(due, Timer::Attempt(stopping.path.clone())));
        }
    }

    /// Nobody drove the run for a while, until then: attempts that were under way get that time back.
    pub(super) fn shift_timeouts(&mut self, away: Millis, until: Timestamp) {
        for scope in 0..self.scopes.len() {
            let was_under_way = self.scopes[scope].counts_from < until;
            if let Some(due) = self.scopes[scope].timeout_at.filter(|_| was_under_way) {
                self.set_timeout(scope, due.after(away));
            }
        }
    }

    /// An attempt has taken too long: that is how it ends, unless its body has ended before.
    pub(super) fn time_out(&mut self, path: &ScopePath) {
        if let Some(scope) = self.living(path) {
            let failure = Failure::new(FailureKind::Timeout, "the attempt took too long");
            self.finished.push_back((scope, BodyOutcome::Threw(failure)));
        }
    }
}
