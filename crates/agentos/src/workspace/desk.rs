//! Whoever makes and finds workspaces here: the repository, the folder for them, and the ledger in the database.
//!
//! git and jj take their time, so the work is done on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_core::bounds;
use agentos_core::id::RunId;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::workspaces::{StoreLedger, workspace_of};
use agentos_store::log::ReadError;
use agentos_store::records::{Records as _, RunRecord};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::backup::Keeping;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::isolation::IsolationError;
use agentos_workspace::workspace::ledger::LedgerError;
use agentos_workspace::workspace::occupy::{OccupyError, Work};
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::repository::Repository;
use agentos_workspace::workspace::yard::{OpenError, Yard};
use agentos_workspace::workspace::{root, settle, setup};
use uuid::Uuid;

use crate::config::LiveConfig;
use crate::databases::counterpart::Elsewhere;
use crate::error::{Cause, CommandError, ErrorKind, Result};
use crate::session::Session;
use crate::start;

/// Whoever makes and finds workspaces.
#[derive(Clone)]
pub(crate) struct Desk {
    surroundings: Arc<Surroundings>,
    repository: Repository,
    /// The checkout that runs belong to.
    project_path: PathBuf,
    root: PathBuf,
    /// Limits of workspaces, and what is kept of them: as the user's files say it at each moment.
    settings: Arc<LiveConfig>,
    store: SqliteStore,
    project: Option<Uuid>,
    /// What is executed in each workspace first; empty: nothing.
    setup: String,
}

impl Desk {
    /// For the repository that the command stands in.
    pub(crate) fn open(session: &Session, store: &SqliteStore) -> Result<Self> {
        let location = session.location()?;
        let checkout = location.checkout.as_ref().map_err(|error| {
            CommandError::failed(format!("it is not known which checkout this is: {error}"))
        })?;
        let checkout = checkout.clone().ok_or_else(|| {
            CommandError::usage("this is not in a repository, so there can be no workspace")
                .because(Cause::Place)
                .cli_hint("change into a repository, or say `--workspace none`")
                .api_hint("say `\"workspace\": {\"kind\": \"none\"}`")
        })?;
        // A clone is a repository of its own; its maker's is meant.
        let checkout = match &location.maker {
            Some(maker) if maker.repository != checkout.repository => maker.clone(),
            _ => checkout,
        };
        let identity =
            location.identity().map_err(|error| CommandError::failed(error.to_string()))?;
        let repository = Repository::of(&session.surroundings, checkout)
            .map_err(|error| CommandError::failed(error.to_string()))?;
        let root = root::find(&session.surroundings, session.config.workspace.folder().as_deref())
            .map_err(|error| CommandError::usage(error.to_string()).because(Cause::Project))?;
        Ok(Self {
            surroundings: Arc::new(session.surroundings.clone()),
            repository,
            project_path: location
                .project_path()
                .map_err(|error| CommandError::failed(error.to_string()))?
                .to_owned(),
            root,
            settings: Arc::clone(&session.live),
            store: store.clone(),
            project: identity.map(|identity| identity.project),
            setup: session.config.workspace.setup.value.trim().to_owned(),
        })
    }

    /// The same for the repository of a workspace that is known.
    pub(crate) fn of(mut self, workspace: &Workspace) -> Result<Self> {
        let failed = |error: &(dyn std::error::Error + 'static)| {
            let failed = CommandError::caused(error);
            let path = workspace.path.display();
            let why = &failed.message;
            let message = format!("the repository of the workspace {path} can't be used: {why}");
            CommandError { message, ..failed }
        };
        let checkout = Checkout::of_folder(&self.surroundings, &workspace.repo_root);
        let checkout = checkout.map_err(|error| failed(&error))?.ok_or_else(|| {
            CommandError::failed(format!(
                "the repository of the workspace {} can't be used: {} is no checkout",
                workspace.path.display(),
                workspace.repo_root.display()
            ))
        })?;
        self.repository =
            Repository::of(&self.surroundings, checkout).map_err(|error| failed(&error))?;
        Ok(self)
    }

    /// The same as seen from a folder of the repository: new workspaces are made from what it has checked out.
    pub(crate) fn standing_in(mut self, folder: &Path) -> Result<Self> {
        let found = Checkout::of_folder(&self.surroundings, folder);
        let found = found.map_err(|error| CommandError::caused(&error))?;
        let found = found
            .ok_or_else(|| CommandError::failed(format!("{} is no checkout", folder.display())))?;
        let repository = Repository::of(&self.surroundings, found);
        self.repository = repository.map_err(|error| CommandError::caused(&error))?;
        Ok(self)
    }

    /// The same for a workspace of whichever repository it is.
    pub(crate) fn at(self, workspace: &Workspace) -> Result<Self> {
        if self.repository.checkout.repository == workspace.repository {
            return Ok(self);
        }
        self.of(workspace)
    }

