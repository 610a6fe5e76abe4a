//! One at a time: the verbs that change a worktree.
//!
//! A commit stages, counts and commits. If two did that at once, each would take a part of what the other has staged, and
//! one of them would find nothing left. git's and jj's own locks only hold for one call. This one is on the worktree's private
//! folder itself, leaves no file behind, ends with whoever holds it, and holds between processes; people who use git or jj besides are
//! not kept waiting.

use std::fs::{File, TryLockError};
use std::path::Path;

use agentos_process::clock::{moment, pause};

use super::Result;
use super::bounds::{ALONE_LOOK, ALONE_TIMEOUT};
use super::error::VersionControlError;
use super::halt::Halt;

/// Waits until no other AgentOS changes the worktree with this root and this private folder. None does until the answer is
/// dropped.
pub(super) fn alone(root: &Path, private: &Path, halt: &Halt) -> Result<File> {
    let failed = |source| VersionControlError::File { what: "the private folder", source };
    let folder = File::open(private).map_err(failed)?;
    let begun = moment();
    loop {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) if halt.is_now() => {
                return Err(VersionControlError::Halted);
            }
            Err(TryLockError::WouldBlock) if moment() - begun > ALONE_TIMEOUT => {
                let (folder, after) = (root.to_owned(), ALONE_TIMEOUT);
                return Err(VersionControlError::Busy { folder, after });
            }
            Err(TryLockError::WouldBlock) => pause(ALONE_LOOK),
            // Some file systems have no such locks. git's own are left then.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(folder),
        }
    }
}
