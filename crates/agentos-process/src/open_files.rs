//! How many files a process may have open.
//!
//! A server has many connections and asks for as many files as it may have. What it starts is not to notice: programs that
//! wait for files with `select` break where descriptors have large numbers. So a supervisor takes the limit back before it
//! starts the command.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Tells a supervisor the limit that commands are to have.
pub(crate) const VARIABLE: &str = "AGENTOS_OPEN_FILES";

/// The limit before it was raised.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Lets this process have as many files open as it may; commands that it starts have the limit that it had. Answers with
/// the limit, if there is one.
///
/// # Errors
/// The system does not allow it.
pub fn raise() -> io::Result<Option<u64>> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(soft) = current.filter(|soft| maximum.is_none_or(|most| *soft < most)) else {
        return Ok(current);
    };
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    // Whoever asks twice has raised it already.
    let _known = BEFORE.set(soft);
    Ok(maximum)
}

/// Sees to it that this process may have at least so many files open, if it can. Answers with the limit where it is lower.
#[must_use]
pub fn limit_below(least: u64) -> Option<u64> {
    let below = || getrlimit(Resource::Nofile).current.filter(|limit| *limit < least);
    below()?;
    // Where it can't be raised it stays.
    let _raised = raise();
    below()
}

/// What to tell a supervisor.
pub(crate) fn told() -> Option<(&'static str, String)> {
    BEFORE.get().map(|soft| (VARIABLE, soft.to_string()))
}

/// Takes the limit back, if whoever started this process has raised it.
pub(crate) fn take_back() {
    let before = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    if let Some(soft) = before {
        let maximum = getrlimit(Resource::Nofile).maximum;
        // A command with a higher limit is better than none.
        let _set = setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum });
    }
}
