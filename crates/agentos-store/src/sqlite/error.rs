//! What SQLite and the file system say, in the words of the store.

use std::io;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::backend::{BackendError, BackendErrorKind};

/// Why a piece of work on the database came to nothing. Concerns everything that shares its transaction.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// We refused, or the file system did.
    Store(BackendError),
}

impl Fault {
    pub(super) fn permanent(message: impl Into<String>) -> Self {
        Self::Store(BackendError::new(BackendErrorKind::Permanent, message))
    }

    pub(super) fn io(what: &str, path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => BackendErrorKind::Full,
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => BackendErrorKind::Transient,
            _ => BackendErrorKind::Permanent,
        };
        Self::Store(BackendError::new(kind, format!("{what} {}: {error}", path.display())))
    }

    /// Whether the connection itself is in doubt, so that a new one is needed.
    pub(super) fn is_of_the_file(&self) -> bool {
        matches!(
            self.code(),
            Some(
                ErrorCode::SystemIoFailure
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::CannotOpen
                    | ErrorCode::ReadOnly
                    | ErrorCode::NotADatabase
                    | ErrorCode::FileLockingProtocolFailed
            )
        )
    }

    /// Whether the system refused to write.
    pub(super) fn is_failed_write(&self) -> bool {
        let Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) = self else { return false };
        error.extended_code == ffi::SQLITE_IOERR_WRITE
    }

    /// Whether the system refused to make a file larger.
    pub(super) fn is_failed_growth(&self) -> bool {
        let Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) = self else { return false };
        matches!(error.extended_code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE)
    }

    /// Whether a commit that failed so has certainly not been applied: SQLite could not write all of it down.
    pub(super) fn proves_nothing_applied(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy))
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            Self::Store(_) => None,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<BackendError> for Fault {
    fn from(error: BackendError) -> Self {
        Self::Store(error)
    }
}

impl From<Fault> for BackendError {
    fn from(fault: Fault) -> Self {
        let error = match fault {
            Fault::Store(error) => return error,
            Fault::Sqlite(error) => error,
        };
        let (kind, advice) = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                (BackendErrorKind::Full, "; make room on that disk, then try again")
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                (BackendErrorKind::Transient, "; another program holds the database")
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => {
                (BackendErrorKind::Transient, "")
            }
            Some(ErrorCode::ReadOnly) => {
                (BackendErrorKind::Permanent, "; make the file and its directory writable")
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                (BackendErrorKind::Damaged, "")
            }
            Some(ErrorCode::TooBig) => (BackendErrorKind::Permanent, "; make it an artifact"),
            _ => (BackendErrorKind::Permanent, ""),
        };
        Self::new(kind, format!("{error}{advice}"))
    }
}

/// The answer of a piece of work on the database.
pub(super) type Done<T> = Result<T, Fault>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_commit_that_could_not_be_written_down_was_certainly_not_applied() {
        let fault = |code| Fault::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        for known in [ffi::SQLITE_FULL, ffi::SQLITE_BUSY] {
            assert!(fault(known).proves_nothing_applied());
        }
        for unknown in [ffi::SQLITE_IOERR, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_CORRUPT] {
            assert!(!fault(unknown).proves_nothing_applied());
        }
        assert!(!Fault::permanent("we refused").proves_nothing_applied());
    }
}
