//! What is done to runs. Every answer is the run's document, as it is then.

use agentos_core::id::RunId;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::executions::detail;
use super::refusals::{OfRun, Refuses, Sent};
use crate::access::may::{Decide, May, Run};
use crate::asked::{Given, Nothing, TheRun};
use crate::documents::{
    ApproveRequest, CancelRequest, CommentRequest, ExecutionDetail, ExecutionWithNotes,
    ForkRequest, ResumeRequest, RetryRequest, SignalRequest, StepName,
};
use crate::house::errors::{
    ApproveError, CancelError, CommentError, ForkError, OperationsError, ResumeError, RetryError,
    SignalError,
};
use crate::house::{Approval, DerivedRun, Event, Fork, Remark, Resumption};
use crate::problem::Problem;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(cancel))
        .routes(routes!(resume))
        .routes(routes!(retry))
        .routes(routes!(fork))
        .routes(routes!(signal))
        .routes(routes!(approve))
        .routes(routes!(comment))
}

/// What every one of them may meet, whatever its own error tells.
type Refused<E> = Refuses<(OfRun, Sent, E, OperationsError)>;

async fn shown(state: &AppState, run: RunId) -> Result<Value, Problem> {
    let found = state.find_run(&run.to_string()).await?;
    detail(state, found).await
}

/// A new run, and where it is.
type Created = (StatusCode, [(header::HeaderName, String); 1], Json<Value>);

pub(super) async fn created(state: &AppState, run: RunId) -> Result<Created, Problem> {
    let location = [(header::LOCATION, format!("/api/executions/{run}"))];
    Ok((StatusCode::CREATED, location, Json(shown(state, run).await?)))
}

/// The same for one that was made out of another one.
async fn derived(
    state: &AppState,
    DerivedRun { run, notes }: DerivedRun,
) -> Result<Created, Problem> {
    let (status, location, Json(document)) = created(state, run).await?;
    Ok((status, location, Json(with_notes(document, notes))))
}

fn with_notes(mut document: Value, notes: Vec<String>) -> Value {
    document["notes"] = notes.into();
    document
}

/// End a run and what it has started
///
/// Answers when the run has ended, or after 20 seconds. A run that has ended already stays as it is.
#[utoipa::path(post, path = "/api/executions/{id}/cancel", operation_id = "cancelExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = Option<CancelRequest>,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Refused<CancelError>),
)]
async fn cancel(
    State(state): State<AppState>,
    _: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<CancelRequest>,
) -> Result<Json<Value>, Problem> {
    let id = run.run.id;
    state.house.cancel(run, given.reason).await?;
    shown(&state, id).await.map(Json)
}

/// Let a run go on that nobody drives
#[utoipa::path(post, path = "/api/executions/{id}/resume", operation_id = "resumeExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = Option<ResumeRequest>,
    responses((status = 200, description = "The run.", body = ExecutionWithNotes), Refused<ResumeError>),
)]
async fn resume(
    State(state): State<AppState>,
    _: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<ResumeRequest>,
) -> Result<Json<Value>, Problem> {
    let id = run.run.id;
    let how = Resumption { latest: given.latest, take_over: given.take_over };
    let notes = state.house.resume(run, how).await?;
    Ok(Json(with_notes(shown(&state, id).await?, notes)))
}

/// Start a new run that mends a failed one: finished work is kept
#[utoipa::path(post, path = "/api/executions/{id}/retry", operation_id = "retryExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = Option<RetryRequest>,
    responses((status = 201, description = "The new run.", body = ExecutionWithNotes,
        headers(("Location" = String, description = "Where it is."))), Refused<RetryError>),
)]
async fn retry(
    State(state): State<AppState>,
    _: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(RetryRequest { latest }): Given<RetryRequest>,
) -> Result<Created, Problem> {
    let made = state.house.retry(run, latest).await?;
    derived(&state, made).await
}

/// Start a new run from before some step of another one, with the files as they were then
#[utoipa::path(post, path = "/api/executions/{id}/fork", operation_id = "forkExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = ForkRequest,
    responses((status = 201, description = "The new run.", body = ExecutionWithNotes,
        headers(("Location" = String, description = "Where it is."))), Refused<ForkError>),
)]
async fn fork(
    State(state): State<AppState>,
    _: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<ForkRequest>,
) -> Result<Created, Problem> {
    let step = match given.from_step {
        StepName::Number(number) => number.to_string(),
        StepName::Name(name) => name,
    };
    let ForkRequest { agents, input, workspace, latest, .. } = given;
    let made = state.house.fork(run, Fork { step, agents, input, workspace, latest }).await?;
    derived(&state, made).await
}

/// Send an event to a run
///
/// It answers every wait of that name that is open, or is kept for the next one.
#[utoipa::path(post, path = "/api/executions/{id}/signal", operation_id = "signalExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = SignalRequest,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Refused<SignalError>),
)]
async fn signal(
    State(state): State<AppState>,
    _: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<SignalRequest>,
) -> Result<Json<Value>, Problem> {
    let id = run.run.id;
    let SignalRequest { event, payload, key } = given;
    state.house.signal(run, Event { name: event, payload, key }).await?;
    shown(&state, id).await.map(Json)
}

/// Answer a question of a run
///
/// Refused to whatever a run has started: an agent can't approve its own gate. Who answered is on record.
#[utoipa::path(post, path = "/api/executions/{id}/approve", operation_id = "approveExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = ApproveRequest,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Refused<ApproveError>),
)]
async fn approve(
    State(state): State<AppState>,
    by: May<Decide>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<ApproveRequest>,
) -> Result<Json<Value>, Problem> {
    let id = run.run.id;
    let ApproveRequest { approved, question, comment } = given;
    state.house.approve(run, Approval { approved, question, comment, by: by.name() }).await?;
    shown(&state, id).await.map(Json)
}

/// Leave a remark on a run or one of its steps, also when it has ended
#[utoipa::path(post, path = "/api/executions/{id}/comments", operation_id = "commentOnExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = CommentRequest,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Refused<CommentError>),
)]
async fn comment(
    State(state): State<AppState>,
    by: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<CommentRequest>,
) -> Result<Json<Value>, Problem> {
    let id = run.run.id;
    let CommentRequest { message, step_number, metadata } = given;
    let remark = Remark { step: step_number, message, metadata, by: by.name() };
    state.house.comment(run, remark).await?;
    shown(&state, id).await.map(Json)
}
