//! A backup: everything in a workspace that can't be made again, byte for byte.
//!
//! It is one ref in the repository, `refs/agentos/backup/{workspace}/{number}`, and one archive beside it. The ref's commit
//! has the files as its tree, and holds the index and every commit that only the workspace knew. The archive has what git
//! should not have: ignored files, repositories inside the workspace, the private folder with its logs and half-done merges.
//!
//! **The ref is written last**, when everything else is on the disk: there is a backup if there is a ref, and its commit
//! says which archive belongs to it.

pub(super) mod archive;
pub(super) mod known;
pub(super) mod manifest;
pub(super) mod names;
pub(super) mod objects;
pub(super) mod shelf;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::inner::Inner;
use super::isolation::{self, IsolationError};
use super::plumbing::{Plumbing, Stand, parts};
use super::points::Point;
use super::porcelain::CallError;
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
use known::Known;
use manifest::{Manifest, Missing, Mode, Name, Stashed};

pub use shelf::Backup;

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

/// Everything that a backup is made of.
pub(super) struct Whole {
    pub(super) number: u32,
    pub(super) manifest: Manifest,
    pub(super) items: Vec<Item>,
    /// The files.
    pub(super) tree: String,
    /// What holds everything else.
    pub(super) parents: Vec<String>,
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

    /// Backs up what was looked at.
    pub(super) fn back_up(
        &self,
        lock: &RepositoryLock,
        view: &View<'_>,
        survey: &Survey,
        keeping: &Keeping,
    ) -> Result<Backup, BackupError> {
        let (workspace, repository) = (view.workspace, &view.workspace.repository);
        let mut inner = Inner::of(workspace, survey);
        let items = items(view, survey, &inner)?;
        check_weight(&items, keeping)?;
        let number = self.next_number(workspace)?;
        let scratch = Scratch::make(repository, workspace)?;
        let mut manifest = self.manifest(lock, view, survey)?;
        manifest.worktrees = inner.iter().map(|inner| inner.kept(workspace)).collect();
        inner.extend(Inner::outside(workspace));
        let parents = keep_commits(view, &manifest, (&inner, &scratch.0))?;
        if workspace.kind == Kind::Clone {
            manifest.names = names::keep(view, number)?;
        }
        let kept: Vec<_> = survey.with(Fate::Object).collect();
        let tree =
            objects::store_files(view.plumbing, repository, &workspace.path, (&kept, &scratch.0))?;
        self.points.pass(Point::Stored);
        self.seal(view.plumbing, Whole { number, manifest, items, tree, parents })
    }

    /// The number that a backup gets.
    pub(super) fn next_number(&self, workspace: &Workspace) -> Result<u32, BackupError> {
        Ok(self.backups(&workspace.id)?.last().map_or(1, |last| last.number + 1))
    }

    /// Writes the archive, and then the ref: from there on there is a backup.
    pub(super) fn seal(&self, plumbing: Plumbing<'_>, whole: Whole) -> Result<Backup, BackupError> {
        let Whole { number, manifest, items, tree, parents } = whole;
        let (id, repository) = (&manifest.workspace.id, &manifest.workspace.repository);
        let file = shelf::archive_of(repository, id, number);
        let hash = archive::write(&file, &manifest, &items)?;
        flush(repository)?;
        self.points.pass(Point::Archived);
        let message = format!("agentos: backup {number} of {id}\n\n{HASH}{hash}");
        let stand = Stand::repository(repository);
        let commit = objects::commit(plumbing, stand, &tree, (&parents, &message))?;
        flush(repository)?;
        let reference = format!("{REFS}{id}/{number}");
        let how = ["-c", "core.fsync=all", "update-ref", "--", &reference, &commit, ""];
        plumbing.call(stand, how)?;
        self.points.pass(Point::BackedUp);
        let made = self.backups(id)?.into_iter().find(|backup| backup.number == number);
        made.ok_or_else(|| io_error(&file)(io::ErrorKind::NotFound.into()))
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
            head: match view.estranged {
                Some(_) => None,
                None => isolation.head(&site, workspace)?,
            },
            recorded: view.recorded.clone(),
            mode: about.mode() & 0o7777,
            modes: unusual
                .map(|entry| Mode { path: Name::of(&entry.path), mode: entry.mode })
                .collect(),
            stashed: stashed(&view.known())?,
            left: left.collect(),
            names: Vec::new(),
            worktrees: Vec::new(),
            branch_lines: known::branch_lines(view.plumbing, workspace)?,
        })
    }
}

