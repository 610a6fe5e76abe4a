//! Locks that a process holds and that end with it: `flock` on a file.
//!
//! A lock file may be removed under whoever waits for it (`git clean -fdx`). So after a lock was taken its path is
//! looked at again: it counts only if the path still names the file that is locked.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Which file something is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The file that the path names, if there is one. Follows symbolic links.
    pub(super) fn of_path(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Self { device: found.dev(), inode: found.ino() })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of_file(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }
}

/// The lock for which every writer of one database waits in turn.
///
/// SQLite has a lock of its own for this, but whoever does not get it sleeps and asks again, and in a crowd some ask in
/// vain for seconds. The kernel wakes the waiters of a `flock`.
#[derive(Debug)]
pub(super) struct WriterLock {
    path: PathBuf,
    file: File,
    identity: FileIdentity,
}

impl WriterLock {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let file = open_lock_file(&path)?;
        let identity = FileIdentity::of_file(&file)?;
        Ok(Self { path, file, identity })
    }

    /// Waits until the lock is ours. It is given back when the guard is dropped, or the process ends.
    pub(super) fn lock(&mut self) -> io::Result<WriterGuard<'_>> {
        loop {
            flock_patiently(&self.file, FlockOperation::LockExclusive)?;
            if FileIdentity::of_path(&self.path)? == Some(self.identity) {
                return Ok(WriterGuard { file: &self.file });
            }
            *self = Self::open(self.path.clone())?;
        }
    }

    /// Waits until the lock is ours, and keeps it until this is dropped or the process ends.
    pub(super) fn hold(mut self) -> io::Result<Self> {
        // The guard would give it back; dropping the file does that as well.
        let _held = std::mem::ManuallyDrop::new(self.lock()?);
        Ok(self)
    }

    /// Takes the lock if that needs no waiting.
    pub(super) fn try_lock(&mut self) -> io::Result<Option<WriterGuard<'_>>> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let guard = WriterGuard { file: &self.file };
        // One that lost its name is no lock; whoever waits opens it again.
        let is_ours = FileIdentity::of_path(&self.path)? == Some(self.identity);
        Ok(is_ours.then_some(guard))
    }
}

pub(super) struct WriterGuard<'a> {
    file: &'a File,
}

impl WriterGuard<'_> {
    /// Touches the lock file: whoever watches it learns that there is something to be seen. (The write-ahead log changes
    /// a moment *before* that.)
    pub(super) fn ring(&self) {
        // Whoever misses this one sees the change with the next.
        let _rung = self.file.write_at(b"\n", 0);
    }
}

impl Drop for WriterGuard<'_> {
    fn drop(&mut self) {
        // It can't fail on a lock that is held; if it did, the lock would end with the file.
        let _unlocked = flock(self.file, FlockOperation::Unlock);
    }
}

/// Makes a file that is locked from the moment it can be found.
pub(super) fn create_locked(path: &Path, text: &str) -> io::Result<File> {
    let unfinished = path.with_extension("new");
    fs::write(&unfinished, text)?;
    let file = File::open(&unfinished)?;
    flock_patiently(&file, FlockOperation::LockExclusive)?;
    fs::rename(&unfinished, path)?;
    Ok(file)
}

/// Whether somebody holds the lock of this file. A file that is not there is held by nobody.
pub(super) fn is_held(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // Shared, so that two who look at once do not take each other for the holder.
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn open_lock_file(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

fn flock_patiently(file: &File, operation: FlockOperation) -> io::Result<()> {
    loop {
        match flock(file, operation) {
            Err(rustix::io::Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}
