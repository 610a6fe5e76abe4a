//! A copy of the database in another file, made while others may write.
//!
//! SQLite's backup copies one state of the database, as of one moment, with what is in the write-ahead log. The copy is written beside
//! its final name and gets that name when it is whole, checked and on disk: no one finds half a backup.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::StepResult;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use rustix::thread::nanosleep;
use rustix::time::Timespec;
use thiserror::Error;

use super::error::{Done, Fault};
use super::restore::{remove_if_there, sync_folder};
use crate::backend::BackendError;

/// How often a database is tried that another program has locked, and how long apart: half a minute in all.
const ATTEMPTS: u32 = 1_500;
const BUSY_NS: i64 = 20_000_000;

/// Why there is no backup. Nothing of it is left.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BackupError {
    /// A file of that name exists.
    #[error("{} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file can't be made where it is wanted.
    #[error("cannot create {}: {why}", path.display())]
    WrongPath {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
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

/// A copy of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    /// Its size in bytes.
    pub bytes: u64,
    /// How many runs are in it.
    pub runs: u64,
}

/// Copies the whole database to a file that does not exist.
pub(super) fn backup(source: &Connection, to: &Path) -> Done<Result<Backup, BackupError>> {
    let exists = || Ok(Err(BackupError::Exists { path: to.to_owned() }));
    if to.symlink_metadata().is_ok() {
        return exists();
    }
    let partial = partial_name(to);
    if let Err(error) = create(&partial) {
        return match path_mistake(to, &error) {
            Some(why) => Ok(Err(BackupError::WrongPath { path: to.to_owned(), why })),
            None => Err(Fault::io("cannot create", to, &error)),
        };
    }
    let copied = copy(source, &partial).and_then(|copied| match name(&partial, to) {
        Ok(()) => Ok(Some(copied)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(Fault::io("cannot name the copy", to, &error)),
    });
    let removed = remove_if_there(&partial);
    let Some(copied) = copied? else { return exists() };
    removed.map_err(|error| Fault::io("cannot remove", &partial, &error))?;
    sync_folder(to).map_err(|error| Fault::io("cannot write down the name of", to, &error))?;
    Ok(Ok(copied))
}

/// Gives the copy its name, unless a file of that name has appeared meanwhile.
fn name(partial: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, partial, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system knows the flag. A link never replaces a file either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::hard_link(partial, to),
        named => Ok(named?),
    }
}

/// What is wrong with the path, if that is why no file can be made there.
fn path_mistake(to: &Path, error: &io::Error) -> Option<String> {
    let folder = to.parent().unwrap_or(to).display();
    match error.kind() {
        io::ErrorKind::NotFound => Some(format!("the folder {folder} does not exist")),
        io::ErrorKind::NotADirectory => Some(format!("{folder} is no folder")),
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::InvalidFilename => Some(error.to_string()),
        _ => None,
    }
}

fn partial_name(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    name.into()
}

/// Only its owner may read it: it holds what commands and agents have written.
fn create(partial: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial).map(drop)
}

fn copy(source: &Connection, partial: &Path) -> Done<Backup> {
    let mut target = Connection::open(partial)?;
    target.pragma_update(None, "synchronous", "full")?;
    copy_pages(source, &mut target)?;
    // One file that needs no log beside it.
    target.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    let verdict: String = target.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Fault::permanent(format!("the copy is damaged: {verdict}")));
    }
    let count = "SELECT count(*) FROM workflow_runs";
    let runs = target.query_row(count, (), |row| row.get::<_, i64>(0))?.unsigned_abs();
    target.close().map_err(|(_, error)| error)?;
    let length = fs::metadata(partial).map(|found| found.len());
    let bytes = length.map_err(|error| Fault::io("cannot look at", partial, &error))?;
    Ok(Backup { bytes, runs })
}

/// Copies all pages in one step: of one state of the database, though others go on writing.
fn copy_pages(source: &Connection, target: &mut Connection) -> Done<()> {
    let copying = rusqlite::backup::Backup::new(source, target)?;
    for _ in 0..ATTEMPTS {
        if copying.step(-1)? == StepResult::Done {
            return Ok(());
        }
        // Another program has locked the whole file.
        let _interrupted = nanosleep(&Timespec { tv_sec: 0, tv_nsec: BUSY_NS });
    }
    Err(Fault::permanent("another program has locked the database"))
}
