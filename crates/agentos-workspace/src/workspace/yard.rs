//! Where the workspaces of one repository are made and found again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use agentos_process::shell_word::quoted_path;
use thiserror::Error;
use uuid::Uuid;

use super::backup::BackupError;
use super::furnish::furnish;
use super::hold;
use super::id::WorkspaceId;
use super::include::{IncludeError, include};
use super::isolation::{self, Isolation, IsolationError, Site};
use super::ledger::{Ledger, LedgerError, RunStanding, advance};
use super::marker::{FolderIdentity, Marker};
use super::persist::persist;
use super::points::{Point, Points};
use super::policy::{self, Policy};
use super::removal::CleanError;
use super::repository::{Repository, RepositoryLock};
use super::restore::RestoreError;
use super::room::{self, NoRoom};
use super::root::{self, RootError};
use super::verify::{self, VerifyError};
use super::{Kind, State, Workspace};
use crate::files::{self, FileError};
use crate::surroundings::Surroundings;

/// Why there is no workspace.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is no place for it.
    #[error(transparent)]
    Root(#[from] RootError),
    /// It can't be made.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// It can't be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// What it needs can't be copied into it.
    #[error(transparent)]
    Include(#[from] IncludeError),
    /// It is not what it should be.
    #[error(transparent)]
    NotIt(#[from] VerifyError),
    /// It was made from something else.
    #[error(
        "the workspace {id} was made from {found}, and not from {wanted}; leave the base out to go on in it, or name another \
         workspace"
    )]
    OtherBase {
        /// Which.
        id: WorkspaceId,
        /// What it was made from.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// It is of another kind.
    #[error(
        "the workspace {id} is of the kind `{found}`, and not `{wanted}`; name another workspace"
    )]
    OtherKind {
        /// Which.
        id: WorkspaceId,
        /// Its kind.
        found: Kind,
        /// What was asked for.
        wanted: Kind,
    },
    /// It was made of another repository.
    #[error("the workspace {id} belongs to the repository {}; name another workspace", repository.display())]
    OtherRepository {
        /// Which.
        id: WorkspaceId,
        /// Its repository.
        repository: PathBuf,
    },
    /// There is a branch of its name that was not made with it.
    #[error(
        "there is a branch {branch} already, and it is not known to be of a workspace; name another workspace, or rename \
         the branch (git branch -m {branch} …)"
    )]
    BranchTaken {
        /// The branch.
        branch: String,
    },
    /// There is a branch that leaves no room for one of ours.
    #[error(
        "there is a branch `{by}`, so there can be none called {branch}; rename it (git branch -m {by} …), or name another \
         workspace"
    )]
    BranchBlocked {
        /// The branch that there should be.
        branch: String,
        /// The one that is there.
        by: String,
    },
    /// There is something at its place.
    #[error("{} is there already, and it is not known to be a workspace; move it away, or name another workspace", path.display())]
    PlaceTaken {
        /// Where.
        path: PathBuf,
    },
    /// Its folder was moved by somebody.
    #[error(
        "the workspace {id} is not in {} any more: it is now at {}; move it back: mv {} {}",
        path.display(),
        found.display(),
        quoted_path(found),
        quoted_path(path)
    )]
    Moved {
        /// Which.
        id: WorkspaceId,
        /// Where it was.
        path: PathBuf,
        /// Where it is.
        found: PathBuf,
    },
    /// Its folder is gone, and what is still known of it can't be kept. Nothing was changed.
    #[error("what is still known of a workspace whose folder is gone can't be kept: {0}")]
    Rescue(#[source] Box<BackupError>),
    /// It was removed, and can't be restored.
    #[error(transparent)]
    Restore(#[from] Box<RestoreError>),
    /// What was about to be removed can't be dealt with.
    #[error(transparent)]
    Removal(#[from] Box<CleanError>),
    /// There is not enough room for it.
    #[error(transparent)]
    NoRoom(#[from] Box<NoRoom>),
    /// It was somebody else's, and is gone.
    #[error(
        "the worktree {} that was adopted as {id} is gone, and it was not ours to make again; make it (git worktree add), \
         and adopt it once more",
        path.display()
    )]
    AdoptedGone {
        /// Which.
        id: WorkspaceId,
        /// Where it was.
        path: PathBuf,
    },
    /// Somebody works in it.
    #[error("the workspace {id} is in use by {by}")]
    InUse {
        /// Which.
        id: WorkspaceId,
        /// Who, in words.
        by: String,
        /// The run, if it is one.
        run: Option<String>,
    },
    /// It is on its way out.
    #[error("the workspace {id} was moved to the trash")]
    Trashed {
        /// Which.
        id: WorkspaceId,
    },
}

/// What somebody wants to work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its id.
    pub id: WorkspaceId,
    /// Its kind, if it has to be made, or if it matters.
    pub kind: Kind,
    /// Whether only a workspace of that kind will do.
    pub is_kind_said: bool,
    /// What it is to be made from; if nothing is said, the commit that the checkout has.
    pub base: Option<String>,
    /// The run that it is for, which need not be there yet.
    pub run: Option<String>,
    /// What time it is.
    pub now: Timestamp,
}

