//! From what somebody asks for to a run that is there: checked, placed, written down, and in somebody's hands.

use std::collections::BTreeMap;

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_process::shell_word::quoted;
use agentos_sdk::{InputError, InputProblem, accept_input};
use agentos_store::records::Records as _;
use agentos_store::sqlite::{Owner, SqliteStore};
use uuid::Uuid;

use crate::catalog::Listed;
use crate::error::{Cause, CommandError, Result};
use crate::inputs::FileInput;
use crate::session::Session;
use crate::start::{self, NewRunRequest, RunNames};
use crate::workspace::choose::Choice;
use crate::workspace::{self, Placed, WorkspaceArgs, choose, setup, tend};
use crate::{cast, foreground, scribe};

/// What is asked for.
pub(crate) struct Order<'a> {
    pub(crate) workflow: &'a Listed,
    /// The run's id, if it was decided before.
    pub(crate) run: Option<RunId>,
    /// It has been [accepted](accept).
    pub(crate) input: Value,
    /// The files that the input names.
    pub(crate) files: Vec<FileInput>,
    /// Who works in the place of which agent, as far as somebody has said so.
    pub(crate) agents: BTreeMap<String, String>,
    pub(crate) place: &'a WorkspaceArgs,
    /// Whether it is left to the background executor.
    pub(crate) is_detached: bool,
}

/// A run that is there.
pub(crate) struct Launched {
    pub(crate) store: SqliteStore,
    pub(crate) run: RunId,
    /// Who has to drive it, if it is not left to the background executor.
    pub(crate) owner: Option<Owner>,
}

/// Starts a run.
pub(crate) async fn launch(session: &Session, order: Order<'_>) -> Result<Launched> {
    let agents = cast::cast(session, order.workflow, &order.agents)?;
    let choice = choose::choose(session, order.place, order.workflow.workspace.as_deref())?;
    if choice != Choice::Checkout && order.place.allow_setup {
        setup::allow(session)?;
    }
    let opened = session.open()?;
    let store = opened.store.clone();
    let prepared = start::adopt(&store, session.location()?, opened.prepared.clone()).await?;
    // What is seen to its end here is ours from the start: an executor that lives must not find it first.
    let owner = if order.is_detached { None } else { Some(foreground::enlist(&store)?) };
    let owned_by = owner.as_ref().map(Owner::id);
    start::register_project(&store, &prepared).await?;
    let run = order.run.unwrap_or_else(|| RunId(Uuid::now_v7()));
    let names = RunNames::of(run, &store, &order.workflow.name).await?;
    let (run, called) = (names.run, (names.run.to_string(), names.run_id.clone()));
    let placed =
        workspace::place(session, &store, (choice, order.place.base.clone()), called).await?;
    let request = NewRunRequest {
        workflow: order.workflow,
        input: order.input,
        files: order.files,
        agents,
        owner: owned_by,
        names,
        placed: &placed,
    };
    start::create(&store, &prepared, request).await?;
    let is_placed = placed.workspace.is_some();
    begin(session, &store, run, placed).await?;
    if is_placed && owner.is_none() {
        tend::leave_if_ended(session, &store, run).await?;
    }
    scribe::write(&store, run).await;
    if owner.is_none() {
        opened.ensure_attended().await?;
    }
    Ok(Launched { store, run, owner })
}

/// The run is there, so its workspace is in use.
async fn begin(session: &Session, store: &SqliteStore, run: RunId, placed: Placed) -> Result<()> {
    match placed.workspace {
        Some(workspace) if !placed.is_shared => {
            let record = store.run_detail(run).await?.run;
            tend::occupy(session, store, &record, workspace).await
        }
        _ => Ok(()),
    }
}

/// Completes an input with the defaults of the workflow's schema. Refuses one that is not what the workflow takes.
pub(crate) fn accept(workflow: &str, schema: Option<&Value>, input: Value) -> Result<Value> {
    accept_input(schema, input).map_err(|error| {
        let mut wrong = CommandError::usage(error.to_string())
            .because(Cause::Input)
            .cli_hint(format!("`agentos run {} --help` lists the inputs", quoted(workflow)))
            .api_hint(format!("`GET /api/workflows/{workflow}` has the schema of its input"));
        if let InputError::Invalid(problems) = error {
            let field =
                |problem: InputProblem| (format!("/input{}", problem.pointer), problem.message);
            wrong.fields = problems.into_iter().map(field).collect();
        }
        wrong
    })
}
