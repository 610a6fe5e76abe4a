//! The directories of commands that runs have started: proofs of what has begun, which go where their run goes.

use std::fs;
use std::path::Path;

use agentos_core::id::RunId;
use agentos_engine::shell::run_folder;
use agentos_process::case::Case;
use agentos_process::directory::Directory;

use super::folders;
use crate::error::Result;
use crate::supervise::commands_folder;

/// Whether a command of this run is still at work.
pub(crate) fn is_at_work(database: &Path, run: RunId) -> bool {
    let folder = run_folder(&commands_folder(database), run);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut directories = entries.filter_map(|entry| Directory::at(&entry.path()).ok());
    directories.any(|directory| matches!(Case::of(&directory), Ok(Case::Held)))
}

/// Copies the directories of a run that has not ended from one database to another, where they are not yet.
pub(crate) fn carry(from: &Path, to: &Path, run: RunId) -> Result<()> {
    let before = run_folder(&commands_folder(from), run);
    let after = run_folder(&commands_folder(to), run);
    if !before.is_dir() || after.exists() {
        return Ok(());
    }
    folders::copy(&before, &after).map(|_| ())
}
