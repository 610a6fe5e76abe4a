//! What becomes of an operation that needs a tool (git, jj) which signals end again and again.
//!
//! That says something about the machine, most often that it is out of memory, and nothing about the operation: it is no
//! failure. The operation waits, and is tried again: soon at first, and more seldom the longer the run has been there, because
//! each attempt is in its log.
//!
//! A program that git starts (a hook, a filter) is another matter: by its exit code alone it can't be told whether a signal has ended
//! it or it always ends so. That wait has an end, after which the operation fails.

use agentos_core::entry::{Hold, HoldKind};
use agentos_core::time::Timestamp;

use crate::clock::{Clock as _, SystemClock};

/// After how long it is tried again at the earliest, and at the latest.
const SOONEST_MS: i64 = 5_000;
const LATEST_MS: i64 = 300_000;

/// How often it waits for a program that git starts: about a quarter of an hour for a run that has just begun, and longer
/// for older ones.
const WAITS_FOR_HELPER: u32 = 20;

/// The wait for something that failed because a signal has ended a tool. `since` is when the run was created, and
/// `is_helper` whether it was a program that git had started ([`KilledBySignal::is_helper`](agentos_process::tool::KilledBySignal)).
#[must_use]
pub fn hold(message: String, since: Timestamp, is_helper: bool) -> Hold {
    let now = SystemClock.now();
    let wait = (now.0.saturating_sub(since.0) / 4).clamp(SOONEST_MS, LATEST_MS);
    let until = Some(Timestamp(now.0.saturating_add(wait)));
    let limit = is_helper.then_some(WAITS_FOR_HELPER);
    Hold { kind: HoldKind::Tool, message, subject: None, until, limit }
}
