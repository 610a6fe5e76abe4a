//! What a workflow can know of the run that it is executed for.

use std::collections::BTreeMap;

use agentos_core::entry::{Home, RunStarted};
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
    /// Who works in the place of which agent, and plays which role. Workflows do not see it.
    #[serde(skip)]
    pub agents: BTreeMap<String, String>,
}

impl RunInfo {
    /// What a run says of itself at its start.
    #[must_use]
    pub fn of(start: &RunStarted) -> Self {
        let Home { run_id, project_id, project_path, workspace_path, agents, .. } =
            (*start.home).clone();
        let execution_id = start.run.to_string();
        Self { execution_id, run_id, project_id, project_path, workspace_path, agents }
    }
}
