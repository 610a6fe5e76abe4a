//! What the other databases of a repository know. Runs that were copied are in several of them, and share one folder: it
//! goes with the last of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentos_core::id::RunId;
use agentos_store::registry::Registry;
use agentos_store::sqlite::{OpenError, SqliteStore};
use agentos_workspace::link;
use agentos_workspace::siblings::siblings;

use crate::session::Session;

/// Databases of this repository beside the one at `own`, which is a real path.
pub(crate) fn paths(session: &Session, own: &Path) -> BTreeSet<PathBuf> {
    let location = session.location().ok();
    let checkout = location.and_then(|location| location.checkout.as_ref().ok()?.as_ref());
    let Some(checkout) = checkout else { return BTreeSet::new() };
    let registry = session.surroundings.registry_file().map(Registry::at);
    let known = registry.and_then(|registry| registry.databases_of(&checkout.repository).ok());
    let beside = siblings(&session.surroundings, checkout).unwrap_or_default();
    let beside = beside.into_iter().filter_map(|sibling| sibling.database);
    let all = known.unwrap_or_default().into_iter().chain(beside);
    let all = all.chain([link::own_database(checkout)]);
    all.filter_map(|path| path.canonicalize().ok()).filter(|path| path != own).collect()
}

/// The runs that other databases know.
#[derive(Debug, Default)]
pub(crate) struct Others {
    runs: BTreeSet<RunId>,
    /// One that can't be read may know anything.
    has_unreadable: bool,
}

impl Others {
    /// Asks them all, once.
    pub(crate) async fn ask(databases: &BTreeSet<PathBuf>) -> Self {
        let mut others = Self::default();
        for path in databases {
            let runs = match SqliteStore::open_to_look(path) {
                Ok(store) => store.candidates().await.ok(),
                // It has gone just now, or is the database of somebody else.
                Err(OpenError::NotFound { .. } | OpenError::Foreign { .. }) => Some(Vec::new()),
                Err(_) => None,
            };
            others.has_unreadable |= runs.is_none();
            others.runs.extend(runs.into_iter().flatten().map(|run| run.run));
        }
        others
    }

    /// Whether one of them knows the run, or may.
    pub(crate) fn may_know(&self, run: RunId) -> bool {
        self.has_unreadable || self.runs.contains(&run)
    }
}