/// What goes into the archive.
fn items(view: &View<'_>, survey: &Survey, inner: &[Inner]) -> Result<Vec<Item>, BackupError> {
    let (workspace, private) = (view.workspace, &view.found.private);
    let mut items = match workspace.kind {
        Kind::Worktree => archive::items_of(private, PRIVATE, &[])?,
        // Its objects go into the repository.
        Kind::Clone => archive::items_of(private, PRIVATE, &["objects"])?,
        // The rest is made again by jj.
        Kind::Jj => archive::items_of(&folder_of(private), &format!("{PRIVATE}/agentos"), &[])?,
    };
    for inner in inner.iter().filter(|_| workspace.kind != Kind::Clone) {
        items.extend(archive::items_of(&inner.private, &inner.part(), &[])?);
    }
    items.extend(log_item(workspace));
    let entries = survey.entries.iter();
    let archived =
        entries.filter(|entry| entry.fate == Fate::Archive || entry.form == Form::Folder);
    items.extend(archived.map(|entry| Item {
        from: workspace.path.join(&entry.path),
        name: Path::new(FILES).join(&entry.path),
    }));
    Ok(items)
}

/// Whether the archive of a backup would be small enough.
pub(super) fn check_archive(
    view: &View<'_>,
    survey: &Survey,
    keeping: &Keeping,
) -> Result<(), BackupError> {
    let inner = Inner::of(view.workspace, survey);
    check_weight(&items(view, survey, &inner)?, keeping)
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

/// The log of the workspace's branch, for the archive.
pub(super) fn log_item(workspace: &Workspace) -> Option<Item> {
    let log = branch_log(workspace).filter(|log| log.is_file())?;
    Some(Item { from: log, name: PathBuf::from(BRANCH_LOG) })
}

/// Holds the index and every commit that only the workspace knows; the parents of the backup, all in the repository.
fn keep_commits(
    view: &View<'_>,
    manifest: &Manifest,
    (inner, scratch): (&[Inner], &Path),
) -> Result<Vec<String>, BackupError> {
    let (plumbing, history, workspace) = (view.plumbing, view.history(), view.workspace);
    let stashed = manifest.stashed.iter().map(|stashed| &stashed.commit);
    let more = [&manifest.head, &manifest.tip, &manifest.recorded].into_iter().flatten();
    let more: Vec<String> = more.chain(stashed).cloned().collect();
    let index = match workspace.kind {
        Kind::Jj => None,
        _ => objects::store_index(plumbing, history, &view.found.private, scratch)?,
    };
    let mut commits = view.known().commits(inner, more)?;
    for (number, inner) in inner.iter().enumerate() {
        let scratch = scratch.join(format!("inner-{number}"));
        files::make_private_folder(&scratch)?;
        let tree = objects::store_index(plumbing, inner.stand(), &inner.private, &scratch)?;
        if let Some(tree) = tree {
            let index = (&[][..], "agentos: the index of a worktree inside");
            commits.push(objects::commit(plumbing, history, &tree, index)?);
        }
    }
    let tree = match index {
        Some(tree) => tree,
        None => plumbing.word(history, ["hash-object", "-t", "tree", "-w", "/dev/null"])?,
    };
    let held = objects::hold(plumbing, history, &tree, commits)?;
    if workspace.kind == Kind::Clone {
        let from = workspace.path.to_string_lossy();
        let how = names::FETCH.into_iter().chain(["--", &*from, &held]);
        plumbing.call(Stand::repository(&workspace.repository), how)?;
    }
    Ok(manifest.head.iter().cloned().chain([held]).collect())
}

/// What was put aside on the workspace's branch. A clone has a stash of its own.
pub(super) fn stashed(known: &Known<'_>) -> Result<Vec<Stashed>, CallError> {
    let Some(branch) = known.workspace.branch.as_deref() else { return Ok(Vec::new()) };
    if known.workspace.kind == Kind::Jj {
        return Ok(Vec::new());
    }
    let how = ["stash", "list", "-z", "--format=%H %gs"];
    let said = known.plumbing.ask(known.history, how)?.unwrap_or_default();
    let marks = [format!("WIP on {branch}:"), format!("On {branch}:")];
    let entries = parts(&said).filter_map(|part| {
        let text = String::from_utf8_lossy(part);
        let (commit, message) = text.trim().split_once(' ')?;
        let is_ours = known.workspace.kind == Kind::Clone
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
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    /// Makes it where the workspace's archives are.
    pub(super) fn make(repository: &Path, workspace: &Workspace) -> Result<Self, BackupError> {
        let above = shelf::archive_of(repository, &workspace.id, 0).with_file_name("");
        files::make_private_folder(&above)?;
        let folder = above.join("unfinished");
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
