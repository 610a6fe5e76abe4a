//! What a workflow can know of the run that it is executed for.

use serde::Serialize;

/// Ids and paths of a run, given by whoever executes it. They are the same in every execution of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunInfo {
    /// The run's id.
    pub execution_id: String,
    /// Its short, readable id.
    pub run_id: String,
    /// The project's id.
    pub project_id: String,
    /// Where the project is.
    pub project_path: String,
    /// Where the run works.
    pub workspace_path: String,
}
