//! Bringing a workspace back from a backup, at the identical path: its branch, what was checked out, the index, the files,
//! what was ignored, what was half done.
//!
//! It is made like any other workspace and then given what the backup has. Until it is whole it is written down as being
//! made, and with it which backup it is owed: whoever is killed meanwhile is cleaned up after like any other maker, and the
//! next who opens it gets the whole of it.

mod fill;
mod history;

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use uuid::Uuid;

use super::backup::archive;
use super::backup::manifest::{self, Manifest};
use super::backup::{self, Backup, BackupError};
use super::furnish::furnish;
use super::id::WorkspaceId;
use super::isolation::{self, IsolationError};
use super::ledger::{LedgerError, advance};
use super::marker::{FolderIdentity, Marker};
use super::persist::persist;
use super::plumbing::Plumbing;
use super::points::Point;
use super::porcelain::CallError;
use super::repository::RepositoryLock;
use super::room::{self, NoRoom};
use super::verify::{self, VerifyError};
use super::yard::{OpenError, Yard};
use super::{Kind, State, Workspace};
use crate::files::{self, FileError};

/// Why a workspace was not brought back. Its backup is as it was.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// There is no backup.
    #[error("there is no backup of the workspace {id}{}", number.map(|number| format!(" with the number {number}")).unwrap_or_default())]
    NoBackup {
        /// Of which workspace.
        id: WorkspaceId,
        /// The number that was asked for.
        number: Option<u32>,
    },
    /// The archive is not the one that was written.
    #[error("the archive {} is not the one that was written with the backup {number}: {why}", path.display())]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// Of which backup.
        number: u32,
        /// What is wrong with it.
        why: String,
    },
    /// The workspace is there.
    #[error("the workspace {id} is still there")]
    StillThere {
        /// Which.
        id: WorkspaceId,
    },
    /// There is something at its place.
    #[error("{} is taken by something else; move it away first", path.display())]
    PlaceTaken {
        /// Where.
        path: PathBuf,
    },
    /// There is no room for it.
    #[error(transparent)]
    NoRoom(Box<NoRoom>),
    /// Its branch went on meanwhile.
    #[error(
        "the branch {branch} is at {found} now, and was at {wanted}; rename it first: git branch -m {branch} …"
    )]
    BranchMoved {
        /// The branch.
        branch: String,
        /// Where it is.
        found: String,
        /// Where it was.
        wanted: String,
    },
    /// Backups can't be read.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// It can't be made.
    #[error(transparent)]
    Open(#[from] Box<OpenError>),
    /// It can't be made.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// It can't be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A tool did not do what it should.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not what it should be.
    #[error(transparent)]
    NotIt(#[from] VerifyError),
    /// A file can't be written.
    #[error("{} can't be restored: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Yard<'_> {
    /// Brings a workspace back from a backup, the last one if none is named.
    ///
    /// # Errors
    /// [`RestoreError`]; then nothing is left that was not there before.
    pub fn restore(
        &self,
        id: &WorkspaceId,
        number: Option<u32>,
    ) -> Result<(Workspace, Backup), RestoreError> {
        persist(|| {
            let lock = self.repository.lock()?;
            self.repair_under(&lock).map_err(Box::new)?;
            self.restore_under(&lock, id, number)
        })
    }

    pub(super) fn restore_under(
        &self,
        lock: &RepositoryLock,
        id: &WorkspaceId,
        number: Option<u32>,
    ) -> Result<(Workspace, Backup), RestoreError> {
        let backups = self.backups(id)?;
        let wanted = |backup: &Backup| number.is_none_or(|number| backup.number == number);
        let backup = backups.into_iter().rfind(wanted);
        let backup = backup.ok_or_else(|| RestoreError::NoBackup { id: id.clone(), number })?;
        let manifest = self.manifest_of(&backup)?;
        self.check_room_to_restore(lock, &manifest, &backup)?;
        let mut workspace = self.planned(lock, &manifest)?;
        workspace.owed = Some(backup.number);
        history::check_branch(&self.site(Some(lock)), &manifest)?;
        advance(self.ledger, &mut workspace, State::Creating)?;
        self.points.pass(Point::Recorded);
        match self.rebuild(lock, &mut workspace, (&manifest, &backup)) {
            Ok(()) => Ok((workspace, backup)),
            Err(error) => {
                // Whatever can't be taken back now is by the next who comes.
                let _left = self.take_back(lock, workspace);
                Err(error)
            }
        }
    }

    /// Whether there is room for what is in a backup.
    fn check_room_to_restore(
        &self,
        lock: &RepositoryLock,
        manifest: &Manifest,
        backup: &Backup,
    ) -> Result<(), RestoreError> {
        let whole = Workspace { base: backup.commit.clone(), ..manifest.workspace.clone() };
        let checked = room::check(&self.site(Some(lock)), self.root, &whole)?;
        checked.map_err(|no_room| RestoreError::NoRoom(Box::new(no_room)))
    }

    /// The backup that the work of a workspace is in that is gone: it was removed with it, or a restore was interrupted. An
    /// older one does not say how it was in the end; one that somebody has deleted says nothing.
    pub(super) fn owed(&self, gone: &Workspace) -> Result<Option<u32>, RestoreError> {
        let Some(owed) = gone.owed.filter(|_| gone.state == State::Gone) else { return Ok(None) };
        let is_there = self.backups(&gone.id)?.iter().any(|backup| backup.number == owed);
        Ok(is_there.then_some(owed))
    }

    fn manifest_of(&self, backup: &Backup) -> Result<Manifest, RestoreError> {
        let path = &backup.archive;
        let damaged =
            |why: String| RestoreError::Damaged { path: path.clone(), number: backup.number, why };
        let repository = &self.repository.checkout.repository;
        let plumbing = Plumbing(self.site(None).porcelain());
        let wanted = backup::archive_hash(plumbing, repository, &backup.commit)?;
        let found = archive::hash(path).map_err(|error| damaged(error.to_string()))?;
        if wanted.as_ref() != Some(&found) {
            return Err(damaged("it was changed".to_owned()));
        }
        let mut manifest =
            archive::load_manifest(path).map_err(|error| damaged(error.to_string()))?;
        if manifest.version > manifest::VERSION {
            return Err(damaged("a newer program wrote it".to_owned()));
        }
        // The repository may have been moved since.
        if manifest.workspace.repository != *repository {
            manifest.workspace.repository.clone_from(repository);
            manifest.workspace.repo_root = self.project.to_owned();
        }
        Ok(manifest)
    }

    /// What is to be made: the workspace of the backup, with the marks of a new one.
    fn planned(
        &self,
        lock: &RepositoryLock,
        manifest: &Manifest,
    ) -> Result<Workspace, RestoreError> {
        let id = &manifest.workspace.id;
        let mut known = self.ledger.find(id)?;
        let path = &manifest.workspace.path;
        let is_free = match std::fs::symlink_metadata(path) {
            Ok(found) => {
                found.is_dir() && path.read_dir().is_ok_and(|mut inside| inside.next().is_none())
            }
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        match &mut known {
            Some(known) if known.state.is_there() && !is_free => {
                return Err(RestoreError::StillThere { id: id.clone() });
            }
            _ if !is_free => return Err(RestoreError::PlaceTaken { path: path.clone() }),
            Some(known) if known.state != State::Gone => {
                if known.state.is_there() {
                    self.rescue(lock, known)?;
                }
                advance(self.ledger, known, State::Gone)?;
            }
            _ => {}
        }
        Ok(Workspace {
            state: State::Creating,
            // It is put where it was before it is made.
            is_branch_ours: false,
            branch: manifest.workspace.branch.clone().filter(|_| manifest.tip.is_some()),
            nonce: Uuid::new_v4(),
            folder: None,
            was_there: true,
            version: known.map_or(0, |known| known.version),
            ..manifest.workspace.clone()
        })
    }

    fn rebuild(
        &self,
        lock: &RepositoryLock,
        workspace: &mut Workspace,
        (manifest, backup): (&Manifest, &Backup),
    ) -> Result<(), RestoreError> {
        let site = self.site(Some(lock));
        let plumbing = Plumbing(site.porcelain());
        if let Some(above) = workspace.path.parent() {
            files::make_folder(above)?;
        }
        history::restore_branch(&site, manifest, backup)?;
        isolation::of(workspace.kind).make(&site, workspace)?;
        self.points.pass(Point::Made);
        let (found, _) = verify::look(self.surroundings, workspace)?;
        Marker::of(workspace).write(&found.private)?;
        history::check_out(&site, manifest)?;
        let private = if workspace.kind == Kind::Jj { ".jj" } else { ".git" };
        fill::fill(plumbing, manifest, backup, private)?;
        self.points.pass(Point::Filled);
        history::restore_private(&site, (manifest, backup), &found)?;
        workspace.branch.clone_from(&manifest.workspace.branch);
        workspace.is_branch_ours = manifest.workspace.is_branch_ours;
        workspace.folder = FolderIdentity::of(&workspace.path);
        let database = self.ledger.database();
        Marker::of(workspace).in_database(&database).write(&found.private)?;
        furnish(workspace, &found, &database)?;
        verify::verify(self.surroundings, workspace)?;
        self.points.pass(Point::Furnished);
        workspace.owed = None;
        advance(self.ledger, workspace, State::Ready)?;
        self.points.pass(Point::Ready);
        // Somebody's work is in it: one that is only ready may be taken back with its run.
        advance(self.ledger, workspace, State::Released)?;
        Ok(())
    }
}
