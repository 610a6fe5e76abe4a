//! A view that stays right while worktrees and databases come and go.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
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
        let (places, marks) = find_marked(session, &own, scope)?;
        let view = super::open_found(session, &places)?;
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
        let (places, marks) = find_marked(session, &self.own, self.scope)?;
        self.marks = marks;
        self.view = open_places(&places);
        self.watch = self.view.watch();
        self.places = places;
        Ok(())
    }
}

/// Finds what is seen from here, with its marks. Every mark is taken before what it stands for is read: a worktree or a
/// database that comes in between is noticed at the next comparison instead of never.
pub(crate) fn find_marked(
    session: &Session,
    own: &Path,
    scope: Scope,
) -> Result<(Places, Vec<Mark>)> {
    let mut marks = folder_marks(session);
    let places = find(&session.surroundings, session.location()?, own, scope);
    marks.extend(database_marks(&places));
    Ok((places, marks))
}

/// The marks of these places now.
pub(crate) fn marks(session: &Session, places: &Places) -> Vec<Mark> {
    let mut marks = folder_marks(session);
    marks.extend(database_marks(places));
    marks
}

/// The folder where git keeps its worktrees, and the registry.
fn folder_marks(session: &Session) -> Vec<Mark> {
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
    folders.map(changed).collect()
}

/// Which files the databases are. They are written to all the time, so their time of change does not count.
fn database_marks(places: &Places) -> Vec<Mark> {
    let mark = |path: &PathBuf| {
        let found = fs::metadata(path).ok().map(|found| (found.ino(), SystemTime::UNIX_EPOCH));
        (path.clone(), found)
    };
    places.databases.iter().map(mark).collect()
}
