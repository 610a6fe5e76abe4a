//! How long a run has been active: had something open that is not a wait.
//!
//! A run may wait for an approval over night; that does not count. Nor does the time in which nobody drove it.

use crate::time::{Millis, Timestamp};

/// The active time of a run, as far as its log tells.
#[derive(Debug, Default)]
pub(super) struct Activity {
    open: u32,
    since: Option<Timestamp>,
    before_ms: i64,
}

impl Activity {
    /// Something is performed from now on.
    pub(super) fn begin(&mut self, at: Timestamp) {
        self.open += 1;
        self.since.get_or_insert(at);
    }

    /// Something is no longer performed.
    pub(super) fn end(&mut self, at: Timestamp) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.pause(at);
        }
    }

    /// Nobody drove the run from its last entry until now.
    pub(super) fn resume(&mut self, last: Timestamp, at: Timestamp) {
        self.pause(last);
        if self.open > 0 {
            self.since = Some(at);
        }
    }

    fn pause(&mut self, at: Timestamp) {
        if let Some(since) = self.since.take() {
            self.before_ms = self.before_ms.saturating_add(at.0.saturating_sub(since.0));
        }
    }

    /// Whether something is performed.
    pub(super) const fn is_active(&self) -> bool {
        self.since.is_some()
    }

    /// When the active time reaches `limit`, if the run stays active.
    pub(super) fn reaches(&self, limit: Millis) -> Option<Timestamp> {
        let left = i64::try_from(limit.get()).unwrap_or(i64::MAX).saturating_sub(self.before_ms);
        self.since.map(|since| Timestamp(since.0.saturating_add(left.max(0))))
    }
}
