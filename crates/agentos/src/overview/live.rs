//! A view that stays right while worktrees and databases come and go.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use agentos_store::unified::{UnifiedView, UnifiedWatch};

use super::{Places, Scope, find, open_places};
use crate::error::Result;
use crate::session::Session;

/// Everything that is seen from here, watched.
pub(crate) struct LiveView {
    scope: Scope,
    own: PathBuf,
    places: Places,
    marks: Vec<Mark>,
    view: UnifiedView,
    watch: UnifiedWatch,
}

/// What tells that somewhere a database or a worktree has come or gone.
pub(crate) type Mark = (PathBuf, Option<(u64, SystemTime)>);

impl LiveView {
    /// Opens and watches it.
    pub(crate) fn open(session: &Session, scope: Scope) -> Result<Self> {
        let own = session.database()?.to_owned();
        let view = super::open(session, scope)?;
        let places = find(&session.surroundings, session.location()?, &own, scope);
        let marks = marks(session, &places);
        let watch = view.watch();
        Ok(Self { scope, own, places, marks, view, watch })
    }

    /// What there is now.
    pub(crate) const fn view(&self) -> &UnifiedView {
        &self.view
    }

    /// Waits for a commit, or for so long.
    pub(crate) async fn changed(&mut self, at_most: Duration) {
        // Silence is an answer too: moments that are told as "a minute ago" move on.
        let _silent = tokio::time::timeout(at_most, self.watch.changed()).await;
    }

    /// Looks whether a worktree or a database has come or gone, and opens everything anew if so.
    pub(crate) fn look_around(&mut self, session: &Session) -> Result<()> {
        if marks(session, &self.places) == self.marks {
            return Ok(());
        }
        let places = find(&session.surroundings, session.location()?, &self.own, self.scope);
        self.marks = marks(session, &places);
        self.view = open_places(&places);
        self.watch = self.view.watch();
        self.places = places;
        Ok(())
    }
}

/// The folder where git keeps its worktrees, the registry, and which files the databases are.
pub(crate) fn marks(session: &Session, places: &Places) -> Vec<Mark> {
    let location = session.location().ok();
    let checkout = location
        .and_then(|found| found.maker.as_ref().or_else(|| found.checkout.as_ref().ok()?.as_ref()));
    let worktrees = checkout.map(|checkout| checkout.repository.join("worktrees"));
    let registry = session.surroundings.registry_file();
    let folders = worktrees.into_iter().chain(registry);
    let changed = |path: PathBuf| {
        let found = fs::metadata(&path).ok();
        let mark = found.and_then(|found| Some((found.ino(), found.modified().ok()?)));
        (path, mark)
    };
    let there = |path: &PathBuf| {
        // A database is written to all the time; only which file it is counts.
        let found = fs::metadata(path).ok().map(|found| (found.ino(), SystemTime::UNIX_EPOCH));
        (path.clone(), found)
    };
    folders.map(changed).chain(places.databases.iter().map(there)).collect()
}
