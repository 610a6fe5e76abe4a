//! A project that is served: its session with the store open, and whoever attends to it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use agentos_core::time::Timestamp;
use agentos_store::backend::BackendError;
use agentos_store::folder::RunFolder;
use agentos_store::records::{Paging, Project, Records as _, RunQuery};
use agentos_store::sqlite::SqliteStore;
use agentos_store::unified::{Source, UnifiedView, Worktree};
use agentos_workspace::identity::MAIN;
use agentos_workspace::state::Why;
use agentos_workspace::surroundings::Surroundings;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::{CommandError, ErrorKind, Result};
use crate::session::{Opened, Session, Whereabouts};
use crate::start;
use crate::templates::{Stamp, stamp, stamp_of};

/// Variables that tell what is started in a workspace where it is. A server is started somewhere, and serves elsewhere.
const OF_A_WORKSPACE: [&str; 4] = [
    "AGENT_WORKSPACE_ID",
    "AGENT_WORKSPACE_PATH",
    "AGENT_WORKSPACE_METADATA",
    "AGENT_WORKSPACE_REPO_ROOT",
];

/// A project that is served.
pub(super) struct Room {
    pub(super) id: Uuid,
    pub(super) path: PathBuf,
    pub(super) opened: Opened,
    /// Is told when there is something to do.
    pub(super) kick: Arc<Notify>,
    /// Ends the attendant.
    pub(super) stop: CancellationToken,
    whereabouts: Whereabouts,
    current: RwLock<Arc<Session>>,
    /// The files of the configuration.
    configuration: Vec<PathBuf>,
    /// What the templates and the configuration looked like when they were last read.
    seen: Mutex<(Stamp, Stamp)>,
    /// The session whose workflows are in the database.
    written_down: Mutex<Option<Arc<Session>>>,
    /// Why its workflows could not be read or written down the last time.
    undiscovered: Mutex<Option<String>>,
    /// What the database last told about the project.
    known: Mutex<Option<Project>>,
    /// How often the configuration was another.
    pub(super) reconfigured: watch::Sender<u64>,
    /// What was last wrong with the database.
    trouble: Mutex<Option<BackendError>>,
}

impl Room {
    /// The project that this folder is in. Its database is made if there is none.
    pub(super) async fn open(whereabouts: &Whereabouts, folder: &Path) -> Result<Self> {
        let whereabouts = whereabouts.at(&without_workspace(folder));
        let session = whereabouts.look_around()?;
        let location = session.location()?;
        let is_checkout = location.checkout.as_ref().is_ok_and(Option::is_some);
        if !is_checkout && location.why != Why::Named {
            return Err(CommandError::usage(format!(
                "{} is in no repository, so it is no project",
                folder.display()
            ))
            .hint("give a folder inside of a git or jj checkout")
            .field("/path"));
        }
        let opened = session.open()?;
        let prepared = start::adopt(&opened.store, location, opened.prepared.clone()).await?;
        start::register_project(&opened.store, &prepared).await?;
        let project = prepared.identity.project;
        let known = opened.store.projects().await?.into_iter().find(|known| known.id == project);
        let kick = Arc::new(Notify::new());
        let opened = Opened { prepared, attendant: Some(Arc::clone(&kick)), ..opened };
        let path = opened.prepared.project_path.clone();
        let configuration = session.config_files();
        let seen = Mutex::new((stamp(&path), stamp_of(&configuration)));
        Ok(Self {
            id: project,
            current: RwLock::new(Arc::new(session.keeping(opened.clone()))),
            stop: CancellationToken::new(),
            path,
            opened,
            kick,
            whereabouts,
            configuration,
            seen,
            written_down: Mutex::default(),
            undiscovered: Mutex::default(),
            known: Mutex::new(known),
            reconfigured: watch::Sender::new(0),
            trouble: Mutex::default(),
        })
    }

    /// Whether it is the main checkout of its repository.
    pub(super) fn is_main(&self) -> bool {
        self.opened.prepared.identity.worktree == MAIN
    }

    pub(super) fn store(&self) -> &SqliteStore {
        &self.opened.store
    }

    /// The session as of the latest look at the templates and the configuration.
    pub(super) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the session what the templates and the configuration are now. As long as they can't be read it is as it was,
    /// and whoever looks again tries again.
    pub(super) fn look_again(&self) -> Result<()> {
        let found = (stamp(&self.path), stamp_of(&self.configuration));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == found {
            return Ok(());
        }
        let session = self.whereabouts.look_around()?.keeping(self.opened.clone());
        let is_reconfigured = seen.1 != found.1;
        *seen = found;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(session);
        if is_reconfigured {
            self.reconfigured.send_modify(|times| *times += 1);
        }
        Ok(())
    }

    /// Whether the workflows of the session as it is now are in the database.
    pub(super) fn is_written_down(&self) -> bool {
        let written = self.written_down.lock().unwrap_or_else(PoisonError::into_inner);
        written.as_ref().is_some_and(|written| Arc::ptr_eq(written, &self.session()))
    }

