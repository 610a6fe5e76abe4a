//! The Unix socket: a file that only its user can open, in a folder that only its user can enter.
//!
//! A lock beside it says whether somebody listens. Whoever has the lock may remove what a dead server has left; a socket
//! that somebody listens at is not taken away from them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;
use tokio::net::UnixListener;

/// Why there is no Unix socket.
#[derive(Debug, Error)]
pub enum SocketFileError {
    /// Another server is there.
    #[error("another server listens at {}", path.display())]
    Taken {
        /// The socket.
        path: PathBuf,
    },
    /// Others could enter.
    #[error("{} is not a folder of this user alone; `chmod 700` it, or choose another", folder.display())]
    Shared {
        /// The folder.
        folder: PathBuf,
    },
    /// The system refused.
    #[error("the socket {} can't be made: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A Unix socket that is listened at. It is removed when this is dropped.
#[derive(Debug)]
pub struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
    /// Held while we listen.
    _lock: File,
}

impl SocketFile {
    /// Listens there. The folder is made if there is none.
    ///
    /// # Errors
    /// [`SocketFileError`]
    pub fn bind(path: impl Into<PathBuf>) -> Result<Self, SocketFileError> {
        let path = path.into();
        let refused = |source| SocketFileError::Io { path: path.clone(), source };
        let folder = path.parent().ok_or_else(|| refused(io::ErrorKind::InvalidInput.into()))?;
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(refused)?;
        if !is_private(folder).map_err(refused)? {
            return Err(SocketFileError::Shared { folder: folder.to_owned() });
        }
        let Some(lock) = take_lock(&path.with_extension("lock")).map_err(refused)? else {
            return Err(SocketFileError::Taken { path });
        };
        let listener = bind(&path).map_err(refused)?;
        Ok(Self { listener, path, _lock: lock })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // What is left is replaced by the next.
        let _left = fs::remove_file(&self.path);
    }
}

fn is_private(folder: &Path) -> io::Result<bool> {
    let found = folder.metadata()?;
    Ok(found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0)
}

/// The lock, if nobody has it.
fn take_lock(path: &Path) -> io::Result<Option<File>> {
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}
