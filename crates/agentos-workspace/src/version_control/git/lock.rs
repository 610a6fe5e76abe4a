//! Calls that change something, and the locks that git takes for them.
//!
//! Two programs that change the same worktree meet at `index.lock`. The one that has it is done soon, so it is waited for. A git
//! that was killed leaves it behind, and then nothing works any more. That of a worktree is removed only by a caller that
//! knows that a git of this workspace was killed, and before a command begins in a workspace
//! ([`crate::stale_lock::remove_left_in`]); that of a ref, which belongs to the repository, by the first call that needs it. In all
//! cases only if the process that wrote it is dead ([`crate::stale_lock`]).

use std::path::Path;

use agentos_process::clock::{moment, pause};
use agentos_process::tool::{Answer, Tool};

use super::super::Result;
use super::super::bounds::{LOCK_LOOK, LOCK_TIMEOUT};
use super::super::call::CallKind;
use super::super::error::VersionControlError;
use super::branch::HEADS;
use super::{GitRepository, refused};
use crate::stale_lock::{self, WatchedLock, held_lock, look_again};

/// The locks that belong to one worktree alone.
const LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

impl GitRepository {
    /// Runs something that changes the repository, this branch for one, as soon as nobody else does.
    pub(super) fn change(&self, verb: &str, tool: &Tool, branch: Option<&str>) -> Result<Answer> {
        let begun = moment();
        let mut watched: Option<WatchedLock> = None;
        loop {
            let answer = match self.run(verb, tool, CallKind::HookedChange) {
                Err(error) if error.is_timeout() => {
                    // It was killed, by ourselves.
                    self.remove_stale_locks(branch)?;
                    return Err(error);
                }
                answer => answer?,
            };
            match held_lock(&answer) {
                Some(lock) if moment() - begun < LOCK_TIMEOUT => {
                    if self.is_of_ref(&lock) {
                        look_again(&lock, &mut watched)?;
                    }
                    pause(LOCK_LOOK);
                }
                Some(lock) => {
                    let lock = stale_lock::examine(&lock);
                    return Err(VersionControlError::Locked { lock });
                }
                None => return Ok(answer),
            }
        }
    }

    /// The same for what git has no reason to refuse.
    pub(super) fn changed(&self, verb: &str, tool: &Tool) -> Result<()> {
        let answer = self.change(verb, tool, None)?;
        if answer.is_success() { Ok(()) } else { Err(refused(verb, &answer)) }
    }

    /// Removes what a git that was killed has left: of this worktree, of what is checked out, and of this branch.
    pub(super) fn remove_stale_locks(&self, branch: Option<&str>) -> Result<()> {
        LOCKS.iter().try_for_each(|name| Self::remove_stale_lock(&self.git_dir.join(name)))?;
        let branches = [self.checked_out()?, branch.map(str::to_owned)];
        self.remove_branch_locks(branches.into_iter().flatten())
    }

    /// The same for the locks of these branches alone.
    pub(in crate::version_control) fn remove_branch_locks(
        &self,
        branches: impl IntoIterator<Item = String>,
    ) -> Result<()> {
        for branch in branches {
            // What git does not take for a name is no part of a path.
            if let Ok(name) = self.branch_name(&branch) {
                Self::remove_stale_lock(&self.common_dir.join(format!("{HEADS}{name}.lock")))?;
            }
        }
        Ok(())
    }

    fn remove_stale_lock(lock: &Path) -> Result<()> {
        Ok(stale_lock::remove(lock).map(drop)?)
    }

    /// Whether a lock is that of a ref, and not of a worktree's index or `HEAD`.
    fn is_of_ref(&self, lock: &Path) -> bool {
        lock.starts_with(self.common_dir.join("refs"))
            || lock == self.common_dir.join("packed-refs.lock")
    }
}
