//! Workspaces that were made with the files of a snapshot. Whatever is executed in each new workspace first would change them,
//! so it is remembered until that was done and they were put back.

use std::fs;
use std::path::{Path, PathBuf};

use super::SnapshotError;
use super::darkroom::io_error;
use crate::workspace::Workspace;
use crate::{files, identity};

fn note(private: &Path) -> PathBuf {
    identity::folder_of(private).join("snapshot/filled")
}

/// Writes down that a workspace has the files of a snapshot.
pub(super) fn write_down(private: &Path) -> Result<(), SnapshotError> {
    let note = note(private);
    files::make_folder(note.parent().unwrap_or(private))?;
    fs::write(&note, "").map_err(io_error(&note))
}

/// Whether a workspace has the files of a snapshot, and nothing was executed there yet.
#[must_use]
pub fn is_filled(workspace: &Workspace) -> bool {
    identity::private_of(&workspace.path).is_some_and(|private| note(&private).exists())
}

/// From now on it is a workspace like any other.
///
/// # Errors
/// [`SnapshotError`]
pub fn settle(workspace: &Workspace) -> Result<(), SnapshotError> {
    let Some(private) = identity::private_of(&workspace.path) else { return Ok(()) };
    let note = note(&private);
    match fs::remove_file(&note) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error(&note)(error)),
        _ => Ok(()),
    }
}
