//! What exists without a run: projects, workflows, workspaces.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// One checkout whose runs are served.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Project {
    /// Made once.
    pub id: Uuid,
    /// For people.
    pub name: String,
    /// Its root.
    pub path: String,
    /// `main`, or the worktree's id.
    pub worktree_id: String,
    /// The git directory that it shares with other checkouts; null outside of repositories.
    pub repository: Option<String>,
    /// The file that its runs are kept in.
    pub database: String,
    /// How many workflows were found.
    pub workflows: u64,
    /// Templates that can't be used, and why.
    pub problems: Vec<String>,
    /// When it was first written down.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// A workflow that can be started, or could once.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Workflow {
    /// Its id.
    pub id: Uuid,
    /// The project.
    pub project_id: Uuid,
    /// Its name, unique in its project.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// The version that it is at: a number that grows when its source changes.
    pub version: u32,
    /// The file, relative to the project; null if the program brings it along.
    pub file_path: Option<String>,
    /// What `createWorkflow` was given.
    pub config: Option<Value>,
    /// The JSON Schema of its input.
    pub input: Option<Value>,
    /// Whether it can be started.
    pub is_active: bool,
    /// When it was first found.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// A workflow with its source, its versions and how its runs went.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkflowDetail {
    /// The workflow.
    #[serde(flatten)]
    pub workflow: Workflow,
    /// Its modules as they are now, by their paths; the one it begins with first. Null if it is no template.
    pub source: Option<Value>,
    /// Its versions, latest first.
    pub versions: Vec<WorkflowVersion>,
    /// How its runs went.
    pub statistics: Statistics,
}

/// One version of a workflow.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkflowVersion {
    /// Counted from 1 as the source changes.
    pub version: u32,
    /// The hash of its modules.
    pub hash: String,
    /// The author's own version.
    pub author_version: Option<String>,
    /// When it was found.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// How the runs of a workflow went.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Statistics {
    /// How many there are.
    pub runs: u64,
    /// How many of each status.
    pub by_status: BTreeMap<String, u64>,
    /// How long those that were completed took on average, in milliseconds.
    pub average_duration: Option<f64>,
    /// When the latest was started.
    #[schema(format = DateTime)]
    pub last_started_at: Option<String>,
}

/// An isolated checkout.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Workspace {
    /// Its id.
    pub id: String,
    /// The project that it was made for; null if that was removed.
    pub project_id: Option<Uuid>,
    /// `worktree`, `clone`, `jj` or `none`.
    pub kind: String,
    /// `creating`, `ready`, `in_use`, `released`, `trashed` or `gone`.
    pub status: String,
    /// Where it is.
    pub path: String,
    /// Its branch.
    pub branch: Option<String>,
    /// What it was made from.
    pub base: Option<String>,
    /// Whatever else is known.
    pub detail: Option<Value>,
    /// How often it was written down.
    pub version: u32,
    /// When it was first written down.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last written down.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// A workspace with its size and what would be lost with it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkspaceDetail {
    /// The workspace.
    #[serde(flatten)]
    pub workspace: Workspace,
    /// How large it is, in bytes; null if it is not there.
    pub size_bytes: Option<u64>,
    /// What would be lost with it; null if it is not there.
    pub verdict: Option<Value>,
}
