//! Runs that another database has, too, and that go on there.
//!
//! A run that has not ended is driven from one database only: two processes that drive copies of it would do everything
//! twice. So a file beside a database names each run in it that is only a copy, or that was moved away, with the other
//! database. Such a run is never due here, and can be neither resumed nor answered here. The file counts for as long as the
//! other database exists.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentos_core::id::RunId;
use serde::{Deserialize, Serialize};
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

    /// Where a run goes on, if not here.
    #[must_use]
    pub fn find(&self, run: RunId) -> Option<Counterpart> {
        let text = fs::read(self.folder.join(run.to_string())).ok()?;
        let found: Counterpart = serde_json::from_slice(&text).ok()?;
        found.database.exists().then_some(found)
    }

    /// Notes where a run goes on. A reader sees the old note or the new one, never a part.
    ///
    /// # Errors
    /// The file can't be made.
    pub fn note(&self, run: RunId, counterpart: &Counterpart) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(run.to_string());
        let unfinished = self.folder.join(format!(".{run}.new"));
        fs::write(&unfinished, serde_json::to_vec(counterpart)?)?;
        fs::File::open(&unfinished)?.sync_all()?;
        fs::rename(&unfinished, path)
    }

    /// Lets a run go on here.
    ///
    /// # Errors
    /// The file can't be removed.
    pub fn forget(&self, run: RunId) -> io::Result<()> {
        match fs::remove_file(self.folder.join(run.to_string())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All runs that go on in another database.
    #[must_use]
    pub fn all(&self) -> HashSet<RunId> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ids = entries
            .filter_map(|entry| Uuid::parse_str(entry.file_name().to_str()?).ok().map(RunId));
        ids.filter(|run| self.find(*run).is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_while_the_other_database_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        let counterparts = Counterparts::of(&folder.path().join("x.db"));
        let run = RunId(Uuid::from_u128(1));
        assert_eq!((counterparts.find(run), counterparts.all().len()), (None, 0));
        let database = folder.path().join("other.db");
        fs::write(&database, "").expect("a file");
        let noted = Counterpart { reason: Reason::Copy, database: database.clone() };
        counterparts.note(run, &noted).expect("it is noted");
        assert_eq!(counterparts.find(run), Some(noted.clone()));
        assert_eq!(counterparts.all(), HashSet::from([run]));
        fs::remove_file(&database).expect("it goes");
        assert_eq!((counterparts.find(run), counterparts.all().len()), (None, 0));
        fs::write(&database, "").expect("a file");
        counterparts.forget(run).expect("it is forgotten");
        counterparts.forget(run).expect("once is enough");
        assert_eq!(counterparts.find(run), None);
    }
}
