//! Calls that change something, and the locks that git takes for them.
//!
//! Two programs that change the same worktree meet at `index.lock`. Whoever has it is done soon, so it is waited for. A git
//! that was killed leaves it behind, and then nothing works any more. It is removed only by somebody who knows that a git
//! of this workspace was killed, and only if no git is at work in the workspace and nobody touches the lock. The lock of a
//! branch belongs to the repository; whoever was killed here held that of the branch that is checked out, or was to be.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agentos_process::at_work::is_at_work_in;
use agentos_process::clock::{moment, pause};
use agentos_process::tool::{Answer, Tool};

use super::super::Result;
use super::super::bounds::{LOCK_LOOK, LOCK_PATIENCE, LOCK_STILL};
use super::super::error::VersionControlError;
use super::branch::HEADS;
use super::{GitRepository, refused};

/// The locks that belong to one worktree alone.
const LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

impl GitRepository {
    /// Runs something that changes the repository, this branch for one, as soon as nobody else does.
    pub(super) fn change(&self, verb: &str, tool: &Tool, branch: Option<&str>) -> Result<Answer> {
        let begun = moment();
        loop {
            let answer = match self.run(verb, tool, true) {
                Err(error) if error.is_timeout() => {
                    // It was killed, by ourselves.
                    self.remove_stale_locks(branch)?;
                    return Err(error);
                }
                answer => answer?,
            };
            match held_lock(&answer) {
                Some(_) if moment() - begun < LOCK_PATIENCE => pause(LOCK_LOOK),
                Some(lock) => return Err(VersionControlError::Locked { lock }),
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
        LOCKS.iter().try_for_each(|name| self.remove_stale_lock(&self.git_dir.join(name)))?;
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
                self.remove_stale_lock(&self.common_dir.join(format!("{HEADS}{name}.lock")))?;
            }
        }
        Ok(())
    }

    fn remove_stale_lock(&self, lock: &Path) -> Result<()> {
        let failed = |source| VersionControlError::File { what: "a lock of git", source };
        let Some(before) = identity(lock).map_err(failed)? else { return Ok(()) };
        pause(LOCK_STILL);
        let is_still = identity(lock).map_err(failed)? == Some(before);
        if !is_still || self.is_git_at_work(lock).map_err(failed)? {
            return Ok(());
        }
        match fs::remove_file(lock) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// Whether somebody may be at work who has this lock.
    fn is_git_at_work(&self, lock: &Path) -> io::Result<bool> {
        let is_of_all = !lock.starts_with(&self.git_dir) || self.git_dir == self.common_dir;
        // Hooks of a push stand in the git directory, and so in the main worktree.
        let main = self.common_dir.parent().filter(|_| is_of_all).unwrap_or(&self.root);
        Ok(is_at_work_in("git", &self.root)? || is_at_work_in("git", main)?)
    }
}

/// What tells a file from every other one, and from itself after a change.
type Identity = (u64, i64, i64, u64);

fn identity(path: &Path) -> io::Result<Option<Identity>> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(Some((about.ino(), about.mtime(), about.mtime_nsec(), about.size()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The lock that git did not get, if that is its reason.
fn held_lock(answer: &Answer) -> Option<PathBuf> {
    if answer.is_success() {
        return None;
    }
    let said = answer.complaint_text();
    let (_, rest) = said.split_once("Unable to create '")?;
    let (lock, rest) = rest.split_once("': ")?;
    (lock.ends_with(".lock") && rest.starts_with("File exists")).then(|| lock.into())
}
