//! Where a run's commands are executed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_core::entry::{Hold, Home, OperationResult};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{Attempt, RunId, Try};
use agentos_core::path::OperationId;
use agentos_workspace::stale_lock;
use async_trait::async_trait;

use crate::performer::{Order, Performed};
use crate::travel::attempt_around;

/// The file that a workspace of ours has.
const METADATA: &str = ".agent-workflow.json";

/// Where a run's commands are executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The folder that no command's working directory leaves.
    pub path: PathBuf,
    /// What every command finds in its environment there.
    pub env: BTreeMap<String, String>,
}

/// Somebody who is about to work for a run.
#[derive(Debug, Clone, Copy)]
pub struct Visitor<'a> {
    /// The run.
    pub run: RunId,
    /// Where it belongs and works.
    pub home: &'a Home,
    /// What is to be done there.
    pub operation: &'a OperationId,
    /// What a person has approved for that.
    pub granted: Option<&'a str>,
}

impl Order {
    /// Whoever performs this.
    #[must_use]
    pub fn visitor(&self) -> Visitor<'_> {
        let granted = self.granted.as_deref();
        Visitor { run: self.run, home: &self.home, operation: &self.operation, granted }
    }

    /// Whether it may have been performed before, at least in part: by an earlier try or owner, or in an earlier attempt of its
    /// step.
    pub(crate) fn is_again(&self) -> bool {
        self.recovered
            || self.r#try > Try::FIRST
            || attempt_around(&self.operation.scope()) > Attempt::FIRST
    }
}

/// Why nothing is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// It fails.
    Failed(Failure),
    /// Not yet.
    Held(Hold),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for Performed {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(failure) => {
                Self::Ended(OperationResult::Failed { failure: failure.bounded() })
            }
            Refusal::Held(hold) => Self::Held(hold),
        }
    }
}

/// Knows where runs work.
#[async_trait]
pub trait Grounds: Send + Sync + 'static {
    /// Where whoever comes for a run may work.
    ///
    /// # Errors
    /// It has no place, it can't be found out, or it has to wait: the same for what was to be done there.
    async fn of(&self, visitor: Visitor<'_>) -> Result<Ground, Refusal>;
}

/// Runs work in their workspaces, as their logs say, and their commands know about it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workspaces;

#[async_trait]
impl Grounds for Workspaces {
    async fn of(&self, Visitor { home, .. }: Visitor<'_>) -> Result<Ground, Refusal> {
        if home.workspace_path.is_empty() {
            let message = "the run has no workspace to execute commands in; start it with one";
            return Err(refused(message.to_owned()).into());
        }
        let path = PathBuf::from(&home.workspace_path);
        let metadata = path.join(METADATA);
        let metadata =
            if metadata.exists() { metadata.display().to_string() } else { String::new() };
        let env = [
            ("AGENT_WORKSPACE_ID", home.run_id.clone()),
            ("AGENT_WORKSPACE_PATH", home.workspace_path.clone()),
            ("AGENT_WORKSPACE_METADATA", metadata),
            ("AGENT_WORKSPACE_REPO_ROOT", home.project_path.clone()),
        ];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Ground { path, env })
    }
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}

impl Ground {
    /// Removes the locks that gits which died have left here, before a program begins. `is_again` says that the order was
    /// performed before. If the locks can't be removed the program is executed all the same: it may not need them, and says so if
    /// it does.
    pub(crate) async fn unlock(&self, is_again: bool) {
        let path = self.path.clone();
        let removed =
            tokio::task::spawn_blocking(move || stale_lock::remove_left_in(&path, is_again));
        match removed.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "locks of git may be left in a workspace"),
            Err(error) => tracing::warn!(%error, "looking for locks of git panicked"),
        }
    }

    /// A folder inside, by its real path: neither `..` nor a symbolic link leads out.
    pub(crate) fn inside(&self, folder: Option<&str>) -> Result<PathBuf, Failure> {
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(|error| refused(format!("{} can't be used: {error}", path.display())))
        };
        let ground = real(&self.path)?;
        let wanted =
            folder.map_or_else(|| Ok(ground.clone()), |folder| real(&ground.join(folder)))?;
        if wanted.starts_with(&ground) {
            return Ok(wanted);
        }
        Err(refused(format!(
            "`{}` leads out of the workspace; name a folder inside of it",
            folder.unwrap_or_default()
        )))
    }
}
