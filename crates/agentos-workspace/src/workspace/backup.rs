//! A backup: everything in a workspace that can't be made again, byte for byte.
//!
//! It is one ref in the repository, `refs/agentos/backup/{workspace}/{number}`, and one archive beside it. The ref's commit
//! has the files as its tree, and holds the index and every commit that only the workspace knew. The archive has what git
//! should not have: ignored files, repositories inside the workspace, the private folder with its logs and half-done merges.
//!
//! **The ref is written last**, when everything else is on the disk: there is a backup if there is a ref, and its commit
//! says which archive belongs to it.

pub(super) mod archive;
pub(super) mod manifest;
mod objects;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use super::id::WorkspaceId;
use super::isolation::{self, IsolationError};
use super::plumbing::{Plumbing, Stand, parts};
use super::points::Point;
use super::porcelain::{CallError, Porcelain, line};
use super::repository::RepositoryLock;
use super::survey::reproducible::Reproducible;
use super::survey::{Fate, Form, Survey, SurveyError};
use super::verify::{self, VerifyError};
use super::view::{View, ViewError};
use super::yard::{OpenError, Yard};
use super::{Kind, Workspace};
use crate::files::{self, FileError};
use crate::identity::folder_of;
use archive::{BRANCH_LOG, FILES, Item, PRIVATE};
use manifest::{Manifest, Missing, Mode, Name, Stashed};

/// What the archive of one backup may hold unless it is said otherwise, in bytes.
pub const ARCHIVE_BYTES: u64 = 256 << 20;

/// What every ref of a backup begins with.
const REFS: &str = "refs/agentos/backup/";

/// How the commit of a backup says which archive belongs to it.
const HASH: &str = "archive-sha256: ";

/// How many files are named to somebody who has too many.
const NAMED: usize = 5;

/// Why there is no backup. Nothing was removed.
#[derive(Debug, Error)]
pub enum BackupError {
    /// It is not what it should be.
    #[error(transparent)]
    NotIt(#[from] VerifyError),
    /// What was left half done before can't be repaired.
    #[error(transparent)]
    Repair(#[from] Box<OpenError>),
    /// git can't be asked about it.
    #[error(transparent)]
    View(#[from] ViewError),
    /// It is not known what is in it.
    #[error(transparent)]
    Survey(#[from] SurveyError),
    /// A tool did not do what it should.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It is not known where its branch is.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file can't be read, or the archive can't be written.
    #[error("there is no backup, because of {}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody writes to it meanwhile.
    #[error("there is no backup, because {} changes meanwhile; end whoever writes to it", path.display())]
    Restless {
        /// What changes.
        path: PathBuf,
    },
    /// The archive would become too large.
    #[error(
        "there is no backup: what git does not have is {bytes} bytes, and an archive may hold {most} \
         (workspace.backup_max_size). The largest: {}. Remove what is not needed, or raise the limit",
        largest.join(", ")
    )]
    TooLarge {
        /// How much it is.
        bytes: u64,
        /// How much it may be.
        most: u64,
        /// The largest files.
        largest: Vec<String>,
    },
}

/// What is kept of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// What is not, because it can be made again.
    pub reproducible: Reproducible,
    /// What an archive may hold, in bytes.
    pub archive_bytes: u64,
}

impl Default for Keeping {
    fn default() -> Self {
        Self { reproducible: Reproducible::default(), archive_bytes: ARCHIVE_BYTES }
    }
}

/// A backup that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// Of which workspace.
    pub workspace_id: WorkspaceId,
    /// Its number: a later one is higher.
    pub number: u32,
    /// The ref that holds it.
    pub reference: String,
    /// The commit that the ref is at.
    pub commit: String,
    /// The archive.
    pub archive: PathBuf,
}