    /// The workflows of this session are in the database.
    pub(super) fn has_written_down(&self, session: Arc<Session>) {
        *self.written_down.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    /// Tells why its workflows can't be read or written down, or that they can again. The same is told once.
    pub(super) fn tell_undiscovered(&self, why: Option<&CommandError>) {
        let why = why.map(|error| error.message.clone());
        let mut told = self.undiscovered.lock().unwrap_or_else(PoisonError::into_inner);
        if *told == why {
            return;
        }
        let project = self.path.display();
        match &why {
            Some(why) => {
                tracing::warn!(%project, "its workflows can't be read or written down: {why}")
            }
            None => tracing::info!(%project, "its workflows can be read and written down again"),
        }
        *told = why;
    }

    /// Sees to it that the database is where it was: until somebody writes, what was removed is only in this process.
    pub(super) async fn find_database(&self) {
        let trouble = self.store().find_file().await.err();
        let mut told = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if *told == trouble {
            return;
        }
        let project = self.path.display();
        match &trouble {
            Some(error) => tracing::error!(%project, "its runs can't be written down: {error}"),
            None => tracing::info!(%project, "its runs can be written down again"),
        }
        *told = trouble;
    }

    /// Whether a run of this project is in this database.
    pub(super) fn has(&self, source: &Source, project: Option<Uuid>) -> bool {
        self.store().path() == source.path() && project.is_none_or(|project| project == self.id)
    }

    /// Deletes the runs of the project with their files, and then what the database knows of the project. Its checkout and
    /// its workspaces stay.
    pub(super) async fn purge(&self) -> Result<()> {
        let mut folders = Vec::new();
        let mut paging = Paging::Page(1);
        loop {
            let query =
                RunQuery { projects: vec![self.id], paging, limit: 1_000, ..RunQuery::default() };
            let listing = self.store().query_runs(query).await?;
            folders.extend(listing.runs.iter().map(|run| RunFolder::new(&self.path, run.id)));
            let Some(next) = listing.next else { break };
            paging = Paging::After(next);
        }
        self.store().delete_project(self.id).await?;
        for folder in folders {
            match std::fs::remove_dir_all(folder.path()) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    tracing::warn!(%error, "{} is left", folder.path().display());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What the database tells about the project, or has told last, and what is wrong with it.
    async fn known(&self) -> (Option<Project>, Option<String>) {
        let asked = self.store().projects().await;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match asked {
            Ok(all) => {
                *known = all.into_iter().find(|known| known.id == self.id);
                (known.clone(), None)
            }
            Err(error) => (known.clone(), Some(naming(self.store().path(), error.into()).message)),
        }
    }

    /// As the API shows it, also while its database can't be read; with the worktrees whose runs are told as its own.
    pub(super) async fn document(&self, view: &UnifiedView) -> Result<Value> {
        let (known, unreadable) = self.known().await;
        let undiscovered = self.undiscovered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let undiscovered =
            undiscovered.map(|why| format!("its workflows can't be read or written down: {why}"));
        let written = |at: Option<Timestamp>| at.map(agentos_store::moment::written);
        let session = self.session();
        let checkout = session.location()?.checkout.as_ref().ok().and_then(Option::as_ref);
        let problems = session.catalog.diagnostics().iter();
        let problems = problems.map(|found| format!("{}: {}", found.file, found.message));
        let problems: Vec<String> = problems.chain(unreadable).chain(undiscovered).collect();
        Ok(json!({
            "id": self.id,
            "name": known.as_ref().map(|known| known.name.as_str()),
            "path": self.path,
            "worktree_id": self.opened.prepared.identity.worktree,
            "worktrees": self.worktrees(view),
            "repository": checkout.map(|checkout| &checkout.repository),
            "database": self.store().path(),
            "workflows": session.catalog.all().len(),
            "problems": problems,
            "created_at": written(known.as_ref().map(|known| known.created_at)),
            "updated_at": written(known.as_ref().map(|known| known.updated_at)),
        }))
    }

    /// The checkouts that somebody has used and whose runs are told as this project's. Workspaces of runs are none of them.
    fn worktrees(&self, view: &UnifiedView) -> Vec<Value> {
        let is_its = |worktree: &&Worktree| {
            let project = worktree.project.map(|project| view.hosts().of(project));
            project == Some(self.id) && !worktree.is_workspace
        };
        let its = view.worktrees().all().iter().filter(is_its);
        its.filter_map(|Worktree { id, name, path, .. }| {
            let id = id.as_ref()?;
            Some(json!({ "id": id, "name": name, "path": path }))
        })
        .collect()
    }
}

/// The database of the project that this folder is in, if there is one.
pub(super) fn database_of(whereabouts: &Whereabouts, folder: &Path) -> Option<PathBuf> {
    let session = whereabouts.at(&without_workspace(folder)).look_around().ok()?;
    session.database().ok()?.canonicalize().ok()
}

/// The same errors, [named](naming) for a database.
pub(super) fn naming_it(database: &Path) -> impl Fn(CommandError) -> CommandError + use<> {
    let database = database.to_owned();
    move |error| naming(&database, error)
}

/// The same error; if it is that the database can't be used, with which one: there are several.
pub(super) fn naming(database: &Path, error: CommandError) -> CommandError {
    let name = database.display().to_string();
    match error.kind {
        ErrorKind::Unusable if !error.message.contains(&name) => {
            CommandError { message: format!("{name}: {}", error.message), ..error }
        }
        _ => error,
    }
}

/// Somebody who stands in this folder, and in no workspace.
fn without_workspace(folder: &Path) -> impl Fn(&Surroundings) -> Surroundings {
    let folder = folder.to_owned();
    move |from: &Surroundings| {
        let mut there = from.clone();
        there.environment.retain(|name, _| !OF_A_WORKSPACE.iter().any(|known| name == known));
        there.cwd = Some(folder.clone());
        there
    }
}
