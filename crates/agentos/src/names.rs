//! Which run is meant: any unambiguous beginning of its id or its short name.

use agentos_core::id::RunId;
use agentos_store::records::{RecordError, Records as _, RunDetail};
use agentos_store::sqlite::SqliteStore;

use crate::error::{Cause, CommandError, Result};

/// Finds the run of this name.
pub(crate) async fn find(store: &SqliteStore, name: &str) -> Result<RunId> {
    store.find_run(name).await.map_err(|error| match error {
        RecordError::NotFound { .. } => not_found(name),
        RecordError::Ambiguous { prefix, candidates } => {
            CommandError::usage(format!("`{prefix}` could be {}", candidates.join(" or ")))
                .hint("write more of the name, or the whole id")
        }
        other => other.into(),
    })
}

/// Finds the run of this name, with everything about it.
pub(crate) async fn find_detail(store: &SqliteStore, name: &str) -> Result<RunDetail> {
    let run = find(store, name).await?;
    Ok(store.run_detail(run).await?)
}

/// There is no such run.
pub(crate) fn not_found(name: &str) -> CommandError {
    CommandError::not_found(format!("there is no run `{name}`"))
        .because(Cause::NoSuchRun)
        .cli_hint("`agentos status --all` lists the runs of this repository")
        .api_hint("`GET /api/executions` lists the runs")
}
