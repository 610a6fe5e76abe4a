//! How large a file of this process may become (`ulimit -f`).
//!
//! A process that writes beyond the limit gets SIGXFSZ, which ends it. With a handler the write fails instead, and is
//! treated like any other that finds no room. A handler is not inherited: commands get the signal as ever.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Resource, getrlimit};
use signal_hook::consts::SIGXFSZ;

/// Makes writes beyond the limit fail instead of ending this process.
///
/// # Errors
/// The system takes no handler.
pub fn survive_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// How large a file may become, in bytes, if that is limited.
pub(crate) fn limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}
