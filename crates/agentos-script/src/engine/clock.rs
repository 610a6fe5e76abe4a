//! How long a turn may take: CPU time of the thread, so that a busy machine fails nobody.

use std::cell::Cell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The clock of one execution. It is looked at only while code has been running for a while, so that short turns pay
/// nothing.
#[derive(Debug)]
pub(super) struct TurnClock {
    limit: Duration,
    /// When this turn was first looked at.
    began: Cell<Option<Duration>>,
    tripped: Cell<bool>,
}

impl TurnClock {
    pub(super) const fn new(limit_ms: u64) -> Self {
        let limit = Duration::from_millis(limit_ms);
        Self { limit, began: Cell::new(None), tripped: Cell::new(false) }
    }

    /// A turn begins.
    pub(super) fn begin_turn(&self) {
        self.began.set(None);
    }

    /// Whether the code that runs must stop. Once it must, it must for good.
    pub(super) fn is_over(&self) -> bool {
        if !self.tripped.get() {
            let now = thread_time();
            match self.began.get() {
                None => self.began.set(Some(now)),
                Some(began) => self.tripped.set(now.saturating_sub(began) > self.limit),
            }
        }
        self.tripped.get()
    }

    /// Stops whatever runs.
    pub(super) fn trip(&self) {
        self.tripped.set(true);
    }

    pub(super) const fn has_tripped(&self) -> bool {
        self.tripped.get()
    }
}

fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}
