//! What one command stands on: where it was called, and what it finds there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::library::MixedLibrary;
use agentos_process::open_files;
use agentos_sdk::Workflows;
use agentos_store::registry::{KnownProject, Registry};
use agentos_store::sqlite::{Notice, OpenError, Options, SqliteStore};
use agentos_workspace::named::Database;
use agentos_workspace::state::{LocateError, Prepared, StateLocation};
use agentos_workspace::surroundings::Surroundings;
use jiff::tz::TimeZone;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::catalog::Catalog;
use crate::config::{Config, Flags, LiveConfig, Sources};
use crate::error::{CommandError, Result};
use crate::executor;
use crate::logging::{self, Look};
use crate::output::Output;

/// One command's view of the world.
pub(crate) struct Session {
    pub(crate) surroundings: Surroundings,
    pub(crate) catalog: Catalog,
    pub(crate) output: Output,
    /// The configuration as it was when the command began.
    pub(crate) config: Arc<Config>,
    /// The configuration as its files say it now.
    pub(crate) live: Arc<LiveConfig>,
    location: Result<StateLocation, LocateError>,
    flags: Flags,
    /// The store, for somebody who asks so often that it stays open.
    kept: Option<Opened>,
}

/// Where a command was called, and with what: enough to look at the world as often as somebody asks.
#[derive(Debug, Clone)]
pub(crate) struct Whereabouts {
    surroundings: Surroundings,
    workflows: Arc<Workflows>,
    flags: Flags,
}

impl Whereabouts {
    /// The same, from somewhere else.
    pub(crate) fn at(&self, there: &impl Fn(&Surroundings) -> Surroundings) -> Self {
        Self { surroundings: there(&self.surroundings), ..self.clone() }
    }

    /// A session that finds the world as it is now. What it says beside its answers is kept for whoever asked.
    pub(crate) fn look_around(&self) -> Result<Session> {
        let (location, catalog) = find(&self.surroundings, Arc::clone(&self.workflows));
        let mut session = Session::new(self.surroundings.clone(), location, catalog, self.flags)?;
        session.output = session.output.keeping_notes();
        Ok(session)
    }
}

/// Where state lives around here, and which workflows there are.
pub(crate) fn find(
    surroundings: &Surroundings,
    workflows: Arc<Workflows>,
) -> (Result<StateLocation, LocateError>, Catalog) {
    let location = StateLocation::find(surroundings);
    let project = location.as_ref().ok().and_then(|location| location.project_path().ok());
    let catalog = Catalog::new(workflows, project.map(Path::to_owned));
    (location, catalog)
}

/// A store that may be written to, and the checkout that does so.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) store: SqliteStore,
    pub(crate) prepared: Prepared,
    /// Who attends to the store in this process; otherwise that is the background executor.
    pub(crate) attendant: Option<Arc<Notify>>,
}

impl Opened {
    /// Sees to it that somebody attends to the store: there is something to do.
    pub(crate) async fn ensure_attended(&self) -> Result<()> {
        match &self.attendant {
            Some(attendant) => {
                attendant.notify_one();
                Ok(())
            }
            None => executor::ensure(&self.store, &self.prepared.project_path).await,
        }
    }
}

impl Session {
    /// Reads the configuration, and begins to log as it says.
    pub(crate) fn new(
        surroundings: Surroundings,
        location: Result<StateLocation, LocateError>,
        catalog: Catalog,
        flags: Flags,
    ) -> Result<Self> {
        let found = location.as_ref().ok();
        let checkout = found.and_then(|found| found.checkout.as_ref().ok()?.as_ref());
        // The configuration of a workspace is that of the checkout it was made from.
        let checkout = found.and_then(|found| found.maker.as_ref()).or(checkout);
        let checkout = checkout.map(|checkout| checkout.root.as_path());
        let live = LiveConfig::load(&Sources {
            environment: &surroundings.environment,
            home: surroundings.home.as_deref(),
            checkout,
            flags,
        })?;
        let config = live.current();
        let is_quiet = matches!(config.log.level.value.as_str(), "off" | "error" | "warn");
        let output = Output::new(config.output.color.value, is_quiet, &surroundings.environment);
        let look = Look {
            clock: Arc::new(SystemClock),
            zone: TimeZone::system(),
            paint: output.error_paint,
        };
        logging::start(&config.log.level, look, std::io::stderr);
        let live = Arc::new(live);
        Ok(Self { surroundings, catalog, output, config, live, location, flags, kept: None })
    }

    /// The files that the configuration is read from, whether or not they are there.
    pub(crate) fn config_files(&self) -> Vec<PathBuf> {
        let found = self.location.as_ref().ok();
        let checkout = found.and_then(|found| found.checkout.as_ref().ok()?.as_ref());
        let checkout = found.and_then(|found| found.maker.as_ref()).or(checkout);
        let sources = Sources {
            environment: &self.surroundings.environment,
            home: self.surroundings.home.as_deref(),
            checkout: checkout.map(|checkout| checkout.root.as_path()),
            flags: self.flags,
        };
        sources.files()
    }

