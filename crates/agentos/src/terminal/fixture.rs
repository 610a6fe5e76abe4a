//! Documents for tests of this module: small, fixed, with every field filled in by one hand.

use std::sync::LazyLock;

use agentos_core::id::RunId;
use agentos_core::path::{OperationId, StepPath};
use agentos_core::time::Timestamp;
use agentos_store::projection::{StepStatus, WorkflowStatus};
use agentos_store::records::{RunCosts, RunDetail, RunRecord, StepRecord};
use serde_json::json;
use uuid::Uuid;

use super::paint::{ColorChoice, Paint};
use super::{Environment, FamilyView};

/// 2026-11-15 12:03:05 UTC, when every run of the tests began.
pub(crate) const START: Timestamp = Timestamp(1_794_744_185_000);

/// Colours and all signs.
pub(crate) static COLORED_PAINT: LazyLock<Paint> = LazyLock::new(|| {
    Paint::decide(ColorChoice::Always, &environment(&[("LANG", "C.UTF-8")]), true)
});

/// So many milliseconds after the start.
pub(crate) const fn after(ms: i64) -> Timestamp {
    Timestamp(START.0 + ms)
}

/// An environment of these variables.
pub(crate) fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// A pending step at a path.
pub(crate) fn step(number: u32, path: &str) -> StepRecord {
    let name = path.parse::<StepPath>().ok().and_then(|path| path.name());
    let name = name.or_else(|| path.parse::<OperationId>().ok().and_then(|path| path.name()));
    StepRecord {
        id: Uuid::from_u128(u128::from(number)),
        execution_id: run_id(1),
        step_number: number,
        name: name.map_or_else(|| path.to_owned(), |name| name.as_str().to_owned()),
        path: path.to_owned(),
        phase: None,
        status: StepStatus::Pending,
        started_at: None,
        completed_at: None,
        duration: None,
        input: None,
        output: None,
        error: None,
        attempt_number: 1,
        max_attempts: 3,
        log_file_path: None,
        superseded: false,
        created_at: START,
        updated_at: START,
    }
}

/// The step, running since so many milliseconds after the start.
pub(crate) fn running(mut step: StepRecord, since: i64) -> StepRecord {
    step.status = StepStatus::Running;
    step.started_at = Some(after(since));
    step.updated_at = after(since);
    step
}

/// The step, ended so.
pub(crate) fn ended(step: StepRecord, status: StepStatus, (from, to): (i64, i64)) -> StepRecord {
    let mut step = running(step, from);
    step.status = status;
    step.completed_at = Some(after(to));
    step.duration = Some(to - from);
    step.updated_at = after(to);
    step
}

/// The step, whose latest attempt failed with a message.
pub(crate) fn failed(mut step: StepRecord, message: &str) -> StepRecord {
    step.error = Some(json!({ "kind": "error", "message": message }));
    step
}

/// A run id.
pub(crate) const fn run_id(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

/// A running run with these steps.
pub(crate) fn family(short: &str, steps: Vec<StepRecord>) -> FamilyView {
    let workflow = short.rsplit_once('-').map_or(short, |(workflow, _)| workflow);
    let open =
        |step: &&StepRecord| matches!(step.status, StepStatus::Running | StepStatus::Retrying);
    let current = steps.iter().rfind(open).or(steps.last()).cloned();
    let run = RunRecord {
        id: run_id(1),
        execution_id: run_id(1),
        run_id: short.to_owned(),
        workflow_def_id: None,
        project_id: None,
        workflow: workflow.to_owned(),
        definition_hash: "0".repeat(8),
        definition_version: None,
        status: WorkflowStatus::Running,
        interrupted: false,
        elsewhere: None,
        waiting: None,
        current_workflow_step_id: current.as_ref().map(|step| step.id),
        current_step: current,
        started_at: Some(START),
        completed_at: None,
        duration: None,
        branch_name: None,
        commit_sha: None,
        pr_url: None,
        input: None,
        output: None,
        error: None,
        state: None,
        log_file_path: None,
        worktree_id: None,
        work_dir: None,
        workspace_dir: None,
        workspace_id: None,
        context_dir: None,
        parent_run_id: None,
        forked_from: None,
        created_at: START,
        updated_at: START,
        seq: 1,
    };
    let run = RunDetail {
        run,
        steps,
        comments: vec![],
        artifacts: vec![],
        agent_sessions: vec![],
        costs: RunCosts::default(),
    };
    FamilyView { run, children: vec![], lines: vec![], notes: vec![], doing: [].into() }
}
