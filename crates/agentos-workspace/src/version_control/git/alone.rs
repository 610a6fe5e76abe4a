//! One at a time: the verbs that change a worktree.
//!
//! A commit stages, counts and commits. If two did that at once, each would take a part of what the other has staged, and
//! one of them would find nothing left. git's own locks only hold for one call. This one is on the worktree's git directory
//! itself, leaves no file behind, ends with whoever holds it, and holds between processes; people who use git besides are
//! not kept waiting.

use std::fs::{File, TryLockError};

use agentos_process::clock::{moment, pause};

use super::super::Result;
use super::super::bounds::{ALONE_LOOK, ALONE_PATIENCE};
use super::super::error::VersionControlError;
use super::GitRepository;

impl GitRepository {
    /// Waits until no other AgentOS changes this worktree. None does until the answer is dropped.
    pub(super) fn alone(&self) -> Result<File> {
        let failed = |source| VersionControlError::File { what: "the git directory", source };
        let folder = File::open(&self.git_dir).map_err(failed)?;
        let begun = moment();
        loop {
            match folder.try_lock() {
                Err(TryLockError::WouldBlock) if self.halt.is_now() => {
                    return Err(VersionControlError::Halted);
                }
                Err(TryLockError::WouldBlock) if moment() - begun > ALONE_PATIENCE => {
                    let (folder, after) = (self.root.clone(), ALONE_PATIENCE);
                    return Err(VersionControlError::Busy { folder, after });
                }
                Err(TryLockError::WouldBlock) => pause(ALONE_LOOK),
                // Some file systems have no such locks. git's own are left then.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(folder),
            }
        }
    }
}
