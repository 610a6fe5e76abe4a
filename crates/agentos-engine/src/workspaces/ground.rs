//! Before anything is done in a workspace, it is looked at: what is not the workspace that was made fails the operation,
//! and nothing is done anywhere else in its place.
//!
//! What is missing is brought back first. What a person has to approve, or what there is no room for, is waited for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_core::entry::{Hold, HoldKind, Home};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use agentos_process::tool::killed_by;
use agentos_store::records::Records;
use agentos_workspace::metadata;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::workspace::direnv::DirenvError;
use agentos_workspace::workspace::snapshot::filled::{is_filled, settle};
use agentos_workspace::workspace::snapshot::is_half_returned;
use agentos_workspace::workspace::verify::{VerifyError, verify_quickly};
use agentos_workspace::workspace::{Workspace, direnv};
use async_trait::async_trait;
use tokio::sync::Mutex;

use super::set_up::SetUp;
use super::workspace_of;
use crate::clock::{Clock as _, SystemClock};
use crate::library::prelude;
use crate::shell::{Ground, Grounds, Refusal, Visitor};
use crate::tool_hold;

/// Who brings back workspaces that are gone.
#[async_trait]
pub trait Keeper: Send + Sync + 'static {
    /// Brings back the workspace that a run works in: from what was kept of it, or from its branch.
    ///
    /// # Errors
    /// There can be none, or there is no room for it yet.
    async fn bring_back(&self, run: RunId, home: &Home) -> Result<Workspace, Refusal>;

    /// Finishes what takes the files of a workspace back to where they were, and did not come to its end.
    ///
    /// # Errors
    /// It can't be finished: the files are neither the ones nor the others.
    async fn finish_return(&self, run: RunId, workspace: &Workspace) -> Result<(), Refusal>;

    /// Keeps the files of the workspace of a run while it is set up. Asked again before they were put back, nothing happens.
    ///
    /// # Errors
    /// They can't be kept.
    async fn put_aside(&self, run: RunId, workspace: &Workspace) -> Result<(), Refusal>;

    /// Puts back what was put aside.
    ///
    /// # Errors
    /// It can't be put back.
    async fn put_back(&self, run: RunId, workspace: &Workspace) -> Result<(), Refusal>;
}

/// Runs work in their workspaces, which are looked at before.
#[derive(Clone)]
pub struct CheckedWorkspaces {
    records: Arc<dyn Records>,
    surroundings: Arc<Surroundings>,
    setup: Arc<SetUp>,
    keeper: Option<Arc<dyn Keeper>>,
    has_direnv: bool,
    /// Held by whoever sets up a workspace that has the files of a snapshot.
    filling: Arc<Mutex<()>>,
}

impl CheckedWorkspaces {
    /// The workspaces of a store, as git sees them in these surroundings.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, surroundings: Surroundings) -> Self {
        let surroundings = Arc::new(surroundings);
        let (setup, filling) = (Arc::default(), Arc::default());
        Self { records, surroundings, setup, keeper: None, has_direnv: false, filling }
    }

    /// With something that is executed in each of them first.
    #[must_use]
    pub fn set_up(mut self, setup: SetUp) -> Self {
        self.setup = Arc::new(setup);
        self
    }

    /// With somebody who brings back those that are gone.
    #[must_use]
    pub fn kept_by(mut self, keeper: impl Keeper) -> Self {
        self.keeper = Some(Arc::new(keeper));
        self
    }

    /// With the environment that their `.envrc` makes, or without.
    #[must_use]
    pub const fn direnv(mut self, has_direnv: bool) -> Self {
        self.has_direnv = has_direnv;
        self
    }

    pub(super) fn records(&self) -> &dyn Records {
        &*self.records
    }

    pub(super) fn surroundings(&self) -> &Arc<Surroundings> {
        &self.surroundings
    }

    /// The workspace that a run works in, as it is written down.
    pub(super) async fn workspace(&self, home: &Home) -> Result<Option<Workspace>, Failure> {
        let row = self.records.workspace_at(&home.workspace_path).await;
        let row = row.map_err(|error| {
            Failure::new(FailureKind::Error, format!("workspaces can't be looked up: {error}"))
        })?;
        Ok(row.as_ref().and_then(workspace_of))
    }

    /// The workspace that a run works in, there and as it should be.
    async fn sound(&self, visitor: Visitor<'_>, known: Workspace) -> Result<Workspace, Refusal> {
        if !known.state.is_there() {
            return self.brought_back(visitor).await;
        }
        let (surroundings, found) = (Arc::clone(&self.surroundings), known.clone());
        let looked = blocking(move || Ok(verify_quickly(&surroundings, &found))).await?;
        match looked {
            Ok(()) => {
                self.finish_return(visitor, &known).await?;
                Ok(known)
            }
            Err(VerifyError::Missing { .. }) => self.brought_back(visitor).await,
            Err(error) if let Some(killed) = killed_by(&error) => {
                let run = self.records.run_detail(visitor.run).await;
                let since = run.map_or_else(|_| SystemClock.now(), |detail| detail.run.created_at);
                Err(Refusal::Held(tool_hold::hold(error.to_string(), since, killed.is_helper)))
            }
            Err(error) => Err(refused(format!(
                "{error}; nothing was done. `agentos workspace status` shows it"
            ))
            .into()),
        }
    }

    /// Nothing is done where files are halfway back to where they were.
    async fn finish_return(
        &self,
        visitor: Visitor<'_>,
        workspace: &Workspace,
    ) -> Result<(), Refusal> {
        if !is_half_returned(workspace) {
            return Ok(());
        }
        match &self.keeper {
            Some(keeper) => keeper.finish_return(visitor.run, workspace).await,
            None => Err(refused(format!(
                "the files in {} are halfway back to where they were; `agentos retry` brings them there",
                workspace.path.display()
            ))
            .into()),
        }
    }

    async fn brought_back(&self, visitor: Visitor<'_>) -> Result<Workspace, Refusal> {
        match &self.keeper {
            Some(keeper) => keeper.bring_back(visitor.run, visitor.home).await,
            None => Err(refused(format!(
                "the workspace {} is gone; `agentos resume` makes it again",
                visitor.home.workspace_path
            ))
            .into()),
        }
    }
}

