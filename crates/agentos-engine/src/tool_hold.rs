//! What becomes of an operation that needs a tool (git, jj) which signals end again and again.
//!
//! That says something about the machine, most often that it is out of memory, and nothing about the operation: it is no
//! failure. The operation waits, and is tried again: soon at first, and more seldom the longer the run has been there, because
//! each attempt is in its log.

use agentos_core::entry::{Hold, HoldKind};
use agentos_core::time::Timestamp;

use crate::clock::{Clock as _, SystemClock};

/// After how long it is tried again at the earliest, and at the latest.
const SOONEST_MS: i64 = 5_000;
const LATEST_MS: i64 = 300_000;

/// The wait for something that failed because a signal has ended a tool. `since` is when the run was created.
#[must_use]
pub fn hold(message: String, since: Timestamp) -> Hold {
    let now = SystemClock.now();
    let wait = (now.0.saturating_sub(since.0) / 4).clamp(SOONEST_MS, LATEST_MS);
    let until = Some(Timestamp(now.0.saturating_add(wait)));
    Hold { kind: HoldKind::Tool, message, subject: None, until }
}