impl Yard<'_> {
    /// Backs a workspace up and leaves it as it is.
    ///
    /// # Errors
    /// [`BackupError`]
    pub fn snapshot(
        &self,
        workspace: &Workspace,
        keeping: &Keeping,
    ) -> Result<Backup, BackupError> {
        let lock = self.repository.lock()?;
        self.repair_under(&lock).map_err(Box::new)?;
        let found = verify::verify(self.surroundings, workspace)?;
        let site = self.site(Some(&lock));
        let view = View::of(&site, workspace, found)?;
        let survey = Survey::load(view.plumbing, view.stand(), workspace, &keeping.reproducible)?;
        self.back_up(&lock, &view, &survey, keeping)
    }

    /// The backups of a workspace, the oldest first.
    ///
    /// # Errors
    /// [`BackupError`]
    pub fn backups(&self, id: &WorkspaceId) -> Result<Vec<Backup>, BackupError> {
        let repository = &self.repository.checkout.repository;
        let porcelain = Porcelain { surroundings: self.surroundings, lock: None };
        let under = format!("{REFS}{id}/");
        let how = ["for-each-ref", "--format=%(refname) %(objectname)", &under];
        let said = Plumbing(porcelain).call(Stand::repository(repository), how)?;
        let mut found: Vec<Backup> = line(&said)
            .lines()
            .filter_map(|known| {
                let (reference, commit) = known.split_once(' ')?;
                let number: u32 = reference.strip_prefix(&under)?.parse().ok()?;
                Some(Backup {
                    workspace_id: id.clone(),
                    number,
                    reference: reference.to_owned(),
                    commit: commit.to_owned(),
                    archive: archive_of(repository, id, number),
                })
            })
            .collect();
        found.sort_by_key(|backup| backup.number);
        Ok(found)
    }

    /// Backs up what was looked at.
    pub(super) fn back_up(
        &self,
        lock: &RepositoryLock,
        view: &View<'_>,
        survey: &Survey,
        keeping: &Keeping,
    ) -> Result<Backup, BackupError> {
        let (workspace, repository) = (view.workspace, &view.workspace.repository);
        let number = self.backups(&workspace.id)?.last().map_or(1, |last| last.number + 1);
        let file = archive_of(repository, &workspace.id, number);
        let folder = file.with_file_name("");
        files::make_private_folder(&folder)?;
        let scratch = Scratch::make(folder.join("unfinished"))?;
        let items = items(view, survey)?;
        check_weight(&items, keeping)?;
        let manifest = self.manifest(lock, view, survey)?;
        let parents = keep_commits(view, &manifest, &scratch.0)?;
        let kept: Vec<_> = survey.with(Fate::Object).collect();
        let tree =
            objects::store_files(view.plumbing, repository, &workspace.path, (&kept, &scratch.0))?;
        self.points.pass(Point::Stored);
        let hash = archive::write(&file, &manifest, &items)?;
        flush(repository)?;
        self.points.pass(Point::Archived);
        let message = format!("agentos: backup {number} of {}\n\n{HASH}{hash}", workspace.id);
        let stand = Stand::repository(repository);
        let commit = objects::commit(view.plumbing, stand, &tree, (&parents, &message))?;
        flush(repository)?;
        let reference = format!("{REFS}{}/{number}", workspace.id);
        let how = ["-c", "core.fsync=all", "update-ref", "--", &reference, &commit, ""];
        view.plumbing.call(stand, how)?;
        self.points.pass(Point::BackedUp);
        Ok(Backup { workspace_id: workspace.id.clone(), number, reference, commit, archive: file })
    }

    fn manifest(
        &self,
        lock: &RepositoryLock,
        view: &View<'_>,
        survey: &Survey,
    ) -> Result<Manifest, BackupError> {
        use std::os::unix::fs::MetadataExt as _;
        let (workspace, isolation) = (view.workspace, isolation::of(view.workspace.kind));
        let site = self.site(Some(lock));
        let branch = workspace.branch.as_deref();
        let tip = branch.map(|branch| isolation.tip(&site, branch)).transpose()?.flatten();
        let usual = |mode: u32| if mode & 0o100 == 0 { 0o644 } else { 0o755 };
        let files = survey.with(Fate::Object).filter(|entry| entry.form == Form::File);
        let unusual = files.filter(|entry| entry.mode != usual(entry.mode));
        let about = fs::symlink_metadata(&workspace.path).map_err(io_error(&workspace.path))?;
        let left = survey.left.iter().map(|left| Missing {
            path: Name::of(&left.path),
            count: left.count,
            bytes: left.bytes,
        });
        Ok(Manifest {
            version: manifest::VERSION,
            workspace: workspace.clone(),
            private: Name::of(&view.found.private),
            tip,
            head: isolation.head(&site, workspace)?,
            recorded: view.recorded.clone(),
            mode: about.mode() & 0o7777,
            modes: unusual
                .map(|entry| Mode { path: Name::of(&entry.path), mode: entry.mode })
                .collect(),
            stashed: stashed(view)?,
            left: left.collect(),
        })
    }
}

/// What goes into the archive.
fn items(view: &View<'_>, survey: &Survey) -> Result<Vec<Item>, BackupError> {
    let (workspace, private) = (view.workspace, &view.found.private);
    let mut items = match workspace.kind {
        Kind::Worktree => archive::items_of(private, PRIVATE, &[])?,
        // Its objects go into the repository.
        Kind::Clone => archive::items_of(private, PRIVATE, &["objects"])?,
        // The rest is made again by jj.
        Kind::Jj => archive::items_of(&folder_of(private), &format!("{PRIVATE}/agentos"), &[])?,
    };
    if let Some(log) = branch_log(workspace).filter(|log| log.is_file()) {
        items.push(Item { from: log, name: PathBuf::from(BRANCH_LOG) });
    }
    let entries = survey.entries.iter();
    let archived =
        entries.filter(|entry| entry.fate == Fate::Archive || entry.form == Form::Folder);
    items.extend(archived.map(|entry| Item {
        from: workspace.path.join(&entry.path),
        name: Path::new(FILES).join(&entry.path),
    }));
    Ok(items)
}

fn check_weight(items: &[Item], keeping: &Keeping) -> Result<(), BackupError> {
    let (bytes, sizes) = archive::weigh(items)?;
    if bytes <= keeping.archive_bytes {
        return Ok(());
    }
    let largest = sizes.iter().take(NAMED);
    let largest = largest.map(|(bytes, name)| format!("{} ({bytes} bytes)", name.display()));
    Err(BackupError::TooLarge { bytes, most: keeping.archive_bytes, largest: largest.collect() })
}

