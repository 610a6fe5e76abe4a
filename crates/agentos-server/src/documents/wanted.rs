//! What is asked for in bodies. What the description says here is enforced: bodies are checked against it before they are
//! read, so that limits and lengths belong here. Names may also be written as in SQL (`from_step`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::step_name::StepName;

/// A run to be started.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExecuteRequest {
    /// The project. Only needed where the workflow is given by a name that several projects have.
    pub project_id: Option<Uuid>,
    /// What the workflow's input schema asks for.
    pub input: Option<Value>,
    /// Where it works.
    pub workspace: Option<WorkspaceRequest>,
    /// Who works in the place of which agent: `{"claude": "codex"}`, `{"claude": "scripted:scenario.json"}`.
    pub agents: BTreeMap<String, String>,
}

/// Where a run is to work. What is left out is decided by the workflow and the configuration.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct WorkspaceRequest {
    /// The workspace's id: made if there is none.
    pub id: Option<String>,
    /// `auto`, `worktree`, `clone`, `jj`, or `none` for the checkout itself.
    pub kind: Option<String>,
    /// The commit that a new one is made from.
    pub base: Option<String>,
}

/// A project to be served.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectRequest {
    /// An absolute path of its checkout, or of a folder in it.
    #[schema(min_length = 1, example = "/home/me/project")]
    pub path: String,
}

/// Why a run is cancelled.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CancelRequest {
    /// Why.
    pub reason: Option<String>,
}

/// How a run is retried.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryRequest {
    /// With the workflow as it is now, not with the source that the failed run had.
    pub latest: bool,
}

/// How a run goes on.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResumeRequest {
    /// With the workflow as it is now, not with the source that the run started with.
    pub latest: bool,
    /// If somebody drives the run: end that process first. For one that hangs.
    pub take_over: bool,
}

/// From where a new run goes on, and with what.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkRequest {
    /// The step that the new run begins with: its number, or its name.
    pub from_step: StepName,
    /// Who works in the place of which agent.
    #[serde(default)]
    pub agents: BTreeMap<String, String>,
    /// Inputs that are others in the new run.
    #[serde(default)]
    pub input: BTreeMap<String, Value>,
    /// How the new run's workspace is kept apart: `worktree`, `clone` or `jj`.
    #[serde(default)]
    pub workspace: Option<String>,
    /// With the workflow as it is now, not with the source that the run had.
    #[serde(default)]
    pub latest: bool,
}

/// An event for a run.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// What `waitFor` waits for.
    #[schema(min_length = 1)]
    pub event: String,
    /// What it carries.
    #[serde(default)]
    pub payload: Value,
    /// A key of your own: sent twice under one key, it counts once.
    #[serde(default)]
    pub key: Option<String>,
}

/// An answer to a question of a run.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveRequest {
    /// Yes or no. It has to be said: nothing is approved by leaving something out.
    pub approved: bool,
    /// Which question, if the run asks several: a part of its text.
    #[serde(default)]
    pub question: Option<String>,
    /// What is said with the answer.
    #[serde(default)]
    pub comment: Option<String>,
}

/// A remark.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommentRequest {
    /// The remark.
    #[schema(min_length = 1, max_length = 16384)]
    pub message: String,
    /// The step that it is about, by its number; the run itself if left out.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 4_294_967_295u32)]
    pub step_number: Option<u32>,
    /// Whatever else is said.
    #[serde(default)]
    pub metadata: Option<Value>,
}

/// How a workspace is removed.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CleanRequest {
    /// Back up what would be lost, and remove it all the same.
    pub force: bool,
}

/// What a workspace is brought back from.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreRequest {
    /// The number of the backup; the last one if left out.
    #[schema(maximum = 4_294_967_295u32)]
    pub backup: Option<u32>,
}
