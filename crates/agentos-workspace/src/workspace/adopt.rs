//! Taking in a worktree that somebody else made: it is used like one of ours, and is never ours to remove.

use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use thiserror::Error;
use uuid::Uuid;

use super::furnish;
use super::id::WorkspaceId;
use super::isolation::{self, IsolationError};
use super::ledger::{LedgerError, advance};
use super::marker::{FolderIdentity, Marker};
use super::porcelain::line;
use super::verify;
use super::yard::Yard;
use super::{Kind, State, Workspace};
use crate::checkout::{Checkout, CheckoutError, Kind as Keeper};
use crate::files::FileError;

/// Why a worktree can't be taken in.
#[derive(Debug, Error)]
pub enum AdoptError {
    /// It is not known what it is.
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    /// It is no worktree of this repository.
    #[error("{} can't be taken in: {why}", path.display())]
    Unsuitable {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is a workspace of this id.
    #[error("there is a workspace {id} already, in {}; name another id with `--id`", path.display())]
    IdTaken {
        /// The id.
        id: WorkspaceId,
        /// Where that one is.
        path: PathBuf,
    },
    /// What it has checked out is not known.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// It can't be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Yard<'_> {
    /// Takes in the worktree or jj workspace at a path. Asked again, it answers with what it knows.
    ///
    /// # Errors
    /// [`AdoptError`]
    pub fn adopt(
        &self,
        path: &Path,
        id: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Workspace, AdoptError> {
        let unsuitable =
            |why: &str| AdoptError::Unsuitable { path: path.to_owned(), why: why.to_owned() };
        let found = Checkout::of_folder(self.surroundings, path)?;
        let found = found.ok_or_else(|| unsuitable("it is no checkout"))?;
        if found.repository != self.repository.checkout.repository {
            return Err(unsuitable("it belongs to another repository"));
        }
        if found.is_main {
            return Err(unsuitable("it is the checkout that the repository was made with"));
        }
        let _lock = self.repository.lock()?;
        let known = self.ledger.all()?;
        let here = known.iter().find(|known| known.path == found.root && known.state.is_there());
        let is_still = |known: &&Workspace| {
            !known.is_adopted || verify::verify(self.surroundings, known).is_ok()
        };
        if let Some(known) = here.filter(is_still) {
            return Ok(known.clone());
        }
        let id = here.map_or(id, |known| &known.id).clone();
        let taken = known.into_iter().find(|known| known.id == id);
        // One that its owner has removed leaves its id to the next.
        let is_over = |known: &Workspace| {
            known.is_adopted && (known.path == found.root || !known.path.exists())
        };
        if let Some(known) = taken.as_ref().filter(|known| !is_over(known)) {
            return Err(AdoptError::IdTaken { id: known.id.clone(), path: known.path.clone() });
        }
        let mut workspace = self.adopted(&found, &id, now)?;
        if let Some(taken) = taken {
            (workspace.state, workspace.version) = (taken.state, taken.version);
        }
        advance(self.ledger, &mut workspace, State::Released)?;
        Marker::of(&workspace).in_database(&self.ledger.database()).write(&found.private)?;
        furnish::describe(&workspace, &found, &self.ledger.database())?;
        Ok(workspace)
    }

    fn adopted(
        &self,
        found: &Checkout,
        id: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Workspace, AdoptError> {
        let kind = if found.kind == Keeper::Jj { Kind::Jj } else { Kind::Worktree };
        let mut workspace = Workspace {
            id: id.clone(),
            kind,
            state: State::Released,
            path: found.root.clone(),
            repository: found.repository.clone(),
            repo_root: self.project.to_owned(),
            branch: None,
            base: String::new(),
            is_branch_ours: false,
            is_adopted: true,
            nonce: Uuid::new_v4(),
            folder: FolderIdentity::of(&found.root),
            run: None,
            was_there: true,
            owed: None,
            version: 0,
            created_at: now,
        };
        let site = self.site(None);
        workspace.base = isolation::of(kind).head(&site, &workspace)?.unwrap_or_default();
        if kind == Kind::Worktree {
            let asked = ["symbolic-ref", "--quiet", "--short", "HEAD"];
            let answer = site.porcelain().try_git(&found.root, asked);
            let answer = answer.map_err(IsolationError::from)?;
            // On no branch, it answers with a failure.
            workspace.branch = answer.is_success().then(|| line(&answer.output));
        }
        Ok(workspace)
    }
}
