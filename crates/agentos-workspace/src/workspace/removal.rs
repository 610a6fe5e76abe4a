//! Removing a workspace: a verdict, a backup of what would be lost, a rename into the trash, and then git and jj are told.
//!
//! **Only what the ledger, the marker and the folder itself agree is ours** is touched, and never what somebody stands in.
//! Each step is written down before it is taken; whoever is killed in between leaves either the workspace in its place, or
//! a workspace in the trash that git or jj still have to forget.

use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use super::backup::{self, Backup, BackupError, Keeping, shelf};
use super::id::WorkspaceId;
use super::isolation::{self, IsolationError};
use super::ledger::{LedgerError, RunStanding, advance};
use super::marker::FolderIdentity;
use super::points::Point;
use super::porcelain::{self, CallError};
use super::repository::RepositoryLock;
use super::survey::Survey;
use super::verdict::{LookError, Verdict, What};
use super::verify::{self, VerifyError};
use super::view::{View, ViewError};
use super::yard::{OpenError, Yard};
use super::{Kind, State, Workspace, trash};
use crate::files::FileError;
use crate::mounts;

/// Why a workspace was not removed. It is as it was.
#[derive(Debug, Error)]
pub enum CleanError {
    /// There is none.
    #[error("there is no workspace {id}")]
    NoSuchWorkspace {
        /// The id.
        id: WorkspaceId,
    },
    /// Work would be lost, or somebody is in it.
    #[error("{0}")]
    Refused(Box<Verdict>),
    /// It is not ours to remove.
    #[error("{} is not removed: {why}", path.display())]
    NotOurs {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A run that has not ended works in it.
    #[error("the workspace {id} belongs to the run {run}, which has not ended")]
    InUse {
        /// Which.
        id: WorkspaceId,
        /// The run.
        run: String,
    },
    /// It is not what it should be.
    #[error(transparent)]
    NotIt(#[from] VerifyError),
    /// What was left half done before can't be repaired.
    #[error(transparent)]
    Repair(#[from] Box<OpenError>),
    /// git can't be asked about it.
    #[error(transparent)]
    View(#[from] ViewError),
    /// It is not known what would be lost.
    #[error(transparent)]
    Look(#[from] LookError),
    /// It can't be backed up.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// It can't be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// git or jj can't be told.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// A tool did not do what it should.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What became of a workspace that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// What was in it.
    pub verdict: Verdict,
    /// Where that is kept.
    pub backup: Option<Backup>,
    /// Its branch, if that is still there.
    pub branch: Option<String>,
    /// Where it waits to be deleted.
    pub trash: PathBuf,
}

/// A workspace that may be removed.
struct Judged {
    verdict: Verdict,
    survey: Survey,
    needs_backup: bool,
}

/// Whether nobody has changed anything while it was backed up.
fn check_quiet(view: &View<'_>, before: &Survey, keeping: &Keeping) -> Result<(), CleanError> {
    let reproducible = &keeping.reproducible;
    let after = Survey::load(view.plumbing, view.stand(), view.workspace, reproducible)
        .map_err(BackupError::from)?;
    if after.entries == before.entries {
        return Ok(());
    }
    Err(BackupError::Restless { path: view.workspace.path.clone() }.into())
}

impl Yard<'_> {
    /// Removes a workspace from which nothing would be lost; by force also another one, after a backup.
    ///
    /// # Errors
    /// [`CleanError`]
    pub fn clean(
        &self,
        id: &WorkspaceId,
        is_forced: bool,
        keeping: &Keeping,
    ) -> Result<Cleaned, CleanError> {
        let lock = self.repository.lock()?;
        self.repair_under(&lock).map_err(Box::new)?;
        let known = self.find_removable(id, is_forced)?;
        let found = verify::verify(self.surroundings, &known)?;
        let site = self.site(Some(&lock));
        let view = View::of(&site, &known, found)?;
        let Judged { verdict, survey, needs_backup } =
            self.judge_view(&lock, &view, is_forced, keeping)?;
        let backup = if needs_backup {
            let backup = self.back_up(&lock, &view, &survey, keeping)?;
            if let Err(restless) = check_quiet(&view, &survey, keeping) {
                // It stays, so the backup is of no use: the next try would leave another one.
                shelf::discard(view.plumbing, &known.repository, &backup)?;
                return Err(restless);
            }
            Some(backup)
        } else {
            None
        };
        let is_branch_kept = (verdict.integrated.is_none() && !(is_forced && backup.is_some()))
            || !self.has_whole_branch(&lock, &known)?;
        let leaving = Workspace { owed: backup.as_ref().map(|backup| backup.number), ..known };
        let (trash, branch) = self.remove(&lock, leaving, is_branch_kept)?;
        Ok(Cleaned { verdict, backup, branch, trash })
    }

    /// Finds out whether [`clean`](Self::clean) would remove a workspace, and leaves it as it is. What changes between the two is
    /// not foreseen.
    ///
    /// # Errors
    /// [`CleanError`]: why it would stay.
    pub fn judge(
        &self,
        id: &WorkspaceId,
        is_forced: bool,
        keeping: &Keeping,
    ) -> Result<Verdict, CleanError> {
        let lock = self.repository.lock()?;
        let known = self.find_removable(id, is_forced)?;
        let found = verify::verify(self.surroundings, &known)?;
        let site = self.site(Some(&lock));
        let view = View::of(&site, &known, found)?;
        let judged = self.judge_view(&lock, &view, is_forced, keeping)?;
        if judged.needs_backup {
            backup::check_archive(&view, &judged.survey, keeping)?;
        }
        Ok(judged.verdict)
    }

    /// The workspace of this id, if it is ours and no run that is open needs it.
    fn find_removable(&self, id: &WorkspaceId, is_forced: bool) -> Result<Workspace, CleanError> {
        let known = self.ledger.find(id)?.filter(|known| known.state.is_there());
        let known = known.ok_or_else(|| CleanError::NoSuchWorkspace { id: id.clone() })?;
        self.check_ours(&known)?;
        if !is_forced
            && known.state == State::InUse
            && let Some(run) = &known.run
            && self.ledger.run_standing(run)? == RunStanding::Open
        {
            return Err(CleanError::InUse { id: known.id, run: run.clone() });
        }
        Ok(known)
    }

    /// What is in a workspace that may be removed, and whether that has to be backed up before.
    fn judge_view(
        &self,
        lock: &RepositoryLock,
        view: &View<'_>,
        is_forced: bool,
        keeping: &Keeping,
    ) -> Result<Judged, CleanError> {
        let (verdict, survey) = self.look_at(lock, view, keeping)?;
        if verdict.is_forbidden() || !(is_forced || verdict.is_free()) {
            return Err(CleanError::Refused(Box::new(verdict)));
        }
        let has_commits = verdict.findings.iter().any(|finding| finding.what == What::Unpushed);
        let takes_commits = is_forced && has_commits && verdict.integrated.is_none();
        let needs_backup = verdict.needs_backup() || takes_commits;
        Ok(Judged { verdict, survey, needs_backup })
    }

    /// Whether the branch in the repository is what the workspace has: a clone's may have been gone on with there.
    fn has_whole_branch(
        &self,
        lock: &RepositoryLock,
        workspace: &Workspace,
    ) -> Result<bool, CleanError> {
        let Some(branch) = workspace.branch.as_deref().filter(|_| workspace.kind == Kind::Clone)
        else {
            return Ok(true);
        };
        let site = self.site(Some(lock));
        let outside = isolation::of(workspace.kind).tip(&site, branch)?;
        let name = format!("refs/heads/{branch}");
        let asked = ["rev-parse", "--verify", "--quiet", &name];
        let inside = site.porcelain().try_git(&workspace.path, asked);
        let inside = inside.map_err(IsolationError::from)?;
        let inside = inside.is_success().then(|| porcelain::line(&inside.output));
        Ok(outside.is_none_or(|outside| Some(outside) == inside))
    }

    /// Moves it away and lets git or jj forget it; where it is, and its branch if that is still there.
    fn remove(
        &self,
        lock: &RepositoryLock,
        mut workspace: Workspace,
        is_branch_kept: bool,
    ) -> Result<(PathBuf, Option<String>), CleanError> {
        advance(self.ledger, &mut workspace, State::Trashed)?;
        self.points.pass(Point::Condemned);
        // Looked at once more: from here on there is no way back.
        self.check_ours(&workspace)?;
        let place = trash::put(self.root, &workspace)?;
        self.points.pass(Point::Moved);
        let branch = self.forget(lock, workspace, is_branch_kept)?;
        Ok((place, branch))
    }

    /// Lets git or jj forget a workspace whose folder is gone.
    fn forget(
        &self,
        lock: &RepositoryLock,
        mut workspace: Workspace,
        is_branch_kept: bool,
    ) -> Result<Option<String>, CleanError> {
        let (isolation, site) = (isolation::of(workspace.kind), self.site(Some(lock)));
        isolation.forget(&site, &workspace)?;
        if workspace.kind != Kind::Clone && self.repository.is_git() {
            isolation::forget_inside(&site, &workspace)?;
        }
        self.points.pass(Point::Forgotten);
        let branch = workspace.branch.clone();
        let tip = branch.as_deref().map(|branch| isolation.tip(&site, branch)).transpose()?;
        let mut kept = branch.filter(|_| tip.as_ref().is_some_and(Option::is_some));
        if let (Some(branch), Some(Some(tip))) = (&kept, &tip)
            && workspace.is_branch_ours
            && !is_branch_kept
            && isolation.delete_branch(&site, branch, tip)?
        {
            kept = None;
        }
        workspace.folder = None;
        advance(self.ledger, &mut workspace, State::Gone)?;
        Ok(kept)
    }

    /// Ends what somebody who was killed has begun: a workspace that is still in its place stays, one in the trash is
    /// forgotten.
    pub(super) fn finish_removals(&self, lock: &RepositoryLock) -> Result<(), CleanError> {
        for mut workspace in self.ledger.all()? {
            let is_here = workspace.repository == self.repository.checkout.repository;
            if workspace.state != State::Trashed || !is_here {
                continue;
            }
            if workspace.path.symlink_metadata().is_err() {
                // Without its folder it is not known what was decided about the branch: one with work on it stays.
                let isolation = isolation::of(workspace.kind);
                let branch = workspace.branch.as_deref();
                let tip = branch.map(|branch| isolation.tip(&self.site(Some(lock)), branch));
                let is_new = tip.transpose()?.flatten().is_some_and(|tip| tip == workspace.base);
                self.forget(lock, workspace, !is_new)?;
            } else if FolderIdentity::of(&workspace.path) == workspace.folder {
                workspace.owed = None;
                advance(self.ledger, &mut workspace, State::Released)?;
            }
        }
        Ok(())
    }

    /// Whether a workspace is ours to remove, as far as that can be seen without asking git.
    fn check_ours(&self, workspace: &Workspace) -> Result<(), CleanError> {
        let path = &workspace.path;
        let is_around = |inside: &Path| inside.starts_with(path);
        let surroundings = self.surroundings;
        let why = if workspace.is_adopted {
            "it was adopted, and whoever made it removes it (git worktree remove)"
        } else if path.symlink_metadata().is_err() {
            return Err(VerifyError::Missing { path: path.clone() }.into());
        } else if workspace.folder.is_none() || FolderIdentity::of(path) != workspace.folder {
            "it is another folder than the one that was made, or a link"
        } else if surroundings.home.as_deref().is_some_and(is_around) {
            "your home is in it"
        } else if is_around(&workspace.repository) || is_around(&self.repository.main_root) {
            "the repository is in it"
        } else if surroundings.cwd.as_deref().is_some_and(is_around) {
            "you stand in it; change into another folder first"
        } else if let Some(mount) = mounts::below(path).first() {
            let why = format!("{} is mounted in it; unmount it first", mount.display());
            return Err(CleanError::NotOurs { path: path.clone(), why });
        } else {
            return Ok(());
        };
        Err(CleanError::NotOurs { path: path.clone(), why: why.to_owned() })
    }
}
