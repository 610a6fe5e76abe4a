//! Doing something from its beginning once more, after a signal has ended git or jj in the middle of it.
//!
//! A call that leaves the same however often it is made is repeated by itself ([`super::porcelain`]). One that a signal
//! ended after it had done its work would be refused the second time. What it was part of cleans up after itself, or finds
//! out what is done already, so all of it is done again.

use std::error::Error;
use std::time::Duration;

use agentos_process::clock::pause;
use agentos_process::tool::killed_by;

/// How often it is done, and how long the pause before the second time is; it doubles.
const TIMES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(250);

/// Does it, and does it again if it fails because of a signal.
pub(super) fn persist<T, E: Error + 'static>(work: impl Fn() -> Result<T, E>) -> Result<T, E> {
    let mut wait = PAUSE;
    for _ in 1..TIMES {
        match work() {
            Err(error) if killed_by(&error).is_some() => pause(wait),
            done => return done,
        }
        wait *= 2;
    }
    work()
}
