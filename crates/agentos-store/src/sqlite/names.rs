//! The names of an open database: do they still name the files that are open?
//!
//! A database is three files, its write-ahead log and the log's index among them. Whoever removes or replaces one of them
//! takes something away that was answered for, so all three are looked at. Whether the file was removed or only moved is
//! told by its link count, through a descriptor that stands for the file without opening it: closing one that has opened
//! it would give up every lock that SQLite holds there for this process.

use std::path::{Path, PathBuf};

use super::error::{Done, Fault};
use super::lock::FileIdentity;
use super::probe::{beside, has_bytes};
use super::reader::History;
use crate::backend::{BackendError, BackendErrorKind};

/// What became of the names of a database while it was open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// They name what they named.
    AsBefore,
    /// The file has no name any more: only those who have it open have it.
    Removed,
    /// The file has its name, but its log or the index has none.
    LogRemoved,
    /// The file has its name, but somebody has begun another log.
    LogReplaced,
    /// The file lives on under another name.
    Moved {
        /// Where it is now, if the system tells.
        to: Option<PathBuf>,
    },
    /// The name stands for another file.
    Replaced {
        /// Whether the one that is open has another name.
        lives_on: bool,
    },
}

/// The files that the names stood for when the database was opened.
#[derive(Debug)]
pub(super) struct Names {
    path: PathBuf,
    log_path: PathBuf,
    index_path: PathBuf,
    file: FileIdentity,
    log: FileIdentity,
    index: FileIdentity,
    handle: handle::Handle,
}

impl Names {
    /// To be asked after the database was opened and read, since that makes the log and its index.
    pub(super) fn of(path: &Path) -> Done<Self> {
        let (log_path, index_path) = (beside(path, "-wal"), beside(path, "-shm"));
        let found = |path: &Path| {
            identity_of(path)?.ok_or_else(|| {
                let message = format!("{} was removed while it was opened", path.display());
                Fault::Store(BackendError::new(BackendErrorKind::Transient, message))
            })
        };
        let (file, log, index) = (found(path)?, found(&log_path)?, found(&index_path)?);
        let (path, handle) = (path.to_owned(), handle::Handle::of(path));
        Ok(Self { path, log_path, index_path, file, log, index, handle })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn history(&self, store_id: String) -> History {
        History { file: self.file, log: self.log, store_id }
    }

    /// What the names stand for now.
    pub(super) fn fate(&self) -> Done<Fate> {
        let found = identity_of(&self.path)?;
        if found == Some(self.file) {
            return self.fate_of_the_log();
        }
        Ok(match (found, self.handle.lives_on()) {
            (Some(_), lives_on) => Fate::Replaced { lives_on },
            (None, true) => Fate::Moved { to: self.handle.path() },
            (None, false) => Fate::Removed,
        })
    }

    /// Whether the log that is open still has its name.
    pub(super) fn has_own_log(&self) -> Done<bool> {
        Ok(identity_of(&self.log_path)? == Some(self.log))
    }

    fn fate_of_the_log(&self) -> Done<Fate> {
        let (found, index) = (identity_of(&self.log_path)?, identity_of(&self.index_path)?);
        if found == Some(self.log) && index == Some(self.index) {
            return Ok(Fate::AsBefore);
        }
        // A reader that came after the log was removed has made an empty one.
        let is_other = found.is_some_and(|found| found != self.log) && has_bytes(&self.log_path);
        Ok(if is_other { Fate::LogReplaced } else { Fate::LogRemoved })
    }
}

pub(super) fn identity_of(path: &Path) -> Done<Option<FileIdentity>> {
    FileIdentity::of_path(path).map_err(|error| Fault::io("can't look at", path, &error))
}

#[cfg(target_os = "linux")]
mod handle {
    use std::fs;
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::path::{Path, PathBuf};

    use rustix::fs::{Mode, OFlags, fstat, open};

    /// Stands for a file without having opened it (`O_PATH`).
    #[derive(Debug)]
    pub(super) struct Handle(Option<OwnedFd>);

    impl Handle {
        pub(super) fn of(path: &Path) -> Self {
            Self(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok())
        }

        /// Whether the file has a name anywhere.
        pub(super) fn lives_on(&self) -> bool {
            let found = self.0.as_ref().and_then(|file| fstat(file).ok());
            found.is_some_and(|found| found.st_nlink > 0)
        }

        pub(super) fn path(&self) -> Option<PathBuf> {
            let file = self.0.as_ref()?;
            fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod handle {
    use std::path::{Path, PathBuf};

    /// This system has no descriptors that can be closed without giving up locks: a file that was moved looks removed.
    #[derive(Debug)]
    pub(super) struct Handle;

    impl Handle {
        pub(super) const fn of(_path: &Path) -> Self {
            Self
        }

        pub(super) const fn lives_on(&self) -> bool {
            false
        }

        pub(super) const fn path(&self) -> Option<PathBuf> {
            None
        }
    }
}
