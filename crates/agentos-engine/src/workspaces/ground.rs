//! Before anything is done in a workspace, it is looked at: what is not the workspace that was made fails the operation,
//! and nothing is done anywhere else in its place.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_core::entry::Home;
use agentos_core::failure::{Failure, FailureKind};
use agentos_store::records::Records;
use agentos_workspace::metadata;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::workspace::setup::Setup;
use agentos_workspace::workspace::verify::verify;
use agentos_workspace::workspace::{Workspace, direnv};
use async_trait::async_trait;

use super::workspace_of;
use crate::shell::{Ground, Grounds};

/// Runs work in their workspaces, which are looked at before.
#[derive(Clone)]
pub struct CheckedWorkspaces {
    records: Arc<dyn Records>,
    surroundings: Arc<Surroundings>,
    setup: Arc<SetUp>,
    has_direnv: bool,
}

/// What is executed in each workspace before anything else.
#[derive(Debug, Clone, Default)]
pub enum SetUp {
    /// Nothing.
    #[default]
    Nothing,
    /// This.
    With(Setup),
    /// Something that nobody has approved: nothing is done in workspaces of ours until then.
    NotApproved {
        /// The command.
        command: String,
    },
}

impl CheckedWorkspaces {
    /// The workspaces of a store, as git sees them in these surroundings.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, surroundings: Surroundings) -> Self {
        let surroundings = Arc::new(surroundings);
        Self { records, surroundings, setup: Arc::default(), has_direnv: false }
    }

    /// With something that is executed in each of them first.
    #[must_use]
    pub fn set_up(mut self, setup: SetUp) -> Self {
        self.setup = Arc::new(setup);
        self
    }

    /// With the environment that their `.envrc` makes, or without.
    #[must_use]
    pub const fn direnv(mut self, has_direnv: bool) -> Self {
        self.has_direnv = has_direnv;
        self
    }

    async fn workspace(&self, home: &Home) -> Result<Option<Workspace>, Failure> {
        let rows = self.records.workspaces().await;
        let rows = rows.map_err(|error| {
            Failure::new(FailureKind::Error, format!("workspaces can't be looked up: {error}"))
        })?;
        let known = rows.iter().filter(|row| row.path == home.workspace_path);
        Ok(known.filter_map(workspace_of).find(|workspace| workspace.state.is_there()))
    }
}

#[async_trait]
impl Grounds for CheckedWorkspaces {
    async fn of(&self, home: &Home) -> Result<Ground, Failure> {
        if home.workspace_path.is_empty() {
            let message = "the run has no workspace to work in; start it with one";
            return Err(refused(message.to_owned()));
        }
        let known = self.workspace(home).await?;
        let path = PathBuf::from(&home.workspace_path);
        let env = match known {
            Some(workspace) => {
                let file = workspace.path.join(metadata::FILE).display().to_string();
                let id = workspace.id.to_string();
                self.check(workspace, environment(home, id, file)).await?
            }
            None if home.workspace_path == home.project_path => {
                environment(home, home.run_id.clone(), String::new())
            }
            None => {
                return Err(refused(format!(
                    "the workspace {} is gone; `agentos resume` makes it again from its branch",
                    path.display()
                )));
            }
        };
        Ok(Ground { path, env })
    }
}

impl CheckedWorkspaces {
    /// Looks at it, and sets it up if nobody has yet. The environment that whatever works there finds.
    async fn check(
        &self,
        workspace: Workspace,
        env: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let has_direnv = self.has_direnv;
        let (surroundings, setup) = (Arc::clone(&self.surroundings), Arc::clone(&self.setup));
        let looked = tokio::task::spawn_blocking(move || {
            verify(&surroundings, &workspace).map_err(|error| {
                refused(format!(
                    "{error}; nothing was done. `agentos workspace status` shows it, `agentos resume` makes one that is \
                     gone again"
                ))
            })?;
            let mut env = env;
            if has_direnv {
                let more = direnv::environment(&surroundings, &workspace);
                let mut more = more.map_err(|error| refused(error.to_string()))?;
                more.append(&mut env);
                env = more;
            }
            set_up(&setup, &workspace, env.clone())?;
            Ok(env)
        });
        looked.await.unwrap_or_else(|error| {
            Err(refused(format!("the workspace can't be looked at: {error}")))
        })
    }
}

fn set_up(
    setup: &SetUp,
    workspace: &Workspace,
    env: BTreeMap<String, String>,
) -> Result<(), Failure> {
    match setup {
        SetUp::Nothing => Ok(()),
        SetUp::With(setup) => {
            let env = setup.env.clone().into_iter().chain(env).collect();
            let setup = Setup { env, ..setup.clone() };
            let done = setup.ensure(workspace);
            done.map_err(|error| Failure::new(FailureKind::Error, error.to_string()))
        }
        SetUp::NotApproved { command } => Err(refused(format!(
            "the repository's setup command is not approved: `{command}`; if you trust it, say `--allow-setup` once with \
             `agentos run` or `agentos resume`"
        ))),
    }
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

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}