    /// What it takes to look again later.
    pub(crate) fn whereabouts(&self) -> Whereabouts {
        Whereabouts {
            surroundings: self.surroundings.clone(),
            workflows: Arc::clone(self.catalog.workflows()),
            flags: self.flags,
        }
    }

    /// The same with a store that stays open.
    pub(crate) fn keeping(self, opened: Opened) -> Self {
        Self { kept: Some(opened), ..self }
    }

    /// The same command, called elsewhere.
    pub(crate) fn moved(
        &self,
        surroundings: Surroundings,
        location: StateLocation,
    ) -> Result<Self> {
        let project = location.project_path().ok().map(Path::to_owned);
        let catalog = self.catalog.of_project(project);
        let moved = Self::new(surroundings, Ok(location), catalog, self.flags)?;
        Ok(Self { output: self.output.clone(), ..moved })
    }

    /// Where state lives.
    pub(crate) fn location(&self) -> Result<&StateLocation> {
        self.location.as_ref().map_err(CommandError::from)
    }

    /// Executes the workflows that can be started here, over the definitions that a store keeps.
    pub(crate) fn library(&self, store: &SqliteStore) -> Arc<MixedLibrary> {
        self.catalog.library(store, self.config.script.limits())
    }

    /// The database file. Whoever uses one that is not this repository's is told.
    pub(crate) fn database(&self) -> Result<&Path> {
        if let Some(notice) = self.location()?.notice() {
            self.output.note(&notice);
        }
        match &self.location()?.database {
            Database::File(path) => Ok(path),
            Database::Shared(_) => Err(CommandError::failed(
                "a shared database (postgres://) can't be used by this version",
            )
            .hint("name a file with AGENTOS_WORKFLOW_DB, or leave it unset")),
        }
    }

    /// Opens the store to be looked at; none if there is none yet.
    pub(crate) fn look(&self) -> Result<Option<SqliteStore>> {
        if let Some(kept) = &self.kept {
            return Ok(Some(kept.store.clone()));
        }
        match SqliteStore::open_to_look(self.database()?) {
            Ok(store) => Ok(Some(store)),
            Err(OpenError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store to be looked at, for a command that is about one run.
    pub(crate) fn look_for(&self, run: &str) -> Result<SqliteStore> {
        self.look()?.ok_or_else(|| crate::names::not_found(run))
    }

    /// Opens the store to be written to, for a command that is about one run: where there is no store there is no run,
    /// and none is made.
    pub(crate) fn open_for(&self, run: &str) -> Result<Opened> {
        self.look_for(run)?;
        self.open()
    }

    /// Opens the store to be written to, and makes it if there is none.
    pub(crate) fn open(&self) -> Result<Opened> {
        if let Some(kept) = &self.kept {
            return Ok(kept.clone());
        }
        check_open_files()?;
        let path: PathBuf = self.database()?.to_owned();
        let prepared = self.location()?.prepare()?;
        let output = self.output.clone();
        let on_notice = Box::new(move |notice: Notice| output.note(&words(&notice)));
        let options = Options { new_id: Uuid::new_v4(), on_notice };
        let store = SqliteStore::open(&path, options)?;
        self.note_project(&prepared, &path);
        Ok(Opened { store, prepared, attendant: None })
    }

    /// Tells the user's registry that there is a project here. It is a convenience: nothing fails for want of it.
    fn note_project(&self, prepared: &Prepared, database: &Path) {
        let Some(file) = self.surroundings.registry_file() else { return };
        let checkout = self.location().ok().and_then(|location| location.checkout.as_ref().ok());
        let project = KnownProject {
            id: prepared.identity.project,
            path: prepared.project_path.clone(),
            repository: checkout.and_then(Option::as_ref).map(|found| found.repository.clone()),
            worktree_id: prepared.identity.worktree.clone(),
            used_at: SystemClock.now(),
        };
        if let Err(error) = Registry::at(file).note_project(&project, Some(database)) {
            tracing::warn!(%error, "this project is not noted in your registry");
        }
    }
}

fn words(notice: &Notice) -> String {
    match notice {
        Notice::PutBack { path } => {
            format!("{} was removed while it was in use; it was put back", path.display())
        }
        Notice::FoundAgain { path } => {
            format!("{} was removed and put back by another process", path.display())
        }
    }
}

/// How many files a process that drives runs has to be able to open, for one command at a time.
const OPEN_FILES: u64 = 64;

/// Refuses to begin where it would run out of open files: what it has begun by then could not be ended properly.
fn check_open_files() -> Result<()> {
    let Some(limit) = open_files::limit_below(OPEN_FILES) else { return Ok(()) };
    let message = format!(
        "a process may have {limit} files open here, and AgentOS needs at least {OPEN_FILES}"
    );
    Err(CommandError::failed(message).cli_hint("raise the limit: `ulimit -n 1024`"))
}
