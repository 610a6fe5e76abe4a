//! What to do where there is no room on the disk.
//!
//! Nothing is left out for it. What has not begun is held and tried again later. What is to be written for something that
//! has begun waits until there is room: the result is kept by its supervisor meanwhile.

use std::io;
use std::time::Duration;

use agentos_core::entry::{Hold, HoldKind};
use agentos_core::time::Timestamp;
use agentos_process::attached::is_out_of_room;
use agentos_process::clock::pause;

use crate::clock::{Clock as _, SystemClock};

/// How often a write is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// After how long something that could not begin is tried again, in milliseconds.
const HELD_MS: i64 = 5_000;

/// Whether what is written is still wanted.
pub(crate) type IsWanted<'a> = &'a (dyn Fn() -> bool + 'a);

/// Writes as soon as there is room. Blocks the thread meanwhile.
///
/// # Errors
/// It can't be written for another reason, or it is not wanted any more.
pub(crate) fn wait_for_room<T>(
    is_wanted: IsWanted<'_>,
    mut write: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match write() {
            Err(error) if is_out_of_room(&error) && is_wanted() => pause(AGAIN),
            written => return written,
        }
    }
}

/// Holds what can't begin because something can't be written.
pub(crate) fn hold(what: &str) -> Hold {
    let until = Timestamp(SystemClock.now().0.saturating_add(HELD_MS));
    let message = format!("there is no room on the disk for {what}; make room, and it goes on");
    Hold { kind: HoldKind::Disk, message, subject: None, until: Some(until), limit: None }
}