/// Holds the index and every commit that only the workspace knows; the parents of the backup, all in the repository.
fn keep_commits(
    view: &View<'_>,
    manifest: &Manifest,
    scratch: &Path,
) -> Result<Vec<String>, BackupError> {
    let (plumbing, history, workspace) = (view.plumbing, view.history(), view.workspace);
    let repository = Stand::repository(&workspace.repository);
    let stashed = manifest.stashed.iter().map(|stashed| &stashed.commit);
    let more = [&manifest.head, &manifest.tip, &manifest.recorded].into_iter().flatten();
    let more: Vec<String> = more.chain(stashed).cloned().collect();
    let index = match workspace.kind {
        Kind::Jj => None,
        _ => objects::store_index(plumbing, history, &view.found.private, scratch)?,
    };
    let commits = objects::named_commits(plumbing, history, &places(view), more)?;
    let tree = match index {
        Some(tree) => tree,
        None => plumbing.word(history, ["hash-object", "-t", "tree", "-w", "/dev/null"])?,
    };
    let held = objects::hold(plumbing, history, &tree, commits)?;
    if workspace.kind == Kind::Clone {
        let from = workspace.path.to_string_lossy();
        let how = ["-c", "protocol.version=2", "fetch", "--quiet", "--no-tags"];
        let how = how.into_iter().chain(["--no-write-fetch-head", "--no-recurse-submodules"]);
        let how = how.chain(["--", &*from, &held]);
        plumbing.call(repository, how)?;
    }
    Ok(manifest.head.iter().cloned().chain([held]).collect())
}

/// The commits that are named in the workspace's own logs and notes.
pub(super) fn commits_named_in(view: &View<'_>) -> Result<Vec<String>, BackupError> {
    objects::named_commits(view.plumbing, view.history(), &places(view), [])
}

/// Where git writes down commits of a workspace that may be on no branch.
fn places(view: &View<'_>) -> Vec<PathBuf> {
    if view.workspace.kind == Kind::Jj {
        return Vec::new();
    }
    let places = [Some(view.found.private.clone()), branch_log(view.workspace)];
    places.into_iter().flatten().collect()
}

/// What was put aside on the workspace's branch. A clone has a stash of its own.
pub(super) fn stashed(view: &View<'_>) -> Result<Vec<Stashed>, CallError> {
    let Some(branch) = view.workspace.branch.as_deref() else { return Ok(Vec::new()) };
    if view.workspace.kind == Kind::Jj {
        return Ok(Vec::new());
    }
    let how = ["stash", "list", "-z", "--format=%H %gs"];
    let said = view.plumbing.ask(view.history(), how)?.unwrap_or_default();
    let marks = [format!("WIP on {branch}:"), format!("On {branch}:")];
    let entries = parts(&said).filter_map(|part| {
        let text = String::from_utf8_lossy(part);
        let (commit, message) = text.trim().split_once(' ')?;
        let is_ours = view.workspace.kind == Kind::Clone
            || marks.iter().any(|mark| message.starts_with(mark));
        is_ours.then(|| Stashed { commit: commit.to_owned(), message: message.to_owned() })
    });
    Ok(entries.collect())
}

/// Where git writes down where the workspace's branch was.
pub(super) fn branch_log(workspace: &Workspace) -> Option<PathBuf> {
    let branch = workspace.branch.as_deref()?;
    Some(workspace.repository.join("logs/refs/heads").join(branch))
}

/// The hash that the commit of a backup names.
pub(super) fn archive_hash(
    plumbing: Plumbing<'_>,
    repository: &Path,
    commit: &str,
) -> Result<Option<String>, CallError> {
    let how = ["log", "-1", "--format=%B", commit, "--"];
    let said = plumbing.word(Stand::repository(repository), how)?;
    Ok(said.lines().find_map(|line| line.strip_prefix(HASH)).map(str::to_owned))
}

fn archive_of(repository: &Path, id: &WorkspaceId, number: u32) -> PathBuf {
    folder_of(repository).join("backup").join(id.as_str()).join(format!("{number}.tar"))
}

/// Waits until everything that was written to the repository's file system is on the disk: one wait for all objects.
fn flush(repository: &Path) -> Result<(), BackupError> {
    let flush = || -> io::Result<()> { Ok(rustix::fs::syncfs(File::open(repository)?)?) };
    flush().map_err(io_error(repository))
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> BackupError + use<> {
    let path = path.to_owned();
    move |source| BackupError::Io { path, source }
}

/// A folder for what is needed only meanwhile.
struct Scratch(PathBuf);

impl Scratch {
    fn make(folder: PathBuf) -> Result<Self, BackupError> {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error(&folder)(error));
            }
            _ => {}
        }
        files::make_private_folder(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whatever stays is removed by the next backup.
        let _left = fs::remove_dir_all(&self.0);
    }
}
