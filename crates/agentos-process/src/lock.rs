//! Locks that a process holds and that end with it: `flock` on a file of an operation's directory, or on the directory.
//!
//! Whoever looks whether a lock is held takes it for an instant. So somebody who wants it for himself tries more than once
//! before he believes that it is held.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::clock::{moment, pause};

/// Takes the lock for us alone, if nobody holds it for longer than an instant. It is held until the file is dropped, or the
/// process ends.
pub(crate) fn take(path: &Path, timeout: Duration) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(path)?;
    let until = moment() + timeout;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK) if moment() < until => pause(Duration::from_millis(1)),
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shares the lock of a directory. Waits for whoever has it alone, which is never for long.
pub(crate) fn share(directory: &Path) -> io::Result<File> {
    let file = File::open(directory)?;
    loop {
        match flock(&file, FlockOperation::LockShared) {
            Ok(()) => return Ok(file),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether somebody holds the lock alone. A file that is not there is held by nobody.
pub(crate) fn is_taken(path: &Path) -> io::Result<bool> {
    is_refused(path, FlockOperation::NonBlockingLockShared)
}

/// Whether somebody shares the lock.
pub(crate) fn is_shared(path: &Path) -> io::Result<bool> {
    is_refused(path, FlockOperation::NonBlockingLockExclusive)
}

fn is_refused(path: &Path, operation: FlockOperation) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match flock(&file, operation) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
