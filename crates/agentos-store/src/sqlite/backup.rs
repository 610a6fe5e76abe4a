//! A copy of the database in another file, made while others may write.
//!
//! SQLite's backup copies one state of the database, as of one moment, whatever is in the write-ahead log. The copy is written beside
//! its final name and gets that name when it is whole, checked and on disk: no one finds half a backup.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use thiserror::Error;

use super::error::{Done, Fault};
use super::restore::{remove_if_there, sync_folder};
use crate::backend::BackendError;

/// Why there is no backup. Nothing of it is left.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BackupError {
    /// A file of that name exists.
    #[error("{} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The database can't be read, or the copy not be written.
    #[error("cannot back up to {}: {source}", path.display())]
    Backend {
        /// The file.
        path: PathBuf,
        /// Why.
        source: BackendError,
    },
}

impl From<BackendError> for BackupError {
    fn from(source: BackendError) -> Self {
        Self::Backend { path: PathBuf::new(), source }
    }
}

/// Copies the whole database to a file that does not exist. Returns its size in bytes.
pub(super) fn backup(source: &Connection, to: &Path) -> Done<Result<u64, BackupError>> {
    let exists = || Ok(Err(BackupError::Exists { path: to.to_owned() }));
    if to.symlink_metadata().is_ok() {
        return exists();
    }
    let partial = partial_name(to);
    let copied = copy(source, &partial).and_then(|bytes| {
        // Unlike a rename, a link never replaces a file that has appeared meanwhile.
        match fs::hard_link(&partial, to) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(Fault::io("cannot name the copy", to, &error)),
        }
    });
    let removed = remove_if_there(&partial);
    let Some(bytes) = copied? else { return exists() };
    removed.map_err(|error| Fault::io("cannot remove", &partial, &error))?;
    sync_folder(to).map_err(|error| Fault::io("cannot write down the name of", to, &error))?;
    Ok(Ok(bytes))
}

fn partial_name(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    name.into()
}

fn copy(source: &Connection, partial: &Path) -> Done<u64> {
    // Only its owner may read it: it holds what commands and agents have written.
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial);
    created.map_err(|error| Fault::io("cannot create", partial, &error))?;
    let mut target = Connection::open(partial)?;
    target.pragma_update(None, "synchronous", "full")?;
    {
        let backup = Backup::new(source, &mut target)?;
        // All pages in one step: of one state of the database, though others go on writing.
        while backup.step(-1)? != StepResult::Done {
            std::thread::yield_now();
        }
    }
    // One file that needs no log beside it.
    target.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    let verdict: String = target.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Fault::permanent(format!("the copy is damaged: {verdict}")));
    }
    target.close().map_err(|(_, error)| error)?;
    let length = fs::metadata(partial).map(|found| found.len());
    length.map_err(|error| Fault::io("cannot look at", partial, &error))
}
