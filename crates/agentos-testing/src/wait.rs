//! Waiting for what other threads and processes make true.
//!
//! A test waits for a condition and never for a time. The limit is there only so that a test which waits in vain says for
//! what; it is long enough for a machine that is busy with other work.

use std::fmt::Display;
use std::fs;
use std::panic::Location;
use std::time::{Duration, Instant};

/// How long a test waits for something before it says that it never happened.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Waits until something is so.
///
/// # Panics
/// It never becomes so.
#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "another thread or process makes it so, and only looking tells"
)]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = now();
    while !is_so() {
        assert!(begun.elapsed() < TIMEOUT, "it never happened that {what}");
        std::thread::sleep(LOOK);
    }
}

/// Waits until something is so, on a runtime of tokio whose time is real.
///
/// # Panics
/// It never becomes so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    let place = Location::caller();
    async move {
        let begun = now();
        while !is_so().await {
            assert!(begun.elapsed() < TIMEOUT, "at {place}: it never happened that {what}");
            tokio::time::sleep(LOOK).await;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the time limit of a test is real time")]
fn now() -> Instant {
    Instant::now()
}

/// Whether a process is there and has not ended. One that has ended and was not waited for has.
#[must_use]
pub fn is_alive(pid: impl Display) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
