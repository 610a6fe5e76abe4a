//! What a workflow can know of the run that it is executed for.

use std::path::PathBuf;

use agentos_core::entry::{Home, RunStarted};
use agentos_core::retry::RetryPolicy;

/// Ids and paths of a run, given by whoever executes it. They are the same in every execution of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// The run's id.
    pub execution_id: String,
    /// Its short, readable id.
    pub run_id: String,
    /// The project's id.
    pub project_id: String,
    /// Where the project is.
    pub project_path: PathBuf,
    /// Where the run works.
    pub workspace_path: PathBuf,
}

impl RunInfo {
    /// What a run says of itself at its start.
    #[must_use]
    pub fn of(start: &RunStarted) -> Self {
        let Home { run_id, project_id, project_path, workspace_path, .. } = (*start.home).clone();
        Self {
            execution_id: start.run.to_string(),
            run_id,
            project_id,
            project_path: project_path.into(),
            workspace_path: workspace_path.into(),
        }
    }
}

/// What all `ctx` objects of one execution share. Its address tells runs apart.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) info: RunInfo,
    /// How steps are retried that say nothing about it.
    pub(crate) retry: RetryPolicy,
}