#[async_trait]
impl Grounds for CheckedWorkspaces {
    async fn of(&self, visitor: Visitor<'_>) -> Result<Ground, Refusal> {
        let home = visitor.home;
        if home.workspace_path.is_empty() {
            let message = "the run has no workspace to work in; start it with one";
            return Err(refused(message.to_owned()).into());
        }
        let path = PathBuf::from(&home.workspace_path);
        let env = match self.workspace(home).await? {
            Some(known) => {
                let workspace = self.sound(visitor, known).await?;
                let file = workspace.path.join(metadata::FILE).display().to_string();
                let id = workspace.id.to_string();
                let env = environment(home, id, file);
                match is_filled(&workspace) {
                    true => self.enter_filled(visitor, workspace, env).await?,
                    false => self.enter(visitor, workspace, env).await?,
                }
            }
            None if home.workspace_path == home.project_path => {
                environment(home, home.run_id.clone(), String::new())
            }
            None => {
                return Err(refused(format!(
                    "the workspace {} is not known to the database; nothing was done",
                    path.display()
                ))
                .into());
            }
        };
        Ok(Ground { path, env })
    }
}

impl CheckedWorkspaces {
    /// The same where the files are those of a snapshot: they are so again when it is set up.
    async fn enter_filled(
        &self,
        visitor: Visitor<'_>,
        workspace: Workspace,
        env: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Refusal> {
        let _alone = self.filling.lock().await;
        let is_setup = prelude::is_setup(visitor.home, visitor.operation);
        let keeper = self.keeper.as_ref().filter(|_| self.setup.setup.is_some() && !is_setup);
        if !is_filled(&workspace) {
            return self.enter(visitor, workspace, env).await;
        }
        if let Some(keeper) = keeper {
            keeper.put_aside(visitor.run, &workspace).await?;
        }
        let env = self.enter(visitor, workspace.clone(), env).await?;
        if let Some(keeper) = keeper {
            keeper.put_back(visitor.run, &workspace).await?;
        }
        settle(&workspace).map_err(|error| refused(error.to_string()))?;
        Ok(env)
    }

    /// The environment that whatever works there finds; set up, if nobody has done that yet.
    async fn enter(
        &self,
        visitor: Visitor<'_>,
        workspace: Workspace,
        env: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Refusal> {
        let (has_direnv, setup) = (self.has_direnv, Arc::clone(&self.setup));
        let surroundings = Arc::clone(&self.surroundings);
        let granted = visitor.granted.map(str::to_owned);
        let is_setup = prelude::is_setup(visitor.home, visitor.operation);
        let command = visitor.home.setup.clone();
        blocking(move || {
            let granted = granted.as_deref();
            let mut env = env;
            if has_direnv {
                let mut more = from_direnv(&surroundings, &workspace, granted)?;
                more.append(&mut env);
                env = more;
            }
            match is_setup {
                true => setup.check(&workspace, &command, granted)?,
                false => setup.ensure(&workspace, (&command, &env), granted)?,
            }
            Ok(env)
        })
        .await
    }
}

/// What the workspace's `.envrc` makes. One that nobody has allowed is asked about.
fn from_direnv(
    surroundings: &Surroundings,
    workspace: &Workspace,
    granted: Option<&str>,
) -> Result<BTreeMap<String, String>, Refusal> {
    let failed = |error: DirenvError| Refusal::from(refused(error.to_string()));
    let made = match direnv::environment(surroundings, workspace) {
        Err(DirenvError::Blocked { hash, .. }) if granted == Some(&hash) => {
            direnv::allow_approved(surroundings, workspace, &hash).map_err(failed)?;
            direnv::environment(surroundings, workspace)
        }
        made => made,
    };
    made.map_err(|error| match error {
        DirenvError::Blocked { path, why, hash } => Refusal::Held(Hold {
            kind: HoldKind::Approval,
            message: format!(
                "{} is not approved: {why}. Execute it before everything that works there?",
                path.display()
            ),
            subject: Some(hash),
            until: None,
            limit: None,
        }),
        error => failed(error),
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(refused(format!("the workspace can't be looked at: {error}")).into())
    })
}

fn environment(home: &Home, id: String, metadata: String) -> BTreeMap<String, String> {
    let env = [
        ("AGENT_WORKSPACE_ID", id),
        ("AGENT_WORKSPACE_PATH", home.workspace_path.clone()),
        (metadata::VARIABLE, metadata),
        ("AGENT_WORKSPACE_REPO_ROOT", home.project_path.clone()),
    ];
    env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(super) fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}
