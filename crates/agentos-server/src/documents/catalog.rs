//! What exists without a run: projects, workflows, workspaces.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::execution::Elsewhere;

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
    /// The worktrees whose runs are told as this project's: its own, and others of its repository that are no projects
    /// here. Their ids are unique within a project only.
    pub worktrees: Vec<Worktree>,
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

/// A checkout that runs were started in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Worktree {
    /// `main`, or the worktree's id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Its root.
    pub path: String,
}

/// A workflow that can be started, or could once.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Workflow {
    /// Its id.
    pub id: Uuid,
    /// The project; for one of a worktree that is no project here, that of its repository.
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
    /// The JSON Schema of its input. Its properties were written in the order of `x-order`, where that is there.
    pub input: Option<Value>,
    /// Whether it can be started here.
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
    /// The run that it was made for, or that works in it now.
    pub execution_id: Option<String>,
    /// The other database that this run goes on in, if not in this one.
    pub elsewhere: Option<Elsewhere>,
    /// `worktree`, `clone`, `jj` or `none`.
    pub kind: String,
    /// `creating`, `ready`, `in_use`, `released`, `trashed` or `gone`.
    pub status: String,
    /// Where it is.
    pub path: String,
    /// The git directory of the repository that it was made of.
    pub repository: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// What it was made from.
    pub base: Option<String>,
    /// Whether somebody else made it: then it is not removed.
    pub is_adopted: bool,
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
    pub verdict: Option<Verdict>,
    /// The short name of the run that works in it and has not ended: removed by force, it is missing to that run until it is
    /// brought back, by somebody or by the run itself when it goes on. Null if no run needs it.
    pub needed_by: Option<String>,
}

/// What would be lost with a workspace.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Verdict {
    /// Which workspace.
    pub workspace_id: String,
    /// Where it is.
    pub path: String,
    /// Its kind.
    pub kind: String,
    /// Its branch.
    pub branch: Option<String>,
    /// Whether what is on its branch is in the project already.
    pub integrated: Option<Integrated>,
    /// What is in it.
    pub findings: Vec<Finding>,
    /// Whether it may be removed without force: nothing would be lost.
    pub is_free: bool,
}

/// That what is on a branch is in the project already.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Integrated {
    /// How it came there.
    pub how: String,
    /// The branch that it is in.
    pub into: String,
}

/// Something in a workspace.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Finding {
    /// What: `untracked`, `unpushed` …
    pub what: String,
    /// What that means for the workspace.
    pub weight: Weight,
    /// How many.
    pub count: u64,
    /// How much, in bytes, where that means something.
    pub bytes: Option<u64>,
    /// Some of them.
    pub examples: Vec<String>,
    /// Where they would be kept.
    pub kept: Keeping,
}

/// What something in a workspace means for it.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing would be lost.
    Free,
    /// It is backed up whenever the workspace is removed.
    Saved,
    /// The workspace is removed only by force, after a backup.
    Blocks,
    /// The workspace is not removed.
    Forbids,
}

/// Where something is after its workspace is removed.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// In a backup.
    Backup,
    /// In the archive of that backup.
    Archive,
    /// Where it is: removing the workspace does not touch it.
    InPlace,
    /// Nowhere.
    Nowhere,
}

/// What a workspace can be brought back from.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Backup {
    /// Of which workspace.
    pub workspace_id: String,
    /// Its number: a later one is higher.
    pub number: u32,
    /// The ref that holds it.
    pub reference: String,
    /// The commit that the ref is at.
    pub commit: String,
    /// The archive.
    pub archive: String,
    /// When it was made, to the second.
    #[schema(format = DateTime)]
    pub made_at: String,
}
