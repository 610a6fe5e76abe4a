//! Where snapshots are made: a git directory of our own in the workspace's private folder, with an index of our own.
//!
//! It shares nothing with the workspace's git directory but the list of what is overlooked and the repository's objects, so
//! nobody's attributes, filters or sparse patterns change a byte, and nobody's index is touched. The index stays between
//! snapshots: what has not changed since the last one is not read again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_process::tool::Tool;

use super::SnapshotError;
use crate::checkout::Checkout;
use crate::files::{self, FileError};
use crate::identity::folder_of;
use crate::workspace::Workspace;
use crate::workspace::porcelain::{Porcelain, QUIETLY, line, run, succeeded};

/// Most that git may say, in bytes: a line for each of a million files.
const OUTPUT_BYTES: usize = 512 << 20;

/// What git is told so that it takes files and names as they are, and what it writes is on the disk before it says so.
const EXACTLY: [&str; 28] = [
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.safecrlf=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.protectNTFS=false",
    "-c",
    "core.protectHFS=false",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.sparseCheckout=false",
    "-c",
    "core.symlinks=true",
    "-c",
    "core.fileMode=true",
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.fsync=committed,reference",
    "-c",
    "core.fsyncMethod=batch",
    "-c",
    "core.untrackedCache=keep",
];

/// The file that lists are written to.
const LIST: &str = "list";

/// The id of the tree with nothing in it, which every git knows.
const NOTHING: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

/// The place in which one workspace's snapshots are made. Nobody else makes any meanwhile.
#[derive(Debug)]
pub(super) struct Darkroom<'a> {
    pub(super) porcelain: Porcelain<'a>,
    pub(super) workspace: &'a Workspace,
    pub(super) found: Checkout,
    /// The folder for everything here.
    pub(super) folder: PathBuf,
    is_long: bool,
    /// Held by us, and by every git that works here: one may outlive us.
    alone: Arc<File>,
}

/// A git directory's files, an index of them, and a folder that they are in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tray<'a> {
    pub(super) root: &'a Path,
    pub(super) index: &'a Path,
}

impl<'a> Darkroom<'a> {
    /// Enters the darkroom of a workspace; makes it if there is none.
    pub(super) fn enter(
        porcelain: Porcelain<'a>,
        workspace: &'a Workspace,
        found: Checkout,
    ) -> Result<Self, SnapshotError> {
        let folder = folder_of(&found.private).join("snapshot");
        let git = folder.join("git");
        for inside in ["refs", "objects", "info"] {
            files::make_folder(&git.join(inside))?;
        }
        let lock = folder.join("lock");
        let alone = File::create(&lock).map_err(FileError::io(&lock, "can't be made"))?;
        alone.lock().map_err(FileError::io(&lock, "can't be locked"))?;
        // A git that reads a list holds that one.
        drop(locked_list(&folder).map_err(io_error(&folder.join(LIST)))?);
        // Its ids are as long as those of the repository.
        let is_long = workspace.base.len() > 40;
        let room = Self { porcelain, workspace, found, folder, is_long, alone: Arc::new(alone) };
        room.furnish()?;
        Ok(room)
    }

