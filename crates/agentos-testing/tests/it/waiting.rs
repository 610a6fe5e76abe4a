//! Waiting for what other processes and threads make true.

use std::fs;

use rustix::thread::nanosleep;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// How long a test waits for something before it says that it did not happen.
const PATIENCE_S: i64 = 90;
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Waits for something that somebody else makes true.
#[track_caller]
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let last = clock_gettime(ClockId::Monotonic).tv_sec + PATIENCE_S;
    while !is_true() {
        assert!(clock_gettime(ClockId::Monotonic).tv_sec < last, "it never happened that {what}");
        let _passed = nanosleep(&LOOK);
    }
}

/// Whether a process is there and has not ended.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
