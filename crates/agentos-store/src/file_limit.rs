//! How large a file of this process may become (`ulimit -f`), where that is limited.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

/// The limit, in bytes.
pub(crate) fn file_limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// What helps.
const ADVICE: &str = "raise the limit (`ulimit -f unlimited`), then try again";

/// What is wrong with a file that has reached the limit, and what helps.
pub(crate) fn reached(path: &Path, limit: u64) -> String {
    let path = path.display();
    format!(
        "{path} has reached {limit} bytes, and a file may not be larger here (`ulimit -f`); {ADVICE}"
    )
}

/// What is wrong where no file may become as large as a new database, and what helps.
pub(crate) fn too_small(limit: u64) -> String {
    format!(
        "a file may not be larger than {limit} bytes here (`ulimit -f`), and a database is; {ADVICE}"
    )
}
