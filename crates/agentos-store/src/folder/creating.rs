//! Folders of runs that are about to be created.
//!
//! A run's folder is made before the run: its input files are copied there. A process that dies in between leaves a folder of
//! a run that never came to be. So there is a file beside the folder, `.creating-{id}`, which that process has locked: if
//! no process has the lock and no database knows the run, it will never be created. Databases are asked while the lock is held:
//! a process that has let go of it has created the run, or never will.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agentos_core::id::RunId;

use super::FolderError;

const PREFIX: &str = ".creating-";

/// That this process is about to create a run, for as long as it is kept.
#[derive(Debug)]
pub struct Creating(#[expect(dead_code, reason = "it is locked")] File);

impl Creating {
    pub(super) fn begin(folder: &Path) -> Result<Self, FolderError> {
        let path = beside(folder);
        locked(&path).map(Self).map_err(FolderError::at(&path))
    }
}

/// Makes the file and locks it. A process that has found it in between, without a lock, may have removed it: then it is made
/// again.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = File::create(path)?;
        file.lock()?;
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Whether the file is still found at this path.
fn is_at(file: &File, path: &Path) -> bool {
    let found = fs::metadata(path).and_then(|found| Ok((found, file.metadata()?)));
    found.is_ok_and(|(found, file)| (found.dev(), found.ino()) == (file.dev(), file.ino()))
}

/// The run is there.
pub(super) fn end(folder: &Path) {
    let _none = fs::remove_file(beside(folder));
}

fn beside(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!("{PREFIX}{name}"))
}

/// Whether a process is, or was, about to create the run of a folder.
#[must_use]
pub fn is_being_created(folder: &Path) -> bool {
    beside(folder).exists()
}

/// A run that a process was about to create which is dead. No other process looks at it while this is kept.
#[derive(Debug)]
pub struct Left {
    /// The run, which may have been created all the same.
    pub run: RunId,
    /// Its folder.
    pub folder: PathBuf,
    #[expect(dead_code, reason = "it is locked")]
    lock: File,
}

impl Left {
    /// Removes what is left of a run that was never created. Only for a run that no database knew while this was kept.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn remove(self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::remove_file(beside(&self.folder)),
        }
    }

    /// The run was created, and its folder stays.
    pub fn forget(self) {
        end(&self.folder);
    }
}

/// The runs in this folder of executions that dead processes were about to create.
#[must_use]
pub fn find_creating(executions: &Path) -> Vec<Left> {
    let entries = fs::read_dir(executions).into_iter().flatten().flatten();
    let left = entries.filter_map(|entry| {
        let name = entry.file_name();
        let id = name.to_str()?.strip_prefix(PREFIX)?;
        let run = id.parse().ok().map(RunId)?;
        let lock = File::open(entry.path()).ok()?;
        // The process that creates it has the lock; once the run is there the file goes.
        let is_left = lock.try_lock().is_ok() && is_at(&lock, &entry.path());
        is_left.then(|| Left { run, folder: executions.join(id), lock })
    });
    left.collect()
}
