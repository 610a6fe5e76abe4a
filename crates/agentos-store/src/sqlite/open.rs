//! Opening a store: which file, and why it can't be used.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use uuid::Uuid;

use super::connection;
use super::error::Fault;
use super::file::{DatabaseFile, Tell, log_at_limit};
use super::lock::WriterLock;
use super::migrate::{self, VERSION};
use super::names::Names;
use super::owner::Owners;
use super::probe::{Found, beside, probe};
use super::restore::{remove_if_there, sync_folder};
use crate::backend::{BackendError, BackendErrorKind};
use crate::file_limit::{file_limit, too_small};

/// How large a file must be allowed to become for a new database, in bytes.
const LEAST_BYTES: u64 = 1 << 20;

/// Something happened to the file that people should know of. Nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The file was removed while it was in use, and was put back with everything that was in it.
    PutBack {
        /// The file.
        path: PathBuf,
    },
    /// The file was removed and another process has put it back; this one goes on with that.
    FoundAgain {
        /// The file.
        path: PathBuf,
    },
}

/// Why a store can't be opened. The file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OpenError {
    /// It is no database at all.
    #[error("{} is not a database; name another file, or move it away", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// It is the database of another program.
    #[error(
        "{} is a database of {program}, not of AgentOS; name another file with AGENTOS_WORKFLOW_DB",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it seems to be.
        program: &'static str,
    },
    /// A newer program wrote it.
    #[error(
        "{} has schema version {version} and this program knows versions up to {known}; use the newer program",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The latest that this program knows.
        known: u32,
    },
    /// Part of it is missing.
    #[error(
        "{} is cut off: it has only {length} bytes of what was in it; bring it back from a copy",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How long it is.
        length: u64,
    },
    /// It is a folder, a device, a pipe or a socket.
    #[error("{} is {kind} and not a file; name another", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The database is gone, and its log is not.
    #[error(
        "{} is gone but its log {} is there; a second history is not begun beside it. A program that still has the \
         database open puts it back when it commits; otherwise bring it back from a copy, or move the log away to \
         begin anew",
        path.display(),
        log.display()
    )]
    LogOnly {
        /// The database.
        path: PathBuf,
        /// What is left of it.
        log: PathBuf,
    },
    /// The path is a symbolic link to nothing.
    #[error(
        "{} is a link to {}, which does not exist; a second history is not begun there. Bring the target back or \
         remove the link",
        path.display(),
        target.display()
    )]
    Dangling {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Its log lies beside it without the index, and the index could not be made.
    #[error(
        "{} has a log beside it (-wal) without its index (-shm), which can't be made: {reason}",
        path.display()
    )]
    NoIndex {
        /// The file.
        path: PathBuf,
        /// Why the index can't be made.
        reason: String,
    },
    /// There is no database yet, and reading makes none.
    #[error("there is no database at {}", path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// The file system or SQLite refused.
    #[error("{} can't be opened: {source}", path.display())]
    Backend {
        /// The file.
        path: PathBuf,
        /// Why.
        source: BackendError,
    },
}

impl OpenError {
    pub(super) fn io(what: &str, path: &Path, error: &io::Error) -> Self {
        Self::of(path, Fault::io(what, path, error))
    }

    fn of(path: &Path, fault: Fault) -> Self {
        let source = limited(&fault, path).unwrap_or_else(|| fault.into());
        Self::Backend { path: path.to_owned(), source }
    }
}

/// Whether a database can't be opened because its files may not become large enough (`ulimit -f`).
fn limited(fault: &Fault, path: &Path) -> Option<BackendError> {
    let small = file_limit().filter(|limit| *limit < LEAST_BYTES && fault.is_failed_growth());
    let small = small.map(|limit| BackendError::new(BackendErrorKind::Permanent, too_small(limit)));
    small.or_else(|| log_at_limit(fault, path))
}

/// Where a store's files are.
#[derive(Debug, Clone)]
pub(super) struct Location {
    /// The database, with every link in its path followed.
    pub(super) path: PathBuf,
    pub(super) owners: Owners,
}

