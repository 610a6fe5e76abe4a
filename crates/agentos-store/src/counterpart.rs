//! Runs that another database has, too, and that go on there.
//!
//! A run that has not ended is driven from one database only: two processes that drive copies of it would do everything
//! twice. So a file beside a database names each run in it that is only a copy, or that was moved away, with the other
//! database. Such a run is never due here, and can be neither claimed nor sent a message here. The file counts for as long as
//! the other database exists. Where one can't be read, it is not known from which database the run goes on, so it does not go
//! on here.
//!
//! A store looks for the file inside the transaction of a claim or a message. So a process that has made one, and has then
//! waited for the writers ([`SqliteStore::wait_for_writers`](crate::sqlite::SqliteStore::wait_for_writers)), finds every
//! claim and every message that was accepted, and none is accepted after that.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentos_core::id::RunId;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

/// Why a run does not go on in this database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It is a copy of a run that goes on in the other database.
    Copy,
    /// It was moved to the other database.
    Moved,
}

/// The other database that has a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterpart {
    /// Why the run does not go on here.
    pub reason: Reason,
    /// The other database's file.
    pub database: PathBuf,
}

impl fmt::Display for Counterpart {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.database.display();
        match self.reason {
            Reason::Copy => write!(to, "held, goes on in {database}"),
            Reason::Moved => write!(to, "moved to {database}"),
        }
    }
}

/// A file that is to say where a run goes on can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} can't be read, so it is not known from which database it goes on: {reason}", file.display())]
pub struct UnreadableNote {
    /// The file.
    pub file: PathBuf,
    /// Why it can't be read.
    pub reason: String,
    /// The error of the system, if that is the reason.
    os_error: Option<i32>,
}

impl UnreadableNote {
    /// The error of the system, if that says nothing about the note: the process may have too many files open, or the disk be
    /// away.
    pub(crate) fn system_error(&self) -> Option<io::Error> {
        let error = self.os_error.map(io::Error::from_raw_os_error)?;
        (error.kind() != io::ErrorKind::PermissionDenied).then_some(error)
    }
}

/// Why a run does not go on in this database.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ElsewhereError {
    /// It goes on in another one.
    #[error("{0}")]
    Counterpart(Counterpart),
    /// That is not known.
    #[error(transparent)]
    Unreadable(#[from] UnreadableNote),
}

/// The runs of a database that go on in another one.
#[derive(Debug, Clone)]
pub struct Counterparts {
    folder: PathBuf,
}

impl Counterparts {
    /// Those of this database.
    #[must_use]
    pub fn of(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".elsewhere");
        Self { folder: folder.into() }
    }

    /// Finds where a run goes on, if not here.
    ///
    /// # Errors
    /// [`UnreadableNote`] if there is a note that can't be read.
    pub fn find(&self, run: RunId) -> Result<Option<Counterpart>, UnreadableNote> {
        let file = self.folder.join(run.to_string());
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let (reason, os_error) = (error.to_string(), error.raw_os_error());
                return Err(UnreadableNote { file, reason, os_error });
            }
        };
        match serde_json::from_slice::<Counterpart>(&text) {
            // One that can't be looked at may be there.
            Ok(found) => Ok(found.database.try_exists().unwrap_or(true).then_some(found)),
            Err(error) => Err(UnreadableNote { file, reason: error.to_string(), os_error: None }),
        }
    }

    /// Checks that a run goes on here.
    ///
    /// # Errors
    /// [`ElsewhereError`] if it does not, or if that is not known.
    pub fn check(&self, run: RunId) -> Result<(), ElsewhereError> {
        match self.find(run)? {
            Some(other) => Err(ElsewhereError::Counterpart(other)),
            None => Ok(()),
        }
    }

    /// Notes where a run goes on. A reader sees the old note or the new one, never a part. The note outlasts a power cut from
    /// the moment that this returns.
    ///
    /// # Errors
    /// The file can't be made.
    pub fn note(&self, run: RunId, counterpart: &Counterpart) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(run.to_string());
        let unfinished = self.folder.join(format!(".{run}.new"));
        fs::write(&unfinished, serde_json::to_vec(counterpart)?)?;
        fs::File::open(&unfinished)?.sync_all()?;
        fs::rename(&unfinished, path)?;
        sync(&self.folder)?;
        // The folder may be new as well, also if a process was killed that has made it.
        self.folder.parent().map_or(Ok(()), sync)
    }

    /// Lets a run go on here, also after a power cut.
    ///
    /// # Errors
    /// The file can't be removed.
    pub fn forget(&self, run: RunId) -> io::Result<()> {
        match fs::remove_file(self.folder.join(run.to_string())) {
            Ok(()) => sync(&self.folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// All runs that do not go on here, or of which that is not known.
    #[must_use]
    pub fn all(&self) -> HashSet<RunId> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ids = entries
            .filter_map(|entry| Uuid::parse_str(entry.file_name().to_str()?).ok().map(RunId));
        ids.filter(|run| self.check(*run).is_err()).collect()
    }
}

/// Forces the names in a folder to disk.
fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_while_the_other_database_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        let counterparts = Counterparts::of(&folder.path().join("x.db"));
        let run = RunId(Uuid::from_u128(1));
        assert_eq!((counterparts.find(run), counterparts.all().len()), (Ok(None), 0));
        let database = folder.path().join("other.db");
        fs::write(&database, "").expect("a file");
        let noted = Counterpart { reason: Reason::Copy, database: database.clone() };
        counterparts.note(run, &noted).expect("it is noted");
        assert_eq!(counterparts.find(run), Ok(Some(noted.clone())));
        assert_eq!(counterparts.check(run), Err(ElsewhereError::Counterpart(noted)));
        assert_eq!(counterparts.all(), HashSet::from([run]));
        fs::remove_file(&database).expect("it goes");
        assert_eq!((counterparts.check(run), counterparts.all().len()), (Ok(()), 0));
        fs::write(&database, "").expect("a file");
        counterparts.forget(run).expect("it is forgotten");
        counterparts.forget(run).expect("once is enough");
        assert_eq!(counterparts.find(run), Ok(None));
    }

    #[test]
    fn a_run_whose_note_can_not_be_read_does_not_go_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("x.db");
        let counterparts = Counterparts::of(&database);
        let run = RunId(Uuid::from_u128(1));
        let noted = Counterpart { reason: Reason::Moved, database };
        counterparts.note(run, &noted).expect("it is noted");
        let file = folder.path().join("x.db.elsewhere").join(run.to_string());
        for text in ["", "{\"reason\": \"moved\""] {
            fs::write(&file, text).expect("a file");
            let unreadable = counterparts.find(run).expect_err("it can't be read");
            assert!(unreadable.to_string().starts_with(&format!("{} can't", file.display())));
            assert_eq!(counterparts.check(run), Err(ElsewhereError::Unreadable(unreadable)));
            assert_eq!(counterparts.all(), HashSet::from([run]));
        }
        counterparts.forget(run).expect("it is forgotten");
        assert_eq!(counterparts.check(run), Ok(()));
    }
}