    fn furnish(&self) -> Result<(), SnapshotError> {
        let git = self.folder.join("git");
        // What somebody who was killed has left is nobody's.
        for left in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if left.path().extension().is_some_and(|ending| ending == "lock") {
                let _gone = fs::remove_file(left.path());
            }
        }
        let repository = self.found.repository.to_string_lossy().into_owned();
        let repository = repository.replace('\\', "\\\\").replace('"', "\\\"");
        let format = match self.is_long {
            true => "repositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
            false => "repositoryformatversion = 0\n",
        };
        let config = format!("[include]\n\tpath = \"{repository}/config\"\n[core]\n\t{format}");
        let path = git.join("config");
        if fs::read(&path).ok().as_deref() != Some(config.as_bytes()) {
            fs::write(&path, config).map_err(io_error(&path))?;
        }
        let (exclude, link) =
            (self.found.repository.join("info/exclude"), git.join("info/exclude"));
        if fs::read_link(&link).ok().as_ref() != Some(&exclude) {
            let _none = fs::remove_file(&link);
            std::os::unix::fs::symlink(&exclude, &link).map_err(io_error(&link))?;
        }
        if fs::metadata(git.join("HEAD")).is_ok_and(|found| found.len() > 0) {
            return Ok(());
        }
        self.stand_at(None)
    }

    /// Whether the index is compared with this commit.
    pub(super) fn stands_at(&self, commit: &str) -> bool {
        fs::read_to_string(self.folder.join("git/HEAD")).is_ok_and(|text| text.trim_end() == commit)
    }

    /// What the index is compared with: the last snapshot.
    pub(super) fn stand_at(&self, commit: Option<&str>) -> Result<(), SnapshotError> {
        let path = self.folder.join("git/HEAD");
        let text =
            commit.map_or_else(|| "ref: refs/heads/none\n".to_owned(), |id| format!("{id}\n"));
        if fs::read(&path).ok().as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        let unfinished = path.with_extension("new");
        let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(io_error(&path))
    }

    /// The files of the workspace.
    pub(super) fn tray(&self) -> (PathBuf, PathBuf) {
        (self.workspace.path.clone(), self.folder.join("index"))
    }

    /// Makes an object of the tree with nothing in it. Every git knows it without, but a commit of it is one of which an
    /// object is missing (`git fsck`).
    pub(super) fn write_nothing(&self) -> Result<String, SnapshotError> {
        self.word(["hash-object", "-t", "tree", "-w", "/dev/null"])
    }

    /// The tree with nothing in it.
    fn nothing(&self) -> &'static str {
        NOTHING[usize::from(self.is_long)]
    }

    /// Calls git on the workspace's files with the index of snapshots.
    pub(super) fn call<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, SnapshotError> {
        let (root, index) = self.tray();
        self.call_on(Tray { root: &root, index: &index }, arguments, None)
    }

    /// The same, with a list to read.
    pub(super) fn call_with<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        list: &[u8],
    ) -> Result<Vec<u8>, SnapshotError> {
        let (root, index) = self.tray();
        self.call_on(Tray { root: &root, index: &index }, arguments, Some(list))
    }

    /// The first line of what git says.
    pub(super) fn word<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, SnapshotError> {
        Ok(line(&self.call(arguments)?))
    }

    /// Calls git on other files than the workspace's.
    pub(super) fn call_on<A: Into<OsString>>(
        &self,
        tray: Tray<'_>,
        arguments: impl IntoIterator<Item = A>,
        list: Option<&[u8]>,
    ) -> Result<Vec<u8>, SnapshotError> {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let mut tool = self.tool(tray).args(arguments.clone());
        if let Some(list) = list {
            tool = tool.reading(self.list(list)?);
        }
        let answer = run(&tool)?;
        Ok(succeeded("git", tray.root, &arguments, answer)?)
    }

    /// A list that git is to read, in a file: it may be as long as it likes.
    fn list(&self, list: &[u8]) -> Result<File, SnapshotError> {
        let write = || -> io::Result<File> {
            let mut file = locked_list(&self.folder)?;
            file.set_len(0)?;
            file.write_all(list)?;
            file.rewind()?;
            Ok(file)
        };
        write().map_err(io_error(&self.folder.join(LIST)))
    }

    /// Forgets everything that was looked at: nothing holds the objects any more that the indexes name.
    pub(super) fn forget_indexes(&self) {
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = file.path();
            if path.ends_with("index") || path.extension().is_some_and(|ending| ending == "index") {
                let _gone = fs::remove_file(path);
            }
        }
    }

    fn tool(&self, tray: Tray<'_>) -> Tool {
        // Written back, so that what was looked at once is not read again.
        let tool = self.porcelain.tool("git", tray.root).set("GIT_OPTIONAL_LOCKS", "1");
        let mut tool = tool.set("GIT_DIR", self.folder.join("git"));
        // Snapshots are nobody's, so that they can be made where git knows no name.
        for who in ["AUTHOR", "COMMITTER"] {
            tool = tool.set(format!("GIT_{who}_NAME"), "AgentOS");
            tool = tool.set(format!("GIT_{who}_EMAIL"), "agentos@localhost");
        }
        tool.set("GIT_WORK_TREE", tray.root)
            .set("GIT_INDEX_FILE", tray.index)
            .set("GIT_OBJECT_DIRECTORY", self.workspace.repository.join("objects"))
            .set("GIT_ATTR_NOSYSTEM", "1")
            .set("GIT_ATTR_SOURCE", self.nothing())
            .holding(Arc::clone(&self.alone))
            .output_bytes(OUTPUT_BYTES)
            .args(QUIETLY)
            .args(EXACTLY)
    }
}

/// The file for lists. Whoever has it has its lock.
fn locked_list(folder: &Path) -> io::Result<File> {
    let path = folder.join(LIST);
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Names, each ended by a zero byte.
pub(super) fn zero_ended<'a>(names: impl IntoIterator<Item = &'a Path>) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        list.extend_from_slice(name.as_os_str().as_bytes());
        list.push(0);
    }
    list
}

/// The file system refused.
pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> SnapshotError {
    let path = path.to_owned();
    move |source| SnapshotError::Io { path, source }
}
