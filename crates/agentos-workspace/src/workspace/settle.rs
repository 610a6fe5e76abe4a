//! Bringing the ledger in line with what is on disk, where somebody has changed that without us:
//!
//! - The repository was moved. Its workspaces are where they were; their links and their rows name the old place.
//! - The ledger was lost (`git clean -fdx` in the checkout). Each workspace has a marker that says what was written down of
//!   it, and in which database.
//! - Somebody has removed a worktree that was theirs and adopted.
//!
//! Looking costs a few files and no git, so it is done whenever workspaces are asked for.

use std::fs;
use std::path::{Path, PathBuf};

use super::furnish::furnish;
use super::inner::is_its;
use super::isolation::IsolationError;
use super::ledger::advance;
use super::marker::{FolderIdentity, Marker};
use super::plumbing::{Plumbing, Stand};
use super::porcelain::CallError;
use super::repository::RepositoryLock;
use super::rescue::{folders, private_folders};
use super::yard::{OpenError, Yard};
use super::{Kind, State, Workspace, root, verify};
use crate::identity::private_of;
use crate::metadata::Document;
use crate::state::{DATABASE, FOLDER};

/// Whether there are worktrees of ours in a repository, whatever a ledger says.
#[must_use]
pub fn has_marked(repository: &Path) -> bool {
    private_folders(repository).any(|private| matches!(Marker::load(&private), Ok(Some(_))))
}

impl Yard<'_> {
    /// Whether the ledger says something else than the disk.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn is_unsettled(&self) -> Result<bool, OpenError> {
        // Marks are read first: whoever makes a workspace writes it down before.
        let marked = self.marked();
        let rows = self.ledger.all()?;
        let is_any = rows.iter().any(|row| self.is_stray(row) || self.was_removed(row));
        Ok(is_any || marked.iter().any(|found| rows.iter().all(|row| row.id != found.id)))
    }

    /// Brings the ledger in line with the disk, if it is not.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn settle(&self) -> Result<(), OpenError> {
        if !self.is_unsettled()? {
            return Ok(());
        }
        let lock = self.repository.lock()?;
        self.settle_under(&lock)
    }

    pub(super) fn settle_under(&self, lock: &RepositoryLock) -> Result<(), OpenError> {
        let marked = self.marked();
        let rows = self.ledger.all()?;
        for mut found in marked {
            if rows.iter().all(|row| row.id != found.id) {
                let state = found.state;
                advance(self.ledger, &mut found, state)?;
            }
        }
        let mut is_repaired = false;
        for mut row in rows {
            if self.was_removed(&row) {
                row.folder = None;
                advance(self.ledger, &mut row, State::Gone)?;
            } else if self.is_stray(&row)
                && self.is_of_this_repository(lock, &row).map_err(IsolationError::from)?
            {
                if !is_repaired && row.kind == Kind::Worktree {
                    // git writes the new place into the worktrees that it knows.
                    let root = &self.repository.checkout.root;
                    let porcelain = self.site(Some(lock)).porcelain();
                    let repaired = porcelain.git(root, ["worktree", "repair"]);
                    repaired.map_err(IsolationError::from)?;
                    is_repaired = true;
                }
                self.bring_home(row)?;
            }
        }
        Ok(())
    }

    /// Whether it was made of a repository that is not there any more.
    fn is_stray(&self, row: &Workspace) -> bool {
        row.repository != self.repository.checkout.repository && !row.repository.exists()
    }

    /// Whether that repository is this one, at another place.
    fn is_of_this_repository(
        &self,
        lock: &RepositoryLock,
        row: &Workspace,
    ) -> Result<bool, CallError> {
        let repository = &self.repository.checkout.repository;
        if row.kind == Kind::Worktree && row.state.is_there() {
            let mut all = private_folders(repository);
            return Ok(all.any(|private| is_marked_as(&private, row)));
        }
        let commit = format!("{}^{{commit}}", row.base);
        let plumbing = Plumbing(self.site(Some(lock)).porcelain());
        let asked = ["cat-file", "-e", &commit];
        Ok(plumbing.ask(Stand::repository(repository), asked)?.is_some())
    }

    /// Writes down that a workspace belongs to the repository where that is now, and tells the workspace.
    fn bring_home(&self, mut row: Workspace) -> Result<(), OpenError> {
        row.repository.clone_from(&self.repository.checkout.repository);
        if !row.repo_root.exists() {
            row.repo_root = self.project.to_owned();
        }
        let private = private_of(&row.path).filter(|private| is_marked_as(private, &row));
        if let Some(private) = private.filter(|_| row.state.is_there()) {
            if row.kind == Kind::Jj {
                let target = self.repository.main_root.join(".jj/repo");
                let _unchanged =
                    fs::write(private.join("repo"), target.as_os_str().as_encoded_bytes());
            }
            if let Ok((found, _)) = verify::look(self.surroundings, &row)
                && !row.is_adopted
            {
                let database = self.ledger.database();
                let link = row.path.join(FOLDER).join(DATABASE);
                if link.is_symlink() && !link.exists() {
                    let _left = fs::remove_file(link);
                }
                furnish(&row, &found, &database)?;
                if let Ok(Some(known)) = Document::load(&row.path) {
                    let repo_root = row.repo_root.to_string_lossy().into_owned();
                    Document { repo_root, database, ..known }.write(&row.path)?;
                }
            }
        }
        let state = row.state;
        Ok(advance(self.ledger, &mut row, state)?)
    }

    /// Whether it is somebody's own worktree, and they have removed it.
    fn was_removed(&self, row: &Workspace) -> bool {
        let repository = &self.repository.checkout.repository;
        let is_ours = row.is_adopted && row.state.is_there() && row.repository == *repository;
        let link = row.path.join(".git");
        is_ours
            && fs::symlink_metadata(&row.path).is_err()
            && !private_folders(repository).any(|private| is_its(&private, &link))
    }

    /// The workspaces of this repository that have a marker of this ledger, or of one that is lost.
    fn marked(&self) -> Vec<Workspace> {
        let repository = &self.repository.checkout.repository;
        let beside = self.root.join(root::namespace(&self.repository.main_root));
        let worktrees = private_folders(repository).filter_map(|private| {
            let text = fs::read_to_string(private.join("gitdir")).ok()?;
            let path = Path::new(text.trim_end()).parent()?.to_owned();
            self.marked_by(&private, path).filter(|found| found.kind == Kind::Worktree)
        });
        let others = folders(&beside).filter_map(|path| {
            let private = private_of(&path)?;
            let found = self.marked_by(&private, path)?;
            let is_alone = found.kind != Kind::Worktree && found.repository == *repository;
            is_alone.then_some(found)
        });
        worktrees.chain(others).collect()
    }

    fn marked_by(&self, private: &Path, path: PathBuf) -> Option<Workspace> {
        let marker = Marker::load(private).ok().flatten()?;
        let database = marker.database?;
        let is_lost = Path::new(&database).is_absolute() && !Path::new(&database).exists();
        if database != self.ledger.database() && !is_lost {
            return None;
        }
        let known = *marker.workspace?;
        Some(Workspace {
            state: State::Released,
            folder: FolderIdentity::of(&path),
            repository: match known.kind {
                Kind::Worktree => self.repository.checkout.repository.clone(),
                _ => known.repository,
            },
            was_there: true,
            owed: None,
            version: 0,
            path,
            ..known
        })
    }
}

fn is_marked_as(private: &Path, workspace: &Workspace) -> bool {
    matches!(Marker::load(private), Ok(Some(marker)) if marker.is_of(workspace))
}
