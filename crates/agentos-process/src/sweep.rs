//! Removes the directory of a command that nobody will ask for again: the run that ordered it has ended.
//!
//! It holds the supervisor's lock meanwhile. A supervisor that was started long ago and comes to its lock only now finds
//! that the file is not there any more, and does not begin.

use std::fs;
use std::io;
use std::path::Path;

use crate::attached::FollowError;
use crate::bounds::{GRACE, LEAVING, LOOKING};
use crate::case::Case;
use crate::directory::Directory;
use crate::{leftovers, lock};

/// Removes the directory of a command, with all that is in it, unless somebody is at work there. Whether it is gone. What a
/// dead supervisor left behind is ended first.
///
/// # Errors
/// [`FollowError`].
pub fn remove(path: &Path) -> Result<bool, FollowError> {
    let directory = Directory::at(path)?;
    match held_and_removed(&directory) {
        Err(FollowError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        removed => removed,
    }
}

fn held_and_removed(directory: &Directory) -> Result<bool, FollowError> {
    // A supervisor that has recorded the end is about to leave. Another process that looks at the lock has it for an instant.
    let timeout = if directory.load_exit()?.is_some() { LEAVING } else { LOOKING };
    let Some(_lock) = lock::take(&directory.started(), timeout)? else { return Ok(false) };
    if let Case::Lost(started) = Case::unheld(directory)? {
        leftovers::end(&started, GRACE)?;
    }
    fs::remove_dir_all(directory.path())?;
    Ok(true)
}
