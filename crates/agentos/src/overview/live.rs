//! A view that stays right while worktrees and databases come and go.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentos_store::unified::{UnifiedView, UnifiedWatch};
use agentos_workspace::state::StateLocation;
use agentos_workspace::surroundings::Surroundings;

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
        let location = session.location()?;
        let (places, marks) = find_marked(&session.surroundings, location, &own, scope);
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
        let (surroundings, location) = (&session.surroundings, session.location()?);
        let is_as_it_was = marks(surroundings, location, &self.places) == self.marks;
        if is_as_it_was && !self.view.is_outdated() {
            return Ok(());
        }
        let (places, marks) = find_marked(surroundings, location, &self.own, self.scope);
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
    surroundings: &Surroundings,
    location: &StateLocation,
    own: &Path,
    scope: Scope,
) -> (Places, Vec<Mark>) {
    let mut marks = folder_marks(surroundings, location);
    let places = find(surroundings, location, own, scope);
    marks.extend(database_marks(&places));
    (places, marks)
}

/// The marks of these places now.
pub(crate) fn marks(
    surroundings: &Surroundings,
    location: &StateLocation,
    places: &Places,
) -> Vec<Mark> {
    let mut marks = folder_marks(surroundings, location);
    marks.extend(database_marks(places));
    marks
}

/// The folder where git keeps its worktrees, and the registry.
fn folder_marks(surroundings: &Surroundings, location: &StateLocation) -> Vec<Mark> {
    let found = || location.checkout.as_ref().ok()?.as_ref();
    let checkout = location.maker.as_ref().or_else(found);
    let worktrees = checkout.map(|checkout| checkout.repository.join("worktrees"));
    let registry = surroundings.registry_file();
    let changed = |path: PathBuf| {
        let found = fs::metadata(&path).ok();
        let mark = found.and_then(|found| Some((found.ino(), found.modified().ok()?)));
        (path, mark)
    };
    // A worktree counts once git has written its `gitdir`, some time after it has made the folder.
    let known =
        worktrees_of(worktrees.as_deref()).map(|folder| mark_of_file(&folder.join("gitdir")));
    worktrees.into_iter().chain(registry).map(changed).chain(known).collect()
}

/// The folders in which git keeps what it knows about each worktree.
fn worktrees_of(folder: Option<&Path>) -> impl Iterator<Item = PathBuf> + use<> {
    let listed = folder.and_then(|folder| fs::read_dir(folder).ok());
    let mut found: Vec<PathBuf> =
        listed.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort_unstable();
    found.into_iter()
}

/// Which files the databases are. They are written to all the time, so their time of change does not count.
fn database_marks(places: &Places) -> Vec<Mark> {
    places.databases.iter().map(|path| mark_of_file(path)).collect()
}

/// Which file it is, whatever is in it.
fn mark_of_file(path: &Path) -> Mark {
    let found = fs::metadata(path).ok().map(|found| (found.ino(), SystemTime::UNIX_EPOCH));
    (path.to_owned(), found)
}

#[cfg(test)]
mod tests {
    use agentos_testing::repo::Playground;

    use super::*;

    /// What is there after the marks were taken is part of the comparison that follows, whether or not the view has it.
    #[test]
    fn a_database_or_worktree_that_comes_after_the_marks_is_noticed() {
        let playground = Playground::new();
        let root = playground.repository("repo");
        let (home, environment) = (Some(playground.home()), playground.environment());
        let surroundings = Surroundings { cwd: Some(root.clone()), home, environment };
        let location = StateLocation::find(&surroundings).expect("a repository");
        let own = root.join(".agentos/issue_workflow.db");
        let look = || find_marked(&surroundings, &location, &own, Scope::Repository);
        let is_noticed = |(places, before): &(Places, Vec<Mark>)| {
            marks(&surroundings, &location, places) != *before
        };
        let found = look();
        assert!(!is_noticed(&found));
        fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
        fs::write(&own, "").expect("a file");
        assert!(is_noticed(&found), "a database");
        // git has made the folder of a worktree, and has not written yet where that is.
        let half = root.join(".git/worktrees/half");
        fs::create_dir_all(&half).expect("a folder");
        let found = look();
        assert!(!is_noticed(&found));
        fs::write(half.join("gitdir"), "/elsewhere/.git\n").expect("a file");
        assert!(is_noticed(&found), "a worktree");
    }
}
