//! A database that is about to be hidden by a link, or to come in the place of one.
//!
//! Whoever changes what a path stands for holds the writer lock of that path: nobody commits meanwhile, and whoever waits
//! for the lock looks again when it has it. Those who had the old file open find that its name stands for another history,
//! and write nothing more ([`super::restore`]). The change itself is one `rename`.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::connection;
use super::error::Fault;
use super::lock::WriterLock;
use super::open::{OpenError, make_folder};
use super::owner::Owners;
use super::probe::{Found, beside, probe};
use super::restore::{remove_if_there, sync_folder};
use crate::backend::BackendError;

/// Most databases that are kept beside a link.
const KEPT: u32 = 1_000;

/// Why a database can't give way. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RetireError {
    /// Somebody is at work in it.
    #[error("somebody is at work in {}", path.display())]
    InUse {
        /// The database.
        path: PathBuf,
        /// Who lives there.
        owners: Vec<String>,
    },
    /// It can't be used as it is.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file system or SQLite refused.
    #[error("{} can't be changed: {source}", path.display())]
    Backend {
        /// The file.
        path: PathBuf,
        /// Why.
        source: BackendError,
    },
}

/// The place of a database, held: until this is dropped nobody commits to what is there.
#[derive(Debug)]
pub struct HeldPlace {
    path: PathBuf,
    owners: Owners,
    _lock: WriterLock,
}

impl HeldPlace {
    /// Takes the writer lock of this path, whatever is there. Its folder is made if there is none.
    ///
    /// # Errors
    /// [`RetireError`]
    pub fn hold(path: &Path) -> Result<Self, RetireError> {
        let failed = |fault: Fault| backend(path, fault);
        let folder = path.parent().unwrap_or(Path::new("/"));
        make_folder(folder).map_err(failed)?;
        let real = folder
            .canonicalize()
            .map_err(|error| failed(Fault::io("can't find", folder, &error)))?;
        let path = real.join(path.file_name().unwrap_or_default());
        let io_failed = |error: io::Error| backend(&path, Fault::io("can't lock", &path, &error));
        let lock = WriterLock::open(beside(&path, ".lock")).map_err(io_failed)?;
        let lock = lock.hold().map_err(io_failed)?;
        let owners = Owners::new(beside(&path, ".owners"));
        Ok(Self { path, owners, _lock: lock })
    }

    /// The path, with every link of its folder followed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the path leads if it is a link.
    #[must_use]
    pub fn link(&self) -> Option<PathBuf> {
        fs::read_link(&self.path).ok()
    }

    /// Whether a database of ours is there, itself and not by a link.
    ///
    /// # Errors
    /// [`RetireError`] if it is anything else, or somebody is at work in it.
    pub fn has_database(&self) -> Result<bool, RetireError> {
        if self.link().is_some() {
            return Ok(false);
        }
        let found = probe(&self.path)? == Found::Ours;
        let living = self.owners.living().map_err(|fault| backend(&self.path, fault))?;
        if !living.is_empty() {
            return Err(RetireError::InUse { path: self.path.clone(), owners: living });
        }
        Ok(found)
    }

    /// Puts a link to `target` in the place of what is there. With `keep` that is kept beside it, and the answer says
    /// where.
    ///
    /// # Errors
    /// [`RetireError`]; then what was there is still there.
    pub fn replace_by_link(
        &self,
        target: &Path,
        keep: bool,
    ) -> Result<Option<PathBuf>, RetireError> {
        let failed =
            |error: io::Error| backend(&self.path, Fault::io("can't link", &self.path, &error));
        let has_database = self.has_database()?;
        if has_database {
            self.make_whole()?;
        }
        let kept = if has_database && keep { Some(self.keep().map_err(failed)?) } else { None };
        let unfinished = beside(&self.path, ".linking");
        remove_if_there(&unfinished).map_err(failed)?;
        symlink(target, &unfinished).map_err(failed)?;
        fs::rename(&unfinished, &self.path).map_err(failed)?;
        // What is left of the log holds nothing.
        for suffix in ["-wal", "-shm"] {
            remove_if_there(&beside(&self.path, suffix)).map_err(failed)?;
        }
        sync_folder(&self.path).map_err(failed)?;
        Ok(kept)
    }

    /// Takes a link away, and puts a finished database in its place if there is one.
    ///
    /// # Errors
    /// [`RetireError`]; then the link is still there.
    pub fn replace_link_by(&self, finished: Option<&Path>) -> Result<(), RetireError> {
        let failed =
            |error: io::Error| backend(&self.path, Fault::io("can't unlink", &self.path, &error));
        match finished {
            Some(finished) => {
                connection::writing(finished)
                    .and_then(|open| Ok(open.close().map_err(|(_, error)| error)?))
                    .map_err(|fault| backend(finished, fault))?;
                for suffix in ["-wal", "-shm", ".lock"] {
                    remove_if_there(&beside(finished, suffix)).map_err(failed)?;
                }
                let _left = fs::remove_dir(beside(finished, ".owners"));
                fs::rename(finished, &self.path).map_err(failed)?;
            }
            None if self.link().is_some() => remove_if_there(&self.path).map_err(failed)?,
            None => {}
        }
        sync_folder(&self.path).map_err(failed)
    }

    /// Where a database is built that is to come into this place. What an earlier attempt has left there is removed.
    ///
    /// # Errors
    /// [`RetireError`]
    pub fn building_ground(&self) -> Result<PathBuf, RetireError> {
        let path = beside(&self.path, ".unlinking");
        for suffix in ["", "-wal", "-shm", "-journal", ".lock"] {
            let file = beside(&path, suffix);
            remove_if_there(&file)
                .map_err(|error| backend(&file, Fault::io("can't remove", &file, &error)))?;
        }
        Ok(path)
    }

    /// Moves everything into the file itself, so that it is whole without its log.
    ///
    /// # Errors
    /// [`RetireError`]
    pub fn make_whole(&self) -> Result<(), RetireError> {
        let failed = |fault: Fault| backend(&self.path, fault);
        let open = connection::writing(&self.path).map_err(failed)?;
        let busy: i64 = open
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))
            .map_err(|error| failed(error.into()))?;
        if busy != 0 {
            return Err(failed(Fault::permanent("somebody reads from it; try again")));
        }
        open.close().map_err(|(_, error)| failed(error.into()))
    }

    /// Gives the file a second name, under which it stays.
    fn keep(&self) -> io::Result<PathBuf> {
        for number in 1..=KEPT {
            let kept = beside(&self.path, &format!(".before-link-{number}"));
            match fs::hard_link(&self.path, &kept) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done.map(|()| kept),
            }
        }
        Err(io::Error::other(format!("there are {KEPT} kept databases already")))
    }
}

fn backend(path: &Path, fault: Fault) -> RetireError {
    RetireError::Backend { path: path.to_owned(), source: fault.into() }
}
