//! How large a file of this process may become (`ulimit -f`), where that is limited.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

/// The limit, in bytes.
pub(crate) fn file_limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// What is wrong with a file that has reached the limit, and what helps.
pub(crate) fn reached(path: &Path, limit: u64) -> String {
    format!(
        "{} has reached {limit} bytes, and a file may not be larger here (`ulimit -f`); raise the limit (`ulimit -f \
         unlimited`), then try again",
        path.display()
    )
}
