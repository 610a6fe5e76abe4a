//! One view over every database of a repository: each run once, and which worktree it belongs to.
//!
//! Worktrees keep their histories apart so that nothing collides; whoever looks wants all of them. Databases are opened only
//! to be looked at, each real file once, by whatever name it is found. One that can't be read is named, with the reason,
//! and takes nothing from the rest.
//!
//! A run that was copied from one database to another is in both. The one whose log is longer counts, everywhere: in
//! listings, in totals, in SQL. That is why the ids of all databases are compared before anything is asked.
//!
//! Which files these are is not decided here: whoever knows checkouts and the registry says it.

mod find;
mod hosts;
mod listing;
mod places;
mod select;
mod together;
mod totals;
mod twins;
mod watch;

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Serialize;
use uuid::Uuid;

pub use find::{Candidate, FindError, Found, NamedRun};
pub use hosts::Hosts;
pub use listing::{UnifiedListing, UnifiedRun};
pub use places::Worktrees;
pub use select::{
    Answer, Cell, ColumnDescription, Question, SelectError, TableDescription, describe_tables,
};
pub use totals::UnifiedTotals;
pub(crate) use twins::Census;
pub use watch::UnifiedWatch;

use self::twins::Compared;
use crate::sqlite::{OpenError, SqliteStore};

/// Most databases that are looked at together.
pub const DATABASES: usize = 1_000;

/// A checkout of a repository, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Worktree {
    /// `main`, or its id; none if nobody has used it yet.
    pub id: Option<String>,
    /// What people call it.
    pub name: String,
    /// Its root.
    pub path: PathBuf,
    /// The project that it is, if that is known.
    #[serde(rename = "project_id")]
    pub project: Option<Uuid>,
    /// The file that its runs are kept in. Nobody has looked whether it is there.
    pub database: PathBuf,
    /// Whether AgentOS made it for a run.
    pub is_workspace: bool,
}

/// A database that can't be read, while the others can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// A database that is looked at.
#[derive(Clone)]
pub struct Source {
    /// The store; as a rule opened only to be looked at.
    pub store: SqliteStore,
}

impl Source {
    /// The real file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }
}

/// Every database of a repository, opened only to be looked at.
pub struct UnifiedView {
    sources: Vec<Source>,
    worktrees: Worktrees,
    hosts: Hosts,
    unreadable: Vec<Unreadable>,
    /// What could not be opened, with the error, also where that was only an empty file.
    unopened: Vec<(PathBuf, String)>,
    compared: Mutex<Compared>,
}

impl UnifiedView {
    /// Opens what can be opened, in this order: of two copies of a run that are equally far the earlier one counts. Files
    /// that are not there are left out. Blocks as long as reading their first pages takes.
    #[must_use]
    pub fn open(databases: &[PathBuf], worktrees: Worktrees) -> Self {
        Self::open_with(databases, worktrees, SqliteStore::open_to_look)
    }

    /// As [`open`](Self::open), for somebody who has some of them open already, or may write to them.
    #[must_use]
    pub fn open_with(
        databases: &[PathBuf],
        worktrees: Worktrees,
        mut open: impl FnMut(&Path) -> Result<SqliteStore, OpenError>,
    ) -> Self {
        let (mut sources, mut unreadable, mut unopened) = (Vec::new(), Vec::new(), Vec::new());
        let (mut seen, mut named) = (HashSet::new(), HashSet::new());
        for path in databases {
            // What can't be followed is known by its name only.
            if !named.insert(without_links_before(path)) {
                continue;
            }
            if let Ok(found) = std::fs::metadata(path)
                && !seen.insert((found.dev(), found.ino()))
            {
                continue;
            }
            if sources.len() >= DATABASES {
                let reason = format!("there are more than {DATABASES} databases");
                unreadable.push(Unreadable { path: path.clone(), reason });
                continue;
            }
            match open(path) {
                // Whoever asks reads the first itself, while threads are at the others.
                Ok(store) if sources.is_empty() => sources.push(Source { store }),
                Ok(store) => sources.push(Source { store: store.by_threads() }),
                Err(error) => {
                    let reason = error.to_string();
                    unopened.push((path.clone(), reason.clone()));
                    if !matches!(error, OpenError::NotFound { .. }) {
                        unreadable.push(Unreadable { path: path.clone(), reason });
                    }
                }
            }
        }
        let (hosts, compared) = (Hosts::default(), Mutex::default());
        Self { sources, worktrees, hosts, unreadable, unopened, compared }
    }

    /// Names a database that should be there and is not.
    pub fn tell_missing(&mut self, path: &Path, reason: String) {
        if !self.unreadable.iter().any(|told| told.path == path) {
            self.unreadable.push(Unreadable { path: path.to_owned(), reason });
        }
    }

    /// The databases that could be opened.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The checkouts that are known.
    #[must_use]
    pub const fn worktrees(&self) -> &Worktrees {
        &self.worktrees
    }

    /// The databases that could not be opened.
    #[must_use]
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// Whether a database that could not be opened can be opened now, or can't for another reason. A process makes a
    /// database in several steps, and between them it is an empty file. Blocks as long as opening these takes.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        let now =
            |path: &Path| SqliteStore::open_to_look(path).err().map(|error| error.to_string());
        self.unopened.iter().any(|(path, before)| now(path).as_ref() != Some(before))
    }

    /// The database in this file, if it is one of these.
    #[must_use]
    pub fn source(&self, path: &Path) -> Option<&Source> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.sources.iter().find(|source| source.path() == path)
    }
}

/// The path in the real folder.
fn without_links_before(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
