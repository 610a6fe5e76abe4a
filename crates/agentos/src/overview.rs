//! Which databases are seen from here: those of every checkout of the repository, each real file once.
//!
//! git lists the worktrees. What git does not know (workspaces of jj, databases that were named by hand) is in the user's
//! registry. A database that was named for this command is seen alone, and so is the global one outside of repositories;
//! from inside of one the global one is never looked at.
//!
//! Nothing here is tied to a terminal: whoever answers from all of a repository begins here.

pub(crate) mod live;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use agentos_store::registry::{KnownDatabase, Registry};
use agentos_store::sqlite::{OpenError, SqliteStore};
use agentos_store::unified::{UnifiedView, Worktree, Worktrees};
use agentos_workspace::checkout::Checkout;
use agentos_workspace::identity::MAIN;
use agentos_workspace::siblings::{Sibling, siblings};
use agentos_workspace::state::{DATABASE, FOLDER, StateLocation, Why};
use agentos_workspace::surroundings::Surroundings;
use uuid::Uuid;

use crate::error::Result;
use crate::session::Session;

/// How far one looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// This repository.
    Repository,
    /// Every repository that the user's registry knows, and this one.
    Everything,
}

/// What there is to be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// The files, the one that is used here first. Some may not be there.
    pub(crate) databases: Vec<PathBuf>,
    /// The checkouts that use them.
    pub(crate) worktrees: Vec<Worktree>,
    /// The projects of all checkouts, also of those that are gone.
    pub(crate) projects: Vec<Uuid>,
    /// Databases that worktrees were linked to by hand, and the worktrees.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// What could not be found out.
    pub(crate) doubts: Vec<String>,
}

/// Opens everything that is seen from here. What can't be read is part of the view, unless there is nothing else.
pub(crate) fn open(session: &Session, scope: Scope) -> Result<UnifiedView> {
    let own = session.database()?.to_owned();
    let places = find(&session.surroundings, session.location()?, &own, scope);
    open_found(session, &places)
}

/// Opens what was found from here, and tells the user what could not be found out.
fn open_found(session: &Session, places: &Places) -> Result<UnifiedView> {
    places.doubts.iter().for_each(|doubt| session.output.note(doubt));
    let view = open_places(places);
    if view.sources().is_empty() && !view.unreadable().is_empty() {
        session.look()?;
    }
    Ok(view)
}

/// Opens these.
pub(crate) fn open_places(places: &Places) -> UnifiedView {
    open_places_with(places, SqliteStore::open_to_look)
}

/// Opens these in a way of one's own.
pub(crate) fn open_places_with(
    places: &Places,
    open: impl FnMut(&Path) -> Result<SqliteStore, OpenError>,
) -> UnifiedView {
    let worktrees = Worktrees::new(places.worktrees.clone());
    let mut view = UnifiedView::open_with(&places.databases, worktrees, open);
    for (database, root) in places.links.iter().filter(|(database, _)| !database.exists()) {
        let root = root.display();
        let reason = format!("{root} is linked to it, and it is gone; bring it back, or unlink");
        view.tell_missing(database, reason);
    }
    view
}

/// Looks for what is seen from here. Opens nothing but the registry.
pub(crate) fn find(
    surroundings: &Surroundings,
    location: &StateLocation,
    own: &Path,
    scope: Scope,
) -> Places {
    let mut places = Places { databases: vec![own.to_owned()], ..Places::default() };
    let found = location.checkout.as_ref().ok().and_then(Option::as_ref);
    let checkout = location.maker.as_ref().or(found);
    let is_alone = matches!(location.why, Why::Named | Why::Outside);
    if is_alone && scope == Scope::Repository {
        return places;
    }
    let real = |path: &Path| path.canonicalize().ok();
    let global =
        surroundings.home.as_ref().and_then(|home| real(&home.join(FOLDER).join(DATABASE)));
    // Nobody looks into the global database from inside of a repository, whoever has used it there.
    let is_hidden = |path: &Path| global.is_some() && real(path) == global && real(own) != global;
    if let Some(checkout) = checkout.filter(|_| !is_alone) {
        match siblings(surroundings, checkout) {
            Ok(found) => found
                .into_iter()
                .filter(|found| !found.database.as_deref().is_some_and(is_hidden))
                .for_each(|found| places.add(found, checkout, scope)),
            Err(error) => places.doubts.push(format!("other worktrees are not shown: {error}")),
        }
    }
    let repository = checkout.map(|checkout| checkout.repository.as_path());
    let known = known(surroundings, repository, scope).unwrap_or_else(|error| {
        places.doubts.push(error);
        Vec::new()
    });
    for known in known.into_iter().filter(|known| !is_hidden(&known.path)) {
        places.add_known(known, scope);
    }
    places
}

/// What the user's registry knows.
fn known(
    surroundings: &Surroundings,
    repository: Option<&Path>,
    scope: Scope,
) -> Result<Vec<KnownDatabase>, String> {
    let Some(file) = surroundings.registry_file() else { return Ok(Vec::new()) };
    let asked = match (scope, repository) {
        (Scope::Everything, _) => None,
        (Scope::Repository, Some(repository)) => Some(repository),
        (Scope::Repository, None) => return Ok(Vec::new()),
    };
    Registry::at(file).databases(asked).map_err(|error| error.to_string())
}

impl Places {
    fn add(&mut self, found: Sibling, checkout: &Checkout, scope: Scope) {
        let Some(database) = found.database else { return };
        let name = match &found.worktree {
            Some(id) if found.is_workspace || id == MAIN => id.clone(),
            _ => base_name(&found.root),
        };
        self.databases.push(database.clone());
        self.projects.extend(found.project);
        if !found.is_workspace && database != found.root.join(FOLDER).join(DATABASE) {
            self.links.push((database.clone(), found.root.clone()));
        }
        self.worktrees.push(Worktree {
            id: found.worktree,
            name: named(name, Some(&checkout.repository), scope),
            path: found.root,
            project: found.project,
            database,
            is_workspace: found.is_workspace,
        });
    }

    fn add_known(&mut self, known: KnownDatabase, scope: Scope) {
        let KnownDatabase { path, project } = known;
        self.databases.push(path.clone());
        self.projects.push(project.id);
        let is_listed = |worktree: &Worktree| {
            worktree.path == project.path || worktree.project == Some(project.id)
        };
        // A checkout that is gone says nothing any more about who uses what; its runs still tell where they were.
        if self.worktrees.iter().any(is_listed) || !project.path.is_dir() {
            return;
        }
        let name = match project.worktree_id.as_str() {
            MAIN => MAIN.to_owned(),
            _ => base_name(&project.path),
        };
        self.worktrees.push(Worktree {
            name: named(name, project.repository.as_deref(), scope),
            id: Some(project.worktree_id),
            path: project.path,
            project: Some(project.id),
            database: path,
            is_workspace: false,
        });
    }
}

/// Where there are several repositories, the name says which.
fn named(name: String, repository: Option<&Path>, scope: Scope) -> String {
    match (scope, repository) {
        (Scope::Everything, Some(repository)) => format!("{}/{name}", repository_name(repository)),
        _ => name,
    }
}

/// What a repository is called: the folder around its git directory, or a bare one's own name.
fn repository_name(repository: &Path) -> String {
    let folder = match repository.file_name() {
        Some(name) if name == OsStr::new(".git") => repository.parent().unwrap_or(repository),
        _ => repository,
    };
    let name = base_name(folder);
    name.strip_suffix(".git").unwrap_or(&name).to_owned()
}

fn base_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