/// A workspace in somebody's hands.
#[derive(Debug)]
pub struct Open {
    /// The workspace.
    pub workspace: Workspace,
    /// How it was come by.
    pub how: Opened,
    /// What somebody should know about it.
    pub notes: Vec<String>,
    /// The right to make and remove workspaces: to be held until the run is there that the workspace was made for.
    pub lock: RepositoryLock,
}

/// How somebody came by a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// It is new.
    Made,
    /// It was there.
    Found,
    /// It was gone, and is there again with what is on its branch.
    MadeAgain,
}

/// Where the workspaces of one repository are made and found again.
#[derive(Clone, Copy)]
pub struct Yard<'a> {
    /// What tools see.
    pub surroundings: &'a Surroundings,
    /// The repository.
    pub repository: &'a Repository,
    /// The checkout that whatever works in a workspace belongs to.
    pub project: &'a Path,
    /// The folder for all workspaces.
    pub root: &'a Path,
    /// How workspaces are filled.
    pub policy: &'a Policy,
    /// Where it is written down which there are.
    pub ledger: &'a dyn Ledger,
    /// Where we may die.
    pub points: &'a dyn Points,
}

impl Yard<'_> {
    /// Where a workspace of this id is.
    #[must_use]
    pub fn path_of(&self, id: &WorkspaceId) -> PathBuf {
        self.root.join(root::namespace(&self.repository.main_root)).join(id.as_str())
    }

    /// Finds the workspace, or makes it: afterwards it is there, it is the right one, and it is written down.
    ///
    /// # Errors
    /// [`OpenError`]; then nothing is left that was not there before.
    pub fn open(&self, wanted: &Wanted) -> Result<Open, OpenError> {
        persist(|| self.open_once(wanted))
    }

    fn open_once(&self, wanted: &Wanted) -> Result<Open, OpenError> {
        root::check(self.root, self.repository)?;
        let lock = self.repository.lock()?;
        self.repair_under(&lock)?;
        let known = self.ledger.find(&wanted.id)?;
        if let Some(known) = &known {
            self.check_free(wanted, known)?;
        }
        let (workspace, how, notes) = match known {
            Some(known) if known.state.is_there() => self.attach(&lock, wanted, known)?,
            Some(known) if known.state == State::Trashed => {
                return Err(OpenError::Trashed { id: known.id });
            }
            Some(known) if known.is_adopted => {
                return Err(OpenError::AdoptedGone { id: known.id, path: known.path });
            }
            Some(known) if let Some(number) = self.owed(&known).map_err(Box::new)? => {
                // It was removed with work in it, or a restore was interrupted: that comes back.
                self.check_room(&lock, &known)?;
                let restored = self.restore_under(&lock, &known.id, Some(number));
                let (restored, backup) = restored.map_err(Box::new)?;
                let (workspace, _, mut notes) = self.attach(&lock, wanted, restored)?;
                notes.push(format!("it is as it was in {}", backup.reference));
                (workspace, Opened::MadeAgain, notes)
            }
            known => {
                let told = known.as_ref().map_or(Ok(None), |known| self.tell_of_backups(known))?;
                let made = self.make(&lock, self.plan(&lock, wanted, known)?)?;
                let (workspace, how, mut notes) = made;
                notes.extend(told);
                (workspace, how, notes)
            }
        };
        Ok(Open { workspace, how, notes, lock })
    }

    /// Writes down a workspace that there is no room for yet, so that it can be made when there is: where it will be, from
    /// what, and for whom.
    ///
    /// # Errors
    /// [`OpenError`]; then nothing is written down.
    pub fn reserve(&self, wanted: &Wanted) -> Result<Open, OpenError> {
        root::check(self.root, self.repository)?;
        let lock = self.repository.lock()?;
        self.repair_under(&lock)?;
        let known = self.ledger.find(&wanted.id)?;
        let mut workspace = match known {
            Some(known) => {
                self.check_free(wanted, &known)?;
                known
            }
            None => self.plan(&lock, wanted, None)?,
        };
        if !workspace.state.is_there() {
            workspace.run.clone_from(&wanted.run);
            if workspace.version == 0 {
                workspace.nonce = Uuid::nil();
            }
            workspace.state = State::Gone;
            workspace.version = self.ledger.write(&workspace)?;
        }
        Ok(Open { workspace, how: Opened::Made, notes: Vec::new(), lock })
    }

    /// Refuses a workspace in which somebody else works.
    fn check_free(&self, wanted: &Wanted, known: &Workspace) -> Result<(), OpenError> {
        let (Some(_), State::InUse) = (&wanted.run, known.state) else { return Ok(()) };
        let (id, run) = (known.id.clone(), known.run.clone());
        match &run {
            None if hold::is_held(known) => {
                let by = "somebody's command (`agentos workspace run` or `shell`)".to_owned();
                Err(OpenError::InUse { id, by, run })
            }
            Some(other)
                if known.run != wanted.run
                    && self.ledger.run_standing(other)? == RunStanding::Open =>
            {
                Err(OpenError::InUse { id, by: format!("the run {other}"), run })
            }
            _ => Ok(()),
        }
    }

    /// Whether there is room for what is about to be made.
    fn check_room(&self, lock: &RepositoryLock, workspace: &Workspace) -> Result<(), OpenError> {
        match room::check(&self.site(Some(lock)), self.root, workspace)? {
            Ok(()) => Ok(()),
            Err(no_room) => Err(Box::new(no_room).into()),
        }
    }

    pub(super) fn site<'b>(&'b self, lock: Option<&'b RepositoryLock>) -> Site<'b> {
        let (surroundings, repository) = (self.surroundings, self.repository);
        Site { surroundings, repository, lock, policy: self.policy }
    }

    /// Goes on in a workspace that was there; one whose folder is gone is made again.
    fn attach(
        &self,
        lock: &RepositoryLock,
        wanted: &Wanted,
        known: Workspace,
    ) -> Result<(Workspace, Opened, Vec<String>), OpenError> {
        if known.repository != self.repository.checkout.repository {
            let (id, repository) = (known.id, known.repository);
            return Err(OpenError::OtherRepository { id, repository });
        }
        if wanted.is_kind_said && wanted.kind != known.kind {
            let (id, found, wanted) = (known.id, known.kind, wanted.kind);
            return Err(OpenError::OtherKind { id, found, wanted });
        }
        if let Some(base) = &wanted.base {
            let wanted = isolation::of(known.kind).resolve(&self.site(None), Some(base))?;
            if wanted != known.base {
                let (id, found) = (known.id, known.base);
                return Err(OpenError::OtherBase { id, found, wanted });
            }
        }
        match verify::verify(self.surroundings, &known) {
            Ok(_) => Ok((known, Opened::Found, Vec::new())),
            Err(VerifyError::Missing { path }) if known.is_adopted => {
                Err(OpenError::AdoptedGone { id: known.id, path })
            }
            Err(VerifyError::Missing { .. }) => self.make_again(lock, known),
            Err(error) => Err(error.into()),
        }
    }

    /// Decides what is to be made, without making anything.
    pub(super) fn plan(
        &self,
        lock: &RepositoryLock,
        wanted: &Wanted,
        known: Option<Workspace>,
    ) -> Result<Workspace, OpenError> {
        let (isolation, site) = (isolation::of(wanted.kind), self.site(Some(lock)));
        isolation.check(&site)?;
        // One that was only written down so far, or that its own run wants again, is made from what was meant then.
        let is_reserved = known.as_ref().is_some_and(|known| known.nonce.is_nil());
        let is_its =
            |known: &&Workspace| is_reserved || (wanted.run.is_some() && wanted.run == known.run);
        let meant = known.as_ref().filter(is_its).map(|known| known.base.clone());
        let base = isolation.resolve(&site, wanted.base.as_deref().or(meant.as_deref()))?;
        let branch = wanted.id.branch();
        let is_free = isolation.tip(&site, &branch)?.is_none();
        if !is_free && (known.is_none() || is_reserved) {
            return Err(OpenError::BranchTaken { branch });
        }
        let path = self.path_of(&wanted.id);
        self.check_place(isolation, &branch, &path)?;
        Ok(Workspace {
            path,
            id: wanted.id.clone(),
            kind: wanted.kind,
            state: State::Creating,
            repository: self.repository.checkout.repository.clone(),
            repo_root: self.project.to_owned(),
            branch: Some(branch),
            base,
            is_branch_ours: is_free,
            is_adopted: false,
            nonce: Uuid::new_v4(),
            folder: None,
            run: wanted.run.clone(),
            was_there: known.is_some(),
            owed: None,
            version: known.map_or(0, |known| known.version),
            created_at: wanted.now,
        })
    }

    /// The same workspace once more, from where its branch was left.
    pub(super) fn again(
        &self,
        lock: &RepositoryLock,
        known: Workspace,
    ) -> Result<Workspace, OpenError> {
        let (isolation, site) = (isolation::of(known.kind), self.site(Some(lock)));
        let branch = known.branch.clone().unwrap_or_else(|| known.id.branch());
        let is_free = isolation.tip(&site, &branch)?.is_none();
        self.check_place(isolation, &branch, &known.path)?;
        let mut gone = known;
        advance(self.ledger, &mut gone, State::Gone)?;
        Ok(Workspace {
            branch: Some(branch),
            is_branch_ours: is_free,
            nonce: Uuid::new_v4(),
            folder: None,
            was_there: true,
            owed: None,
            state: State::Creating,
            ..gone
        })
    }

    /// Whether there is room for the folder and for the branch.
    fn check_place(
        &self,
        isolation: &dyn Isolation,
        branch: &str,
        path: &Path,
    ) -> Result<(), OpenError> {
        let is_empty = || fs::read_dir(path).is_ok_and(|mut inside| inside.next().is_none());
        let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if is_link || (path.symlink_metadata().is_ok() && !is_empty()) {
            return Err(OpenError::PlaceTaken { path: path.to_owned() });
        }
        let above = branch.split('/').next().unwrap_or_default();
        match isolation.tip(&self.site(None), above)? {
            Some(_) => {
                Err(OpenError::BranchBlocked { branch: branch.to_owned(), by: above.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Makes what was planned. Whatever goes wrong, nothing of it is left.
    pub(super) fn make(
        &self,
        lock: &RepositoryLock,
        mut workspace: Workspace,
    ) -> Result<(Workspace, Opened, Vec<String>), OpenError> {
        self.check_room(lock, &workspace)?;
        let opened = if workspace.was_there { Opened::MadeAgain } else { Opened::Made };
        advance(self.ledger, &mut workspace, State::Creating)?;
        self.points.pass(Point::Recorded);
        match self.build(lock, &mut workspace) {
            Ok(notes) => Ok((workspace, opened, notes)),
            Err(error) => {
                // Whatever can't be taken back now is by the next who comes.
                let told = error.to_string();
                let blocked = blocking_branch(&told, workspace.branch.as_deref());
                let full = room::is_full_disk(&told)
                    .then(|| room::ran_out(&self.site(Some(lock)), self.root, &workspace));
                let _left = self.take_back(lock, workspace);
                let full = full.flatten().map(|full| OpenError::from(Box::new(full)));
                Err(full.or(blocked).unwrap_or(error))
            }
        }
    }

    fn build(
        &self,
        lock: &RepositoryLock,
        workspace: &mut Workspace,
    ) -> Result<Vec<String>, OpenError> {
        let (isolation, site) = (isolation::of(workspace.kind), self.site(Some(lock)));
        let folder = workspace.path.parent().unwrap_or(self.root);
        files::make_folder(folder).map_err(|error| RootError::Unusable {
            path: self.root.to_owned(),
            why: error.to_string(),
        })?;
        real(folder, &workspace.path)?;
        isolation.make(&site, workspace)?;
        self.points.pass(Point::Made);
        let (found, _) = verify::look(self.surroundings, workspace)?;
        let database = self.ledger.database();
        Marker::of(workspace).in_database(&database).write(&found.private)?;
        self.points.pass(Point::Marked);
        self.check_head(isolation, lock, workspace)?;
        workspace.folder = FolderIdentity::of(&workspace.path);
        furnish(workspace, &found, &database)?;
        let notes = policy::fill(&site, workspace)?;
        include(&site, &workspace.path, &found.private)?;
        verify::verify_again(workspace, &found)?;
        self.points.pass(Point::Furnished);
        advance(self.ledger, workspace, State::Ready)?;
        self.points.pass(Point::Ready);
        Ok(notes)
    }

    /// A new one is at its base, whatever filters and hooks have done.
    fn check_head(
        &self,
        isolation: &dyn Isolation,
        lock: &RepositoryLock,
        workspace: &Workspace,
    ) -> Result<(), OpenError> {
        if !workspace.is_branch_ours {
            return Ok(());
        }
        let head = isolation.head(&self.site(Some(lock)), workspace)?;
        if head.as_ref() == Some(&workspace.base) {
            return Ok(());
        }
        let found = head.unwrap_or_else(|| "nothing".to_owned());
        let why = format!("it is at {found}, and should be at {}", workspace.base);
        Err(VerifyError::NotIt { path: workspace.path.clone(), why }.into())
    }
}

/// What git says about a branch below the one that was to be made.
fn blocking_branch(told: &str, branch: Option<&str>) -> Option<OpenError> {
    let (before, _) = told.split_once("' exists; cannot create")?;
    let (_, by) = before.rsplit_once("'refs/heads/")?;
    Some(OpenError::BranchBlocked { branch: branch?.to_owned(), by: by.to_owned() })
}

/// A path that is not the real one would not be found again by git's answers.
fn real(folder: &Path, path: &Path) -> Result<(), FileError> {
    let real = folder.canonicalize().map_err(FileError::io(folder, "can't be looked at"))?;
    match path.file_name().map(|name| real.join(name)) {
        Some(found) if found == path => Ok(()),
        _ => {
            let what = "leads elsewhere by a link";
            Err(FileError::io(path, what)(io::Error::from(io::ErrorKind::InvalidInput)))
        }
    }
}
