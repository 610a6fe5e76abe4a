//! The projects that are served: those that the user's registry has, and the one that the server was started in.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_server::house::Words;
use agentos_store::registry::{Registry, ServedProject};
use agentos_store::unified::Unreadable;
use agentos_workspace::state::Why;
use uuid::Uuid;

use super::room::{Room, database_of};
use crate::error::{CommandError, ErrorKind, Result};
use crate::session::{Session, Whereabouts};

/// The projects that are served.
pub(super) struct Rooms {
    whereabouts: Whereabouts,
    registry: Option<Registry>,
    all: RwLock<Vec<Arc<Room>>>,
    /// The projects that should be served and can't be.
    unserved: RwLock<Vec<Unserved>>,
}

/// A project whose database can't be used.
struct Unserved {
    /// Its id, if it is in the registry.
    project: Option<Uuid>,
    database: Unreadable,
}

impl Rooms {
    pub(super) fn new(session: &Session) -> Self {
        let registry = session.surroundings.registry_file().map(Registry::at);
        Self {
            whereabouts: session.whereabouts(),
            registry,
            all: RwLock::default(),
            unserved: RwLock::default(),
        }
    }

    /// Opens every project that is to be served. One that can't be is told of, and keeps its place.
    pub(super) async fn open(&self, session: &Session) -> Result<()> {
        let served = self.registry.as_ref().map(Registry::served_projects).transpose();
        let served = served.unwrap_or_else(|error| {
            session.output.note(&error.to_string());
            None
        });
        let served = served.unwrap_or_default().into_iter();
        let mut folders: Vec<(Option<Uuid>, PathBuf)> =
            served.map(|served| (Some(served.id), served.path)).collect();
        let here = match session.location() {
            Ok(location) if location.why != Why::Outside => location.project_path().ok(),
            _ => None,
        };
        if let Some(here) = here
            && !folders.iter().any(|(_, folder)| folder == here)
        {
            folders.push((None, here.to_owned()));
        }
        for (project, folder) in folders {
            if let Err(error) = self.add(&folder).await {
                let (name, reason) = (folder.display(), error.message);
                session.output.note(&format!("{name} is not served: {reason}"));
                if let Some(path) = database_of(&self.whereabouts, &folder) {
                    let mut unserved =
                        self.unserved.write().unwrap_or_else(PoisonError::into_inner);
                    let database = Unreadable { path, reason };
                    unserved.push(Unserved { project, database });
                }
            }
        }
        Ok(())
    }

    /// Serves the project that this folder is in, also after the next start. Whether it was not served before.
    pub(super) async fn add(&self, folder: &Path) -> Result<(Arc<Room>, bool)> {
        let unusable = |why: &str| {
            CommandError::usage(format!("{} can't be used: {why}", folder.display()))
                .hint("give the path of a folder that is there")
                .field("/path")
        };
        let folder = folder.canonicalize().map_err(|error| unusable(&error.to_string()))?;
        if !folder.is_dir() {
            return Err(unusable("it is no folder"));
        }
        if let Some(known) = self.all().into_iter().find(|room| room.path == folder) {
            return Ok((known, false));
        }
        let room = Room::open(&self.whereabouts, &folder).await;
        // What is refused without a cause of its own is refused because of where it is.
        let room = room.map_err(|error| match (error.kind, error.cause) {
            (ErrorKind::Usage, None) if error.fields.is_empty() => error.field("/path"),
            _ => error,
        })?;
        if let Some(registry) = &self.registry {
            let served =
                ServedProject { id: room.id, path: room.path.clone(), added_at: SystemClock.now() };
            if let Err(error) = registry.serve_project(&served) {
                tracing::warn!(%error, "this project will not be served after the next start");
            }
        }
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.id == room.id) {
            return Ok((Arc::clone(known), false));
        }
        let room = Arc::new(room);
        all.push(Arc::clone(&room));
        let mut unserved = self.unserved.write().unwrap_or_else(PoisonError::into_inner);
        unserved.retain(|unserved| unserved.database.path != room.store().path());
        Ok((room, true))
    }

    /// Serves it no more.
    pub(super) fn remove(&self, project: Uuid) -> Result<()> {
        if let Some(registry) = &self.registry {
            registry
                .unserve_project(project)
                .map_err(|error| CommandError::failed(error.to_string()))?;
        }
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|room| {
            let is_other = room.id != project;
            if !is_other {
                room.stop.cancel();
            }
            is_other
        });
        let mut unserved = self.unserved.write().unwrap_or_else(PoisonError::into_inner);
        unserved.retain(|unserved| unserved.project != Some(project));
        Ok(())
    }

    /// Whether this project should be served and can't be.
    pub(super) fn is_unserved(&self, project: Uuid) -> bool {
        let unserved = self.unserved.read().unwrap_or_else(PoisonError::into_inner);
        unserved.iter().any(|unserved| unserved.project == Some(project))
    }

    pub(super) fn all(&self) -> Vec<Arc<Room>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The databases of projects that should be served and could not be opened.
    pub(super) fn unserved(&self) -> Vec<Unreadable> {
        let unserved = self.unserved.read().unwrap_or_else(PoisonError::into_inner);
        unserved.iter().map(|unserved| unserved.database.clone()).collect()
    }

    /// What is said about something that is in no room, and may be in a database that no room could be made of.
    pub(super) fn hidden(&self, what: &str, name: &str) -> Option<Words> {
        let unserved = self.unserved();
        let paths = unserved.iter().map(|unserved| unserved.path.display().to_string());
        let paths: Vec<String> = paths.collect();
        (!paths.is_empty()).then(|| Words::hidden(what, name, &paths))
    }

    pub(super) fn find(&self, project: Uuid) -> Option<Arc<Room>> {
        self.all().into_iter().find(|room| room.id == project)
    }
}
