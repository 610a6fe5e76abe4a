//! A workspace whose folder is gone, because somebody has deleted or moved it: what git still knows of it is kept before it
//! is made again, and a folder that was only renamed is found.
//!
//! Of a worktree git still has the index, the logs, and what is checked out. The files are gone; a backup made of the rest
//! has the files of the index. Of a clone nothing is left in the repository, and jj has recorded what it saw in a commit that
//! stays.

use std::fs;
use std::path::{Path, PathBuf};

use super::backup::known::Known;
use super::backup::manifest::{self, Manifest, Name};
use super::backup::{self, Backup, BackupError, Scratch, Whole, archive, objects};
use super::inner::is_its;
use super::isolation::{self, Isolation as _};
use super::marker::{FolderIdentity, Marker};
use super::plumbing::{Plumbing, Stand};
use super::porcelain::line;
use super::repository::RepositoryLock;
use super::verdict;
use super::yard::{OpenError, Opened, Yard};
use super::{Kind, Workspace};
use crate::identity::private_of;

/// How many folders are looked at for one that was renamed.
const LOOKED_AT: usize = 4096;

impl Yard<'_> {
    /// Keeps what git still knows of a worktree whose folder is gone, if that is nowhere else.
    pub(super) fn rescue(
        &self,
        lock: &RepositoryLock,
        gone: &Workspace,
    ) -> Result<Option<Backup>, BackupError> {
        let repository = &gone.repository;
        let link = gone.path.join(".git");
        let private = if gone.kind == Kind::Worktree && fs::symlink_metadata(&gone.path).is_err() {
            private_folders(repository).find(|private| is_its(private, &link))
        } else {
            None
        };
        let Some(private) = private else { return Ok(None) };
        let plumbing = Plumbing(self.site(Some(lock)).porcelain());
        let known = Known {
            plumbing,
            history: Stand::repository(&private),
            private: &private,
            workspace: gone,
        };
        let word = |name: &str| -> Result<Option<String>, BackupError> {
            let said = plumbing.ask(known.history, ["rev-parse", "--verify", "--quiet", name])?;
            Ok(said.map(|said| line(&said)))
        };
        let (head, files) = (word("HEAD^{commit}")?, word("HEAD^{tree}")?);
        let scratch = Scratch::make(repository, gone)?;
        let index = objects::store_index(plumbing, known.history, &private, &scratch.0)?;
        let commits = known.commits(&[], head.clone())?;
        let is_known = index == files
            && !verdict::is_half_done(&known)?
            && !verdict::has_own(&known, &commits)?;
        if is_known {
            return Ok(None);
        }
        let manifest = self.manifest_of_missing(lock, &known, head.clone())?;
        let nothing = ["hash-object", "-t", "tree", "-w", "/dev/null"];
        let tree = match index.or(files) {
            Some(tree) => tree,
            None => plumbing.word(known.history, nothing)?,
        };
        let held = objects::hold(plumbing, known.history, &tree, commits)?;
        let mut items = archive::items_of(&private, archive::PRIVATE, &[])?;
        items.extend(backup::log_item(gone));
        let parents = head.into_iter().chain([held]).collect();
        let number = self.next_number(gone)?;
        Ok(Some(self.seal(plumbing, Whole { number, manifest, items, tree, parents })?))
    }

    fn manifest_of_missing(
        &self,
        lock: &RepositoryLock,
        known: &Known<'_>,
        head: Option<String>,
    ) -> Result<Manifest, BackupError> {
        let (workspace, site) = (known.workspace, self.site(Some(lock)));
        let branch = workspace.branch.as_deref();
        let tip = branch.map(|branch| isolation::Worktree.tip(&site, branch)).transpose()?;
        Ok(Manifest {
            version: manifest::VERSION,
            workspace: workspace.clone(),
            private: Name::of(known.private),
            tip: tip.flatten(),
            head,
            recorded: None,
            mode: 0o755,
            modes: Vec::new(),
            stashed: backup::stashed(known)?,
            left: Vec::new(),
            names: Vec::new(),
            worktrees: Vec::new(),
            branch_lines: backup::known::branch_lines(known.plumbing, workspace)?,
        })
    }

    /// Makes a workspace whose folder is gone once more. What git still knows of it is kept first.
    pub(super) fn make_again(
        &self,
        lock: &RepositoryLock,
        known: Workspace,
    ) -> Result<(Workspace, Opened, Vec<String>), OpenError> {
        if let Some(found) = self.moved_to(&known) {
            let (id, path) = (known.id, known.path);
            return Err(OpenError::Moved { id, path, found });
        }
        let rescued = self.rescue(lock, &known).map_err(|error| OpenError::Rescue(Box::new(error)));
        let told = rescued?.map(|backup| backup.told());
        let told = told.map_or_else(|| self.tell_of_backups(&known), |told| Ok(Some(told)))?;
        let (workspace, how, mut notes) = self.make(lock, self.again(lock, known)?)?;
        notes.extend(told);
        notes.extend(self.bring_newest_back(&workspace));
        Ok((workspace, how, notes))
    }

    /// Which backups there are of a workspace that begins afresh.
    pub(super) fn tell_of_backups(&self, known: &Workspace) -> Result<Option<String>, OpenError> {
        let backups =
            self.backups(&known.id).map_err(|error| OpenError::Rescue(Box::new(error)))?;
        let numbers: Vec<String> = backups.iter().map(|backup| backup.number.to_string()).collect();
        let id = &known.id;
        Ok((!numbers.is_empty()).then(|| {
            format!(
                "it has what is on its branch; there are backups of it ({}): agentos workspace clean {id}, then agentos \
                 workspace restore {id} NUMBER",
                numbers.join(", ")
            )
        }))
    }

    /// Where the folder of a workspace is that was renamed within the folder for all workspaces.
    pub(super) fn moved_to(&self, workspace: &Workspace) -> Option<PathBuf> {
        let wanted = workspace.folder?;
        let beside = workspace.path.parent().into_iter().flat_map(folders);
        let others = folders(self.root).flat_map(|folder| folders(&folder).collect::<Vec<_>>());
        let mut looked_at = beside.chain(others).take(LOOKED_AT);
        looked_at.find(|folder| {
            FolderIdentity::of(folder) == Some(wanted)
                && private_of(folder)
                    .and_then(|private| Marker::load(&private).ok().flatten())
                    .is_some_and(|marker| marker.is_of(workspace))
        })
    }
}

impl Backup {
    /// What somebody is told whose workspace was made again.
    pub(super) fn told(&self) -> String {
        let (id, number) = (&self.workspace_id, self.number);
        format!(
            "git still knew what was staged or on no branch there: that is kept as {}; agentos workspace clean {id}, then \
             agentos workspace restore {id} {number} brings it back",
            self.reference
        )
    }
}

/// What git knows of worktrees: one private folder each.
pub(crate) fn private_folders(repository: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    folders(&repository.join("worktrees"))
}

/// The folders in a folder.
pub(super) fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    let inside = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    inside.map(|entry| entry.path())
}
