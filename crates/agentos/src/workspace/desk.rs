//! Whoever makes and finds workspaces here: the repository, the folder for them, and the ledger in the database.
//!
//! git and jj take their time, so the work is done on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_engine::clock::SystemClock;
use agentos_engine::workspaces::{StoreLedger, workspace_of};
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::backup::Keeping;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::isolation::IsolationError;
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::policy::Policy;
use agentos_workspace::workspace::repository::Repository;
use agentos_workspace::workspace::root;
use agentos_workspace::workspace::settle;
use agentos_workspace::workspace::yard::{OpenError, Yard};
use uuid::Uuid;

use crate::error::{CommandError, Result};
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
    policy: Policy,
    store: SqliteStore,
    project: Option<Uuid>,
    keeping: Keeping,
    cleans_up: bool,
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
                .hint("change into a repository, or say `--workspace none`")
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
            .map_err(|error| CommandError::usage(error.to_string()))?;
        Ok(Self {
            surroundings: Arc::new(session.surroundings.clone()),
            repository,
            project_path: location
                .project_path()
                .map_err(|error| CommandError::failed(error.to_string()))?
                .to_owned(),
            root,
            policy: session.config.workspace.policy(),
            store: store.clone(),
            project: identity.map(|identity| identity.project),
            keeping: session.config.workspace.keeping.kept(),
            cleans_up: session.config.workspace.keeping.cleanup_on_complete.value,
        })
    }

    /// The same for the repository of a workspace that is known.
    pub(crate) fn of(mut self, workspace: &Workspace) -> Result<Self> {
        let failed = |error: String| {
            let message = format!(
                "the repository of the workspace {} can't be used: {error}",
                workspace.path.display()
            );
            CommandError::failed(message)
        };
        let checkout = Checkout::of_folder(&self.surroundings, &workspace.repo_root);
        let checkout = checkout.map_err(|error| failed(error.to_string()))?;
        let checkout = checkout
            .ok_or_else(|| failed(format!("{} is no checkout", workspace.repo_root.display())))?;
        self.repository = Repository::of(&self.surroundings, checkout)
            .map_err(|error| failed(error.to_string()))?;
        Ok(self)
    }

    /// The same as seen from a folder of the repository: new workspaces are made from what it has checked out.
    pub(crate) fn standing_in(mut self, folder: &Path) -> Result<Self> {
        let failed = |error: String| CommandError::failed(error);
        let found = Checkout::of_folder(&self.surroundings, folder);
        let found = found.map_err(|error| failed(error.to_string()))?;
        let found = found.ok_or_else(|| failed(format!("{} is no checkout", folder.display())))?;
        self.repository =
            Repository::of(&self.surroundings, found).map_err(|error| failed(error.to_string()))?;
        Ok(self)
    }

    /// The same for a workspace of whichever repository it is.
    pub(crate) fn at(self, workspace: &Workspace) -> Result<Self> {
        if self.repository.checkout.repository == workspace.repository {
            return Ok(self);
        }
        self.of(workspace)
    }

    /// The folder for all workspaces.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What is kept of a workspace that goes.
    pub(crate) fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Whether a run's workspace goes when the run ends.
    pub(crate) fn cleans_up(&self) -> bool {
        self.cleans_up
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn surroundings(&self) -> &Arc<Surroundings> {
        &self.surroundings
    }

    /// The workspace of this id, as it is written down.
    pub(crate) async fn find(&self, id: &WorkspaceId) -> Result<Option<Workspace>> {
        Ok(self.all().await?.into_iter().find(|workspace| workspace.id == *id))
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
            policy: &self.policy,
            ledger: &ledger,
            points: &NoPoints,
        })
    }
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        match error {
            OpenError::Root(_) => Self::usage(message),
            OpenError::Isolation(
                IsolationError::NoCommit { .. }
                | IsolationError::NoSuchBase { .. }
                | IsolationError::Unsuitable { .. },
            ) => Self::usage(message),
            OpenError::NotIt(_)
            | OpenError::OtherBase { .. }
            | OpenError::OtherKind { .. }
            | OpenError::OtherRepository { .. }
            | OpenError::BranchTaken { .. }
            | OpenError::BranchBlocked { .. }
            | OpenError::PlaceTaken { .. }
            | OpenError::Moved { .. }
            | OpenError::Trashed { .. } => Self::refused(message),
            OpenError::Restore(error) => (*error).into(),
            OpenError::Isolation(_)
            | OpenError::Ledger(_)
            | OpenError::File(_)
            | OpenError::Removal(_)
            | OpenError::Include(_)
            | OpenError::Rescue(_) => Self::failed(message),
        }
    }
}
