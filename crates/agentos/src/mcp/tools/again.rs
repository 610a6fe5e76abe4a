//! New runs out of recorded ones, left to the background executor: a retry of what failed, a fork from a step.

use std::collections::BTreeMap;

use agentos_core::value::Value;
use agentos_store::records::Records as _;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Deed, Scene, Tool};
use crate::commands::{fork, retry};
use crate::error::{CommandError, Result};
use crate::mcp::answer::Answer;
use crate::mcp::permission::Permission;
use crate::serve::check_scenarios;

/// `retry_run`
pub(super) struct RetryRun;

/// What to retry.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Retried {
    /// The run that failed: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// With the workflow as it is now, not with the source that the failed run had.
    #[serde(default)]
    latest: bool,
}

impl Tool for RetryRun {
    const NAME: &'static str = "retry_run";
    const TITLE: &'static str = "Retry a failed run";
    const DESCRIPTION: &'static str = "Starts a new run that does again what failed in another one and keeps what that one has \
        finished, in the same workspace. Answers at once with the new run's document; it goes on in the background. With \
        `latest` it uses the workflow as it is now, which is how a fixed workflow mends a failed run.";
    const DEED: Deed = Deed::Acts(Permission::Run);
    type Arguments = Retried;

    async fn call(scene: &Scene, Retried { run, latest }: Retried) -> Result<Answer> {
        let session = scene.at(&run).await?;
        let (record, _) =
            retry::detached(&session, &run, retry::How { latest, from_afar: true }).await?;
        let store = session.look_for(&record.run_id)?;
        Answer::document(&store.run_detail(record.id).await?)
    }
}

/// `fork_run`
pub(super) struct ForkRun;

/// What to fork, where, and what is to be different.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Forked {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// The step that the new run begins with: its number as text, or its name.
    from_step: String,
    /// With the workflow as it is now, not with the source that the run had.
    #[serde(default)]
    latest: bool,
    /// Inputs that are different in the new run.
    #[serde(default)]
    input: BTreeMap<String, Value>,
    /// Which agent takes the place of which: {"claude": "codex"}.
    #[serde(default)]
    agents: BTreeMap<String, String>,
}

impl Tool for ForkRun {
    const NAME: &'static str = "fork_run";
    const TITLE: &'static str = "Fork a run";
    const DESCRIPTION: &'static str = "Starts a new run from before some step of another one, in a workspace of its own with the \
        files as they were then. What the other run had finished before that step is kept. Answers at once with the new run's \
        document; it goes on in the background. With `latest` it uses the workflow as it is now.";
    const DEED: Deed = Deed::Acts(Permission::Run);
    type Arguments = Forked;

    async fn call(scene: &Scene, wanted: Forked) -> Result<Answer> {
        let Forked { run, from_step, latest, input, agents } = wanted;
        let session = scene.at(&run).await?;
        let location = session.location()?;
        let project =
            location.project_path().map_err(|error| CommandError::failed(error.to_string()))?;
        check_scenarios(project, &agents)?;
        let agents = agents.into_iter().map(|(name, other)| format!("{name}={other}"));
        let wanted = fork::Wanted {
            from_step,
            agents: agents.collect(),
            input: input.into_iter().collect(),
            workspace: None,
            latest,
        };
        let (names, _) = fork::detached(&session, &run, wanted).await?;
        let store = session.look_for(&names.run_id)?;
        Answer::document(&store.run_detail(names.run).await?)
    }
}
