//! Every database of every project that is served, as one, and kept so while worktrees and databases come and go.
//!
//! Stores stay open from one view to the next, and are opened so that this process may write to them: a process that
//! watches a file without that right would keep itself from ever writing to it. One that can't be written to is looked at.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentos_store::sqlite::{OpenError, Options, SqliteStore};
use agentos_store::unified::{Hosts, Source, UnifiedView, Unreadable, Worktree, Worktrees};
use tokio::sync::watch;
use uuid::Uuid;

use super::room::Room;
use crate::overview::live::{self, Mark};
use crate::overview::{self, Places, Scope};

/// The view, and whoever wants to know when it is another.
pub(super) struct Views {
    sender: watch::Sender<Arc<UnifiedView>>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Databases that belong to no room.
    stores: HashMap<PathBuf, SqliteStore>,
    /// What was found around each room, and what tells that it is as it was.
    found: Vec<(Uuid, Places, Vec<Mark>)>,
    doubts: Vec<String>,
    /// Those that were named as missing.
    unserved: Vec<Unreadable>,
}

impl Views {
    pub(super) fn new() -> Self {
        let nothing = UnifiedView::open(&[], Worktrees::default());
        Self { sender: watch::Sender::new(Arc::new(nothing)), known: Mutex::default() }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<UnifiedView>> {
        self.sender.subscribe()
    }

    /// The view as it is now.
    pub(super) fn current(&self) -> Arc<UnifiedView> {
        Arc::clone(&self.sender.borrow())
    }

    /// Looks whether something has come or gone, and opens it if so. Those that no room could be made of are named as
    /// missing. Blocks.
    pub(super) fn look_around(&self, rooms: &[Arc<Room>], unserved: &[Unreadable]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.unserved == unserved && known.is_current(rooms) && !self.current().is_outdated() {
            return;
        }
        let all = known.find(rooms);
        let mut view = known.open(rooms, &all).with_hosts(known.hosts(rooms));
        known.unserved = unserved.to_vec();
        for missing in unserved {
            if view.source(&missing.path).is_none() {
                view.tell_missing(&missing.path, missing.reason.clone());
            }
        }
        let view = Arc::new(view);
        let in_use: Vec<&Path> = view.sources().iter().map(Source::path).collect();
        known.stores.retain(|path, _| in_use.contains(&path.as_path()));
        self.sender.send_replace(view);
    }
}

impl Known {
    fn is_current(&self, rooms: &[Arc<Room>]) -> bool {
        let is_as_it_was = |(room, known): (&Arc<Room>, &(Uuid, Places, Vec<Mark>))| {
            let (id, places, marks) = known;
            let session = room.session();
            let now = |location| live::marks(&session.surroundings, location, places);
            room.id == *id && session.location().is_ok_and(|location| now(location) == *marks)
        };
        rooms.len() == self.found.len() && rooms.iter().zip(&self.found).all(is_as_it_was)
    }

    /// Everything that is around the rooms.
    fn find(&mut self, rooms: &[Arc<Room>]) -> Places {
        let (mut all, mut found) = (Places::default(), Vec::new());
        for room in rooms {
            let session = room.session();
            let Ok(location) = session.location() else { continue };
            let (around, own) = (&session.surroundings, room.store().path());
            let (places, marks) = live::find_marked(around, location, own, Scope::Repository);
            all.databases.extend(places.databases.iter().cloned());
            all.links.extend(places.links.iter().cloned());
            all.doubts.extend(places.doubts.iter().cloned());
            let is_new = |found: &&Worktree| all.worktrees.iter().all(|one| one.path != found.path);
            let new: Vec<Worktree> = places.worktrees.iter().filter(is_new).cloned().collect();
            all.worktrees.extend(new);
            found.push((room.id, places, marks));
        }
        for doubt in all.doubts.iter().filter(|doubt| !self.doubts.contains(doubt)) {
            tracing::warn!("{doubt}");
        }
        self.doubts.clone_from(&all.doubts);
        self.found = found;
        all
    }

    /// Which projects are told as those that are served: every other checkout of a repository as its main one, if that is
    /// served, or else as the first that is.
    fn hosts(&self, rooms: &[Arc<Room>]) -> Hosts {
        let is_served = |project: &Uuid| rooms.iter().any(|room| room.id == *project);
        let (mains, others): (Vec<_>, Vec<_>) = rooms.iter().partition(|room| room.is_main());
        let mut hosts = Hosts::default();
        for room in mains.into_iter().chain(others) {
            let found = self.found.iter().filter(|(id, ..)| *id == room.id);
            let around = found.flat_map(|(_, places, _)| &places.projects);
            around
                .filter(|project| !is_served(project))
                .for_each(|guest| hosts.add(*guest, room.id));
        }
        hosts
    }

    fn open(&mut self, rooms: &[Arc<Room>], places: &Places) -> UnifiedView {
        overview::open_places_with(places, |path| {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            if let Some(room) = rooms.iter().find(|room| room.store().path() == real) {
                return Ok(room.store().clone());
            }
            // One that is in no room is nobody's to put back: whatever is there now is looked at.
            if let Some(store) = self.stores.get(&real).filter(|store| store.check_file().is_ok()) {
                return Ok(store.clone());
            }
            let store = open(&real)?;
            self.stores.insert(real, store.clone());
            Ok(store)
        })
    }
}

/// Opens a database that is there. Makes none.
fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    if !path.exists() {
        return Err(OpenError::NotFound { path: path.to_owned() });
    }
    // Refuses what is none of ours before anything is made beside it.
    let looked = SqliteStore::open_to_look(path)?;
    drop(looked);
    match SqliteStore::open(path, Options::quiet(Uuid::new_v4())) {
        Ok(store) => Ok(store),
        Err(error) => {
            tracing::warn!(%error, "{} is only looked at", path.display());
            SqliteStore::open_to_look(path)
        }
    }
}
