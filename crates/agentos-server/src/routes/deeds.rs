//! What is done to runs. Every answer is the run's document, as it is then.

use agentos_core::id::RunId;
use agentos_store::unified::Found;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::executions::detail;
use super::refusals::{Acts, Repeats};
use crate::access::may::{Decide, May, Run};
use crate::asked::{Given, Nothing, TheRun};
use crate::documents::{
    ApproveRequest, CancelRequest, CommentRequest, ExecutionDetail, ForkRequest, ResumeRequest,
    SignalRequest, StepName,
};
use crate::house::Deed;
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

/// Does it, and answers with the run that it is about afterwards.
async fn act(state: &AppState, run: Found, deed: Deed, by: String) -> Result<Json<Value>, Problem> {
    let run = state.house.act(run, deed, by).await?;
    shown(state, run).await.map(Json)
}

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

/// End a run and what it has started
///
/// Answers when the run has ended, or after 20 seconds. A run that has ended already stays as it is.
#[utoipa::path(post, path = "/api/executions/{id}/cancel", operation_id = "cancelExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = Option<CancelRequest>,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Acts),
)]
async fn cancel(
    State(state): State<AppState>,
    by: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<CancelRequest>,
) -> Result<Json<Value>, Problem> {
    act(&state, run, Deed::Cancel { reason: given.reason }, by.name()).await
}

/// Let a run go on that nobody drives
#[utoipa::path(post, path = "/api/executions/{id}/resume", operation_id = "resumeExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = Option<ResumeRequest>,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Acts),
)]
async fn resume(
    State(state): State<AppState>,
    by: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<ResumeRequest>,
) -> Result<Json<Value>, Problem> {
    let deed = Deed::Resume { latest: given.latest, take_over: given.take_over };
    act(&state, run, deed, by.name()).await
}

/// Start a new run that mends a failed one: finished work is kept
#[utoipa::path(post, path = "/api/executions/{id}/retry", operation_id = "retryExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    responses((status = 201, description = "The new run.", body = ExecutionDetail,
        headers(("Location" = String, description = "Where it is."))), Repeats),
)]
async fn retry(
    State(state): State<AppState>,
    by: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
) -> Result<Created, Problem> {
    let run = state.house.act(run, Deed::Retry, by.name()).await?;
    created(&state, run).await
}

/// Start a new run from before some step of another one, with the files as they were then
#[utoipa::path(post, path = "/api/executions/{id}/fork", operation_id = "forkExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = ForkRequest,
    responses((status = 201, description = "The new run.", body = ExecutionDetail,
        headers(("Location" = String, description = "Where it is."))), Acts),
)]
async fn fork(
    State(state): State<AppState>,
    by: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<ForkRequest>,
) -> Result<Created, Problem> {
    let step = match given.from_step {
        StepName::Number(number) => number.to_string(),
        StepName::Name(name) => name,
    };
    let ForkRequest { agents, input, workspace, .. } = given;
    let deed = Deed::Fork { step, agents, input, workspace };
    let run = state.house.act(run, deed, by.name()).await?;
    created(&state, run).await
}

/// Send an event to a run
///
/// It answers every wait of that name that is open, or is kept for the next one.
#[utoipa::path(post, path = "/api/executions/{id}/signal", operation_id = "signalExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = SignalRequest,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Acts),
)]
async fn signal(
    State(state): State<AppState>,
    by: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<SignalRequest>,
) -> Result<Json<Value>, Problem> {
    let SignalRequest { event, payload, key } = given;
    act(&state, run, Deed::Signal { event, payload, key }, by.name()).await
}

/// Answer a question of a run
///
/// Refused to whatever a run has started: an agent can't approve its own gate. Who answered is on record.
#[utoipa::path(post, path = "/api/executions/{id}/approve", operation_id = "approveExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = ApproveRequest,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Acts),
)]
async fn approve(
    State(state): State<AppState>,
    by: May<Decide>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<ApproveRequest>,
) -> Result<Json<Value>, Problem> {
    let ApproveRequest { approved, question, comment } = given;
    act(&state, run, Deed::Approve { approved, question, comment }, by.name()).await
}

/// Leave a remark on a run or one of its steps, also when it has ended
#[utoipa::path(post, path = "/api/executions/{id}/comments", operation_id = "commentOnExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    request_body = CommentRequest,
    responses((status = 200, description = "The run.", body = ExecutionDetail), Acts),
)]
async fn comment(
    State(state): State<AppState>,
    by: May<Run>,
    _: Nothing,
    TheRun(run): TheRun,
    Given(given): Given<CommentRequest>,
) -> Result<Json<Value>, Problem> {
    let CommentRequest { message, step_number, metadata } = given;
    act(&state, run, Deed::Comment { step: step_number, message, metadata }, by.name()).await
}