    /// The same for the repository that a run works in, if it has a workspace of its own: a run that was copied from another
    /// database may work elsewhere.
    pub(crate) async fn at_run(self, run: &RunRecord) -> Result<Self> {
        let id = run.workspace_id.as_deref().and_then(|id| id.parse().ok());
        let workspace = match id {
            Some(id) => self.find(&id).await?,
            None => None,
        };
        match workspace {
            Some(workspace) => self.at(&workspace),
            None => Ok(self),
        }
    }

    /// Whether a run belongs to the checkout that the command stands in, or to another one of its repository.
    pub(crate) fn has_run(&self, run: &RunRecord, workspace: &Workspace) -> bool {
        let is_of_project = self.project.is_some() && self.project == run.project_id;
        is_of_project || self.repository.checkout.repository == workspace.repository
    }

    /// The folder for all workspaces.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What is kept of a workspace that goes.
    pub(crate) fn keeping(&self) -> Keeping {
        self.settings.current().workspace.keeping.kept()
    }

    /// Whether a run's workspace goes when the run ends.
    pub(crate) fn cleans_up(&self) -> bool {
        self.settings.current().workspace.keeping.cleanup_on_complete.value
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn surroundings(&self) -> &Arc<Surroundings> {
        &self.surroundings
    }

    /// What has to be executed in a workspace before a run's code begins; empty: nothing.
    pub(crate) fn setup_of(&self, workspace: &Workspace) -> String {
        let is_done = workspace.state.is_there() && setup::is_done_in(workspace, &self.setup);
        if is_done { String::new() } else { self.setup.clone() }
    }

    /// The workspace of this id, as it is written down.
    pub(crate) async fn find(&self, id: &WorkspaceId) -> Result<Option<Workspace>> {
        let known = self.store.workspace(id.as_str()).await?.as_ref().and_then(workspace_of);
        if known.as_ref().is_none_or(|known| known.repository.exists()) {
            return Ok(known);
        }
        // The repository was moved, or it is gone.
        Ok(self.all().await?.into_iter().find(|workspace| workspace.id == *id))
    }

    /// The workspace at this path, as it is written down.
    pub(crate) async fn find_at(&self, path: &str) -> Result<Option<Workspace>> {
        Ok(self.store.workspace_at(path).await?.as_ref().and_then(workspace_of))
    }

    /// A run begins, or goes on, to work in its workspace; the workspace as it stands then.
    pub(crate) async fn occupy(
        &self,
        run: &RunRecord,
        mut workspace: Workspace,
    ) -> Result<Workspace> {
        let work = Work {
            run: Some(run.id.to_string()),
            run_id: Some(run.run_id.clone()),
            workflow: Some(run.workflow.clone()),
            command: None,
        };
        self.work(move |yard| {
            yard.occupy(&mut workspace, &work, SystemClock.now())?;
            Ok::<_, OccupyError>(workspace)
        })
        .await
    }

    /// Whether a run works in a workspace by right: it is in the hands of a run of the same family.
    pub(crate) async fn is_of_family(
        &self,
        run: &RunRecord,
        workspace: &Workspace,
    ) -> Result<bool> {
        let Some(user) = workspace.run.as_deref().and_then(|user| user.parse().ok()) else {
            return Ok(true);
        };
        Ok(self.eldest(run.id).await? == self.eldest(RunId(user)).await?)
    }

    /// The run that invoked whoever invoked this one, and so on.
    async fn eldest(&self, run: RunId) -> Result<RunId> {
        let mut eldest = run;
        for _ in 0..bounds::INVOKE_DEPTH {
            let parent = match self.store.run_detail(eldest).await {
                Ok(detail) => detail.run.parent_run_id.and_then(|parent| parent.parse().ok()),
                Err(ReadError::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            let Some(parent) = parent else { break };
            eldest = RunId(parent);
        }
        Ok(eldest)
    }

    /// Whether a run is there and has not ended.
    pub(crate) async fn is_open(&self, run: &str) -> bool {
        let Ok(id) = run.parse() else { return false };
        self.store.head(RunId(id)).await.is_ok_and(|head| !head.standing.is_ended())
    }

    /// The other database that a run goes on in, if not in this one, and what to do about it.
    pub(crate) async fn elsewhere(&self, run: &str) -> Option<Elsewhere> {
        Elsewhere::find(&self.store, RunId(run.parse().ok()?)).await
    }

    /// What people call a run.
    pub(crate) async fn name_of(&self, run: &str) -> String {
        let Ok(id) = run.parse() else { return run.to_owned() };
        let detail = self.store.run_detail(RunId(id)).await;
        detail.map_or_else(|_| run.to_owned(), |detail| detail.run.run_id)
    }

    /// Why there is no workspace, with the names that people know.
    pub(crate) async fn told(&self, error: OpenError) -> CommandError {
        let OpenError::InUse { id, run: Some(run), .. } = &error else { return error.into() };
        let name = self.name_of(run).await;
        let other = "name another workspace, or wait for it";
        CommandError::refused(format!("the workspace {id} is in use by the run {name}"))
            .because(Cause::WorkspaceInUse)
            .cli_hint(format!("`agentos logs -f {name}` watches it; {other}"))
            .api_hint(other)
    }

    /// All of them, in line with what is on disk.
    pub(crate) async fn all(&self) -> Result<Vec<Workspace>> {
        if let Err(error) = self.work(|yard| yard.settle()).await {
            tracing::warn!(error = %error.message, "workspaces are not compared with what is on disk");
        }
        Ok(self.store.workspaces().await?.iter().filter_map(workspace_of).collect())
    }

    /// The store, after workspaces were compared with what is on disk; none if there is none and nothing to write into it.
    pub(crate) async fn settled(session: &Session) -> Result<Option<SqliteStore>> {
        let looked = session.look()?;
        let is_unsettled = match &looked {
            Some(store) => match Self::open(session, store) {
                Ok(desk) => desk.work(|yard| yard.is_unsettled()).await.unwrap_or(false),
                Err(_) => false,
            },
            None => {
                let checkout = session.location()?.checkout.as_ref().ok().and_then(Option::as_ref);
                checkout.is_some_and(|checkout| settle::has_marked(&checkout.repository))
            }
        };
        if !is_unsettled {
            return Ok(looked);
        }
        let store = Self::opened(session).await?;
        Self::open(session, &store)?.work(|yard| yard.settle()).await?;
        Ok(Some(store))
    }

    /// The store, made if there is none, in which the project is known: workspaces are written down as the project's.
    pub(crate) async fn opened(session: &Session) -> Result<SqliteStore> {
        let opened = session.open()?;
        let prepared = start::adopt(&opened.store, session.location()?, opened.prepared).await?;
        start::register_project(&opened.store, &prepared).await?;
        Ok(opened.store)
    }

    /// Does something that waits for git or jj.
    pub(crate) async fn work<T, E>(
        &self,
        work: impl FnOnce(&Yard<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        E: Into<CommandError> + Send + 'static,
    {
        let desk = self.clone();
        let done = tokio::task::spawn_blocking(move || desk.work_here(work));
        match done.await {
            Ok(done) => done.map_err(Into::into),
            Err(error) => {
                Err(CommandError::failed(format!("a workspace could not be seen to: {error}")))
            }
        }
    }

    fn work_here<T, E>(&self, work: impl FnOnce(&Yard<'_>) -> Result<T, E>) -> Result<T, E> {
        let database = self.store.path().to_string_lossy().into_owned();
        let store = Arc::new(self.store.clone());
        let ledger = StoreLedger::new(store, Arc::new(SystemClock), self.project, database);
        work(&Yard {
            surroundings: &self.surroundings,
            repository: &self.repository,
            project: &self.project_path,
            root: &self.root,
            policy: &self.settings.current().workspace.policy(),
            ledger: &ledger,
            points: &NoPoints,
        })
    }
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        let failed = Self::caused(&error);
        if failed.is_of_kill() {
            return failed;
        }
        match error {
            OpenError::Root(_) => Self::usage(message).because(Cause::Project),
            OpenError::Isolation(IsolationError::NoSuchBase { .. }) => {
                Self::usage(message).because(Cause::Place).field("/workspace/base")
            }
            OpenError::Isolation(
                IsolationError::NoCommit { .. } | IsolationError::Unsuitable { .. },
            ) => Self::usage(message).because(Cause::Place).field("/workspace/kind"),
            OpenError::Trashed { id } => Self::refused(message)
                .because(Cause::WorkspaceUnusable)
                .cli_hint(format!("`agentos workspace restore {id}` brings it back"))
                .api_hint(format!("`POST /api/workspaces/{id}/restore` brings it back")),
            OpenError::InUse { .. } => Self::refused(message).because(Cause::WorkspaceInUse),
            OpenError::NoRoom(_) => Self::refused(message).because(Cause::DiskFull),
            OpenError::Isolation(IsolationError::Estranged { .. })
            | OpenError::NotIt(_)
            | OpenError::OtherBase { .. }
            | OpenError::OtherKind { .. }
            | OpenError::OtherRepository { .. }
            | OpenError::BranchTaken { .. }
            | OpenError::BranchBlocked { .. }
            | OpenError::PlaceTaken { .. }
            | OpenError::Moved { .. }
            | OpenError::AdoptedGone { .. } => {
                Self::refused(message).because(Cause::WorkspaceUnusable)
            }
            OpenError::Restore(error) => (*error).into(),
            OpenError::Ledger(error) => error.into(),
            OpenError::Isolation(_)
            | OpenError::File(_)
            | OpenError::Removal(_)
            | OpenError::Include(_)
            | OpenError::Rescue(_) => failed,
        }
    }
}

impl From<LedgerError> for CommandError {
    fn from(error: LedgerError) -> Self {
        let failed = Self::failed(error.to_string());
        match (error, failed.cause) {
            (LedgerError::Unusable(_), None) => {
                Self { kind: ErrorKind::Unusable, ..failed }.because(Cause::Database)
            }
            _ => failed,
        }
    }
}
