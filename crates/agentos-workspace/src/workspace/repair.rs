//! Cleaning up after somebody who was killed while making a workspace.
//!
//! What is written down as being made, although nobody holds the repository's lock, was left half done. Nobody was told of
//! it, so nobody's work is in it: whatever there is of it is taken back. Each kind looks for itself at what is on disk and
//! what git or jj know, and leaves alone what is not certain to be of this making.

use super::isolation;
use super::ledger::advance;
use super::repository::RepositoryLock;
use super::yard::{OpenError, Yard};
use super::{State, Workspace};

impl Yard<'_> {
    /// Takes back what was left half made in this repository; which workspaces those were.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn repair(&self) -> Result<Vec<Workspace>, OpenError> {
        let is_needed = self
            .ledger
            .all()?
            .iter()
            .any(|workspace| self.is_half_made(workspace) || workspace.state == State::Trashed);
        if !is_needed {
            return Ok(Vec::new());
        }
        let lock = self.repository.lock()?;
        self.repair_under(&lock)
    }

    pub(super) fn repair_under(&self, lock: &RepositoryLock) -> Result<Vec<Workspace>, OpenError> {
        self.finish_removals(lock).map_err(Box::new)?;
        let mut repaired = Vec::new();
        for workspace in self.ledger.all()? {
            // Under the lock, somebody who is making it can't be: it is read after the lock was taken.
            if self.is_half_made(&workspace) {
                self.take_back(lock, workspace.clone())?;
                repaired.push(workspace);
            }
        }
        Ok(repaired)
    }

    fn is_half_made(&self, workspace: &Workspace) -> bool {
        workspace.state == State::Creating
            && workspace.repository == self.repository.checkout.repository
    }

    /// Takes back what there is of a workspace that is being made, and writes that down.
    pub(super) fn take_back(
        &self,
        lock: &RepositoryLock,
        mut workspace: Workspace,
    ) -> Result<(), OpenError> {
        let isolation = isolation::of(workspace.kind);
        isolation.undo(&self.site(Some(lock)), &workspace)?;
        if workspace.version <= 1 {
            // It never was there, and its name is free again.
            return Ok(self.ledger.forget(&workspace.id)?);
        }
        workspace.folder = None;
        Ok(advance(self.ledger, &mut workspace, State::Gone)?)
    }
}
