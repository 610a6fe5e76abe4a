//! Where a run's commands are executed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_core::entry::Home;
use agentos_core::failure::{Failure, FailureKind};
use async_trait::async_trait;

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

/// Knows where runs work.
#[async_trait]
pub trait Grounds: Send + Sync + 'static {
    /// Where a run of this home does.
    ///
    /// # Errors
    /// It has no place, or it can't be found out: a failure of the command that was to be executed there.
    async fn of(&self, home: &Home) -> Result<Ground, Failure>;
}

/// Runs work in their workspaces, as their logs say, and their commands know about it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workspaces;

#[async_trait]
impl Grounds for Workspaces {
    async fn of(&self, home: &Home) -> Result<Ground, Failure> {
        if home.workspace_path.is_empty() {
            let message = "the run has no workspace to execute commands in; start it with one";
            return Err(refused(message.to_owned()));
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
