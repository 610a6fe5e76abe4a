//! A database that runs are copied from: not one byte of it, nor beside it, is changed.
//!
//! One that nobody uses and that was closed properly is one file, and is read as it is. One with a log beside it (its last
//! user was killed) can't be read without SQLite writing into the log's index; so it is copied, and the copy is read. So is
//! one with an older schema, which the copy is brought up from. While somebody uses it, it is read as everybody reads it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use agentos_core::id::RunId;
use agentos_store::sqlite::{OpenError, Options, OwnerLife, SqliteStore};
use agentos_store::store::Store as _;
use uuid::Uuid;

use super::copies::CopyFolder;
use crate::error::{CommandError, Result};

/// A database that is read from.
pub(crate) struct Source {
    pub(crate) store: SqliteStore,
    /// Where it really is.
    pub(crate) path: PathBuf,
    /// Who lives there.
    pub(crate) owners: Vec<String>,
    copy: Option<CopyFolder>,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let looked = SqliteStore::open_untouched(path);
        let has_log = beside(path, "-wal").metadata().is_ok_and(|log| log.len() > 0);
        let store = match looked {
            Ok(store) => store,
            Err(OpenError::NoIndex { .. }) => return Self::of_copy(path, Vec::new()),
            Err(error @ OpenError::NotFound { .. }) => {
                return Err(CommandError::not_found(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        let owners = store.living_owners()?;
        if (has_log && owners.is_empty()) || store.has_older_schema()? {
            let path = store.path().to_owned();
            drop(store);
            return Self::of_copy(&path, owners);
        }
        Ok(Self { path: store.path().to_owned(), store, owners, copy: None })
    }

    /// Whether a process that lives drives the run. Of a copy, whose owners are not beside it, that is not known: then it is
    /// whether any lives.
    pub(crate) async fn is_driven(&self, run: RunId) -> Result<bool> {
        if self.copy.is_some() {
            return Ok(!self.owners.is_empty());
        }
        let owner = self.store.head(run).await?.owner;
        Ok(owner.is_some_and(|owner| self.store.owner_life(owner) != OwnerLife::Dead))
    }

    fn of_copy(path: &Path, owners: Vec<String>) -> Result<Self> {
        let failed = |error: io::Error| {
            CommandError::failed(format!("{} can't be copied: {error}", path.display()))
        };
        let copy = CopyFolder::make().map_err(failed)?;
        let inside = copy.path().join("source.db");
        {
            // Whoever writes waits a moment, so that file and log fit together.
            let lock = File::open(beside(path, ".lock")).ok();
            let _held = lock.as_ref().map(File::lock_shared);
            fs::copy(path, &inside).map_err(failed)?;
            match fs::copy(beside(path, "-wal"), beside(&inside, "-wal")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        let store = SqliteStore::open(&inside, Options::quiet(Uuid::new_v4()))?;
        let path = path.canonicalize().map_err(failed)?;
        Ok(Self { store, path, owners, copy: Some(copy) })
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
