//! Owners: each holds a lock file beside the database for as long as its process lives.
//!
//! Death means that the lock can be taken. That needs no heartbeat, survives a suspended machine, and is seen across pid
//! namespaces. The name of an owner is never used twice, so one that is dead stays dead.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_core::id::OwnerId;

use super::error::{Done, Fault};
use super::{hung, lock};

/// A process that may own runs, for as long as this exists.
#[derive(Debug)]
pub struct Owner {
    id: OwnerId,
    owners: Owners,
}

impl Owner {
    /// The name under which it claims runs.
    #[must_use]
    pub const fn id(&self) -> OwnerId {
        self.id
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.owners.held().remove(&self.id);
        // Without its lock it is dead; a file left behind is cleared away by whoever opens the store next.
        let _removed = fs::remove_file(self.owners.lock_file(self.id));
    }
}

/// The folder of the lock files, and the locks that this process holds there.
#[derive(Debug, Clone)]
pub(super) struct Owners {
    folder: PathBuf,
    held: Arc<Mutex<BTreeMap<OwnerId, File>>>,
}

impl Owners {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, held: Arc::default() }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<OwnerId, File>> {
        // Nothing in there is ever half done.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new owner, which lives until it is dropped or the process ends.
    pub(super) fn enlist(&self, id: OwnerId) -> Done<Owner> {
        let lock = self.lock(id)?;
        self.held().insert(id, lock);
        Ok(Owner { id, owners: self.clone() })
    }

    fn lock(&self, id: OwnerId) -> Done<File> {
        let failed =
            |error: io::Error| Fault::io("can't make the owner's lock in", &self.folder, &error);
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let said = hung::Said::of_this_process().text();
        lock::create_locked(&self.lock_file(id), &said).map_err(failed)
    }

    /// Makes the lock files of this process's owners again that somebody has removed: those who live are not to be taken
    /// for dead because of a `git clean`.
    pub(super) fn restore(&self) -> Done<()> {
        for (id, held) in self.held().iter_mut() {
            if !self.lock_file(*id).exists() {
                *held = self.lock(*id)?;
            }
        }
        Ok(())
    }

    pub(super) fn is_alive(&self, owner: OwnerId) -> Done<bool> {
        // Nobody has to be asked about who lives in this very process.
        if self.held().contains_key(&owner) {
            return Ok(true);
        }
        let path = self.lock_file(owner);
        lock::is_held(&path).map_err(|error| Fault::io("can't look at", &path, &error))
    }

    /// Those who live, by the names of their lock files.
    pub(super) fn living(&self) -> Done<Vec<String>> {
        let mut living = Vec::new();
        for path in self.lock_files()? {
            if lock::is_held(&path).map_err(|error| Fault::io("can't look at", &path, &error))?
                && let Some(name) = path.file_stem()
            {
                living.push(name.to_string_lossy().into_owned());
            }
        }
        Ok(living)
    }

    /// Removes what the dead have left behind.
    pub(super) fn clear_away(&self) -> Done<()> {
        for path in self.lock_files()? {
            if matches!(lock::is_held(&path), Ok(false)) {
                // Somebody else may have been faster.
                let _removed = fs::remove_file(&path);
            }
        }
        Ok(())
    }

    pub(super) fn lock_file(&self, owner: OwnerId) -> PathBuf {
        self.folder.join(format!("{owner}.lock"))
    }

    fn lock_files(&self) -> Done<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Fault::io("can't read", &self.folder, &error)),
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        Ok(paths.filter(|path| is_lock_file(path)).collect())
    }
}

fn is_lock_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}
