//! Who works in a workspace without being a run: they hold a lock while they live.
//!
//! That it is in use stands in the ledger too, but whoever is killed can't take that back. The lock goes with its holder,
//! so it is what decides.

use std::fs::File;

use super::Workspace;
use crate::files::{self, FileError};
use crate::identity::{self, folder_of};

const FILE: &str = "in-use.lock";

/// A workspace is in use as long as this is there.
#[derive(Debug)]
pub struct Holding {
    _lock: Option<File>,
}

/// Says that somebody works in a workspace. Any number of them may.
///
/// # Errors
/// [`FileError`]
pub fn hold(workspace: &Workspace) -> Result<Holding, FileError> {
    let Some(private) = identity::private_of(&workspace.path) else {
        return Ok(Holding { _lock: None });
    };
    let folder = folder_of(&private);
    files::make_folder(&folder)?;
    let path = folder.join(FILE);
    let file = File::create(&path).map_err(FileError::io(&path, "can't be made"))?;
    file.lock_shared().map_err(FileError::io(&path, "can't be locked"))?;
    Ok(Holding { _lock: Some(file) })
}

/// Whether somebody works in it who is no run.
#[must_use]
pub fn is_held(workspace: &Workspace) -> bool {
    let Some(private) = identity::private_of(&workspace.path) else { return false };
    // Nobody makes the file only by looking.
    let Ok(file) = File::open(folder_of(&private).join(FILE)) else { return false };
    matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}
