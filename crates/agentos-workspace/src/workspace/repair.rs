//! Cleaning up after somebody who was killed while making a workspace.
//!
//! What is written down as being made, although nobody holds the repository's lock, was left half done. Nobody was told of
//! it, so nobody's work is in it: whatever there is of it is taken back. Each kind looks for itself at what is on disk and
//! what git or jj know, and leaves alone what is not certain to be of this making.
//!
//! The lock is also held until the run exists that a workspace was made for. So one that is ready for a run that there is
//! not is such a leftover too. And one that is in use by a run that has ended is not in use, nor one that was in use by a
//! command whose lock nobody holds any more.

use super::hold;
use super::isolation;
use super::ledger::{LedgerError, RunStanding, advance};
use super::points::Point;
use super::repository::RepositoryLock;
use super::yard::{OpenError, Yard};
use super::{State, Workspace, trash};

impl Yard<'_> {
    /// Takes back what was left half made in this repository; which workspaces those were.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn repair(&self) -> Result<Vec<Workspace>, OpenError> {
        let mut is_needed = self.is_unsettled()?;
        for workspace in self.ledger.all()? {
            is_needed |= self.is_half_made(&workspace)?
                || self.is_left(&workspace)?
                || workspace.state == State::Trashed;
        }
        if !is_needed {
            return Ok(Vec::new());
        }
        let lock = self.repository.lock()?;
        self.repair_under(&lock)
    }

    pub(super) fn repair_under(&self, lock: &RepositoryLock) -> Result<Vec<Workspace>, OpenError> {
        self.settle_under(lock)?;
        self.finish_removals(lock).map_err(Box::new)?;
        let mut repaired = Vec::new();
        // Read under the lock: nobody is making any of them.
        for mut workspace in self.ledger.all()? {
            if self.is_half_made(&workspace)? {
                self.take_back(lock, workspace.clone())?;
                repaired.push(workspace);
            } else if self.is_left(&workspace)? {
                match advance(self.ledger, &mut workspace, State::Released) {
                    Ok(()) => repaired.push(workspace),
                    // The run's owner, who does not need the lock for this, has just done it.
                    Err(LedgerError::Outdated { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(repaired)
    }

    fn is_half_made(&self, workspace: &Workspace) -> Result<bool, OpenError> {
        if workspace.repository != self.repository.checkout.repository {
            return Ok(false);
        }
        Ok(match (workspace.state, &workspace.run) {
            (State::Creating, _) => true,
            (State::Ready, Some(run)) => self.ledger.run_standing(run)? == RunStanding::Unknown,
            _ => false,
        })
    }

    /// Whether it is in use by a run that has ended, or by a command that is gone.
    fn is_left(&self, workspace: &Workspace) -> Result<bool, OpenError> {
        Ok(match (workspace.state, &workspace.run) {
            (State::InUse, Some(run)) => self.ledger.run_standing(run)? == RunStanding::Ended,
            (State::InUse, None) => !hold::is_held(workspace),
            _ => false,
        })
    }

    /// Takes back what there is of a workspace that is being made, and writes that down. Its folder is moved away first, in
    /// one step: a folder that is half deleted has lost what proves that it is ours.
    pub(super) fn take_back(
        &self,
        lock: &RepositoryLock,
        mut workspace: Workspace,
    ) -> Result<(), OpenError> {
        let (isolation, site) = (isolation::of(workspace.kind), self.site(Some(lock)));
        let root = trash::root_of(&workspace).unwrap_or(self.root).to_owned();
        if isolation.is_of_this_making(&site, &workspace)? {
            trash::put(&root, &workspace)?;
            self.points.pass(Point::Withdrawn);
        }
        isolation.undo(&site, &workspace)?;
        self.points.pass(Point::Undone);
        // What can't be deleted now is by the next who sweeps the trash.
        let _left = trash::discard(&root, &workspace);
        if !workspace.was_there {
            // Nobody ever worked in it, and its name is free again.
            return Ok(self.ledger.forget(&workspace.id)?);
        }
        workspace.folder = None;
        Ok(advance(self.ledger, &mut workspace, State::Gone)?)
    }
}
