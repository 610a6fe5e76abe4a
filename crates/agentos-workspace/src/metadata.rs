//! The metadata file of a workspace that AgentOS made: what people and other programs may know about it.
//!
//! It is written whole or not at all, before and after whatever is executed in the workspace. Nothing of ours depends on it
//! but the way from inside to the database.

use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::files::{self, FileError};
use crate::surroundings::Surroundings;
use crate::workspace::{Kind, Workspace};

/// Names the metadata file to everything that runs in a workspace. Empty where there is none.
pub const VARIABLE: &str = "AGENT_WORKSPACE_METADATA";

/// What it is called.
pub const FILE: &str = ".agent-workflow.json";

/// What a workspace says about itself to whoever stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Metadata {
    /// The workspace's id.
    pub workspace_id: String,
    /// The database that its maker used: an absolute path, or the address of a shared store.
    pub database: String,
    /// The checkout that it was made from.
    #[serde(default)]
    pub repo_root: Option<PathBuf>,
}

/// What was last executed in a workspace, and how it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing yet.
    Ready,
    /// It goes on.
    Running,
    /// It ended well.
    Done,
    /// It did not.
    Error,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The workspace's id.
    pub workspace_id: String,
    /// The workflow that is executed in it.
    pub workflow: Option<String>,
    /// The run that is.
    pub run_id: Option<String>,
    /// How it stands.
    pub status: Status,
    /// How it is kept apart.
    pub kind: Kind,
    /// The checkout that it was made from.
    pub repo_root: String,
    /// The database that its maker used: an absolute path, or the address of a shared store.
    pub database: String,
    /// The commit that it was made from.
    pub base: String,
    /// Its branch.
    pub branch: Option<String>,
    /// The command that is executed in it, where it is no run.
    pub command: Option<Vec<String>>,
    /// When it was made.
    pub created_at: String,
    /// When whatever is executed in it began.
    pub started_at: Option<String>,
    /// When that ended.
    pub finished_at: Option<String>,
    /// With which exit status.
    pub exit_code: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
}

impl Document {
    /// What a workspace says before anything was executed in it.
    #[must_use]
    pub fn new(workspace: &Workspace, database: String) -> Self {
        Self {
            workspace_id: workspace.id.to_string(),
            workflow: None,
            run_id: None,
            status: Status::Ready,
            kind: workspace.kind,
            repo_root: workspace.repo_root.to_string_lossy().into_owned(),
            database,
            base: workspace.base.clone(),
            branch: workspace.branch.clone(),
            command: None,
            created_at: written(workspace.created_at),
            started_at: None,
            finished_at: None,
            exit_code: None,
            error: None,
        }
    }

    /// Reads the file of the workspace at this path; none if it is gone.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn load(workspace: &Path) -> Result<Option<Self>, FileError> {
        files::load_json(&workspace.join(FILE))
    }

    /// Writes the file of the workspace at this path, in place of what is there.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn write(&self, workspace: &Path) -> Result<(), FileError> {
        files::write_json(&workspace.join(FILE), self)
    }
}

/// A moment as people and other programs read it: RFC 3339, in UTC, to the millisecond.
#[must_use]
pub fn written(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(moment) => format!("{moment:.3}"),
        Err(_) => at.0.to_string(),
    }
}

/// The metadata file of the workspace that this folder is in, if the environment names one.
///
/// Outside of that workspace the variable means nothing: it is inherited by everything that was started inside, wherever
/// that goes.
#[must_use]
pub fn file_for(surroundings: &Surroundings, folder: &Path) -> Option<PathBuf> {
    let file = Path::new(surroundings.variable(VARIABLE)?);
    let workspace = file.parent()?.canonicalize().ok()?;
    (file.is_absolute() && folder.starts_with(&workspace)).then(|| file.to_owned())
}

/// Reads the file; none if it is gone.
///
/// # Errors
/// [`FileError`]
pub fn load(file: &Path) -> Result<Option<Metadata>, FileError> {
    files::load_json(file)
}