impl Location {
    /// Looks at the path and says what is there. Changes nothing.
    pub(super) fn find(path: &Path) -> Result<(Self, Found), OpenError> {
        let found = probe(path)?;
        let path = match found {
            Found::Ours => path.canonicalize(),
            // The folder may have to be made; until then the path is as good as its real one.
            Found::Nothing => path.canonicalize().or_else(|_| std::path::absolute(path)),
        }
        .map_err(|error| OpenError::io("can't be found", path, &error))?;
        let owners = Owners::new(beside(&path, ".owners"));
        Ok((Self { path, owners }, found))
    }

    /// Opens the file for writing, and makes it if there is none.
    pub(super) fn open(
        &mut self,
        found: Found,
        new_id: Uuid,
        tell: Tell,
    ) -> Result<DatabaseFile, OpenError> {
        let path = self.path.clone();
        if found == Found::Nothing
            && let Some(folder) = path.parent()
        {
            make_folder(folder).map_err(|fault| OpenError::of(&path, fault))?;
        }
        self.open_locked(new_id, tell)
    }

    fn open_locked(&mut self, new_id: Uuid, tell: Tell) -> Result<DatabaseFile, OpenError> {
        if let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) {
            let folder = folder
                .canonicalize()
                .map_err(|error| OpenError::io("can't find the folder of", &self.path, &error))?;
            self.path = folder.join(name);
        }
        let path = self.path.as_path();
        let failed = |fault: Fault| OpenError::of(path, fault);
        self.owners = Owners::new(beside(path, ".owners"));
        let owners = self.owners.clone();
        let mut lock = WriterLock::open(beside(path, ".lock"))
            .map_err(|error| OpenError::io("can't make the lock of", path, &error))?;
        let guard =
            lock.lock().map_err(|error| OpenError::io("can't take the lock of", path, &error))?;
        // Others may have been faster, so only what is seen under the lock counts.
        if path.is_symlink() {
            // It was linked meanwhile. Locks and owners are those of what it leads to.
            drop(guard);
            probe(path)?;
            self.path = path
                .canonicalize()
                .map_err(|error| OpenError::io("can't follow the link", path, &error))?;
            return self.open_locked(new_id, tell);
        }
        if probe(path)? == Found::Nothing {
            make(path, &owners, new_id).map_err(failed)?;
        }
        let mut connection = connection::writing(path).map_err(failed)?;
        // The log may say more than the header.
        let version = migrate::version(&connection).map_err(failed)?;
        if version > VERSION {
            return Err(OpenError::Newer { path: path.to_owned(), version, known: VERSION });
        }
        migrate::migrate(&mut connection, &owners, new_id).map_err(failed)?;
        let names = Names::of(path).map_err(failed)?;
        drop(guard);
        owners.clear_away().map_err(failed)?;
        DatabaseFile::new(names, connection, lock, owners, tell).map_err(failed)
    }
}

/// Makes a new database. It is made under another name, so that whoever finds it finds it finished.
fn make(path: &Path, owners: &Owners, new_id: Uuid) -> Result<(), Fault> {
    let failed = |error: io::Error| Fault::io("can't make", path, &error);
    let unfinished = beside(path, ".making");
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // Whoever was killed while making one may have left something behind.
        remove_if_there(&beside(&unfinished, suffix)).map_err(failed)?;
    }
    let mut connection = connection::writing(&unfinished)?;
    migrate::migrate(&mut connection, owners, new_id)?;
    connection.close().map_err(|(_, error)| error)?;
    // The probe has seen that the logs hold nothing. But somebody may still have them open, with a file that is gone; who
    // shares the index with him would write over what the other has written.
    for suffix in ["-wal", "-shm", "-journal"] {
        remove_if_there(&beside(path, suffix)).map_err(failed)?;
    }
    std::fs::rename(&unfinished, path).map_err(failed)?;
    sync_folder(path).map_err(failed)
}

/// Makes the folder of a database. Ours is not seen by git.
pub(super) fn make_folder(folder: &Path) -> Result<(), Fault> {
    if folder.file_name().is_some_and(|name| name == ".agentos") {
        let made = crate::folder::make_self_ignoring(folder);
        return made.map_err(|error| Fault::permanent(error.to_string()));
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| Fault::io("can't make the folder", folder, &error))
}
