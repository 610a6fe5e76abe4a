//! Sums over runs: how many there are of each kind, and what their agents have used.

use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::executions::which;
use super::refusals::Refuses;
use crate::access::may::{May, Read};
use crate::asked::Asked;
use crate::documents::Totals;
use crate::problem::Problem;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(totals))
}

/// Count runs, and add up what their agents have used
///
/// Over all databases; a run that was copied counts once.
#[utoipa::path(get, path = "/api/totals", operation_id = "getTotals", tag = "executions",
    params(
        ("workflowId" = Option<String>, Query, description = "Only runs of this workflow: its id, or its name."),
        ("projectId" = Option<uuid::Uuid>, Query, description = "Only runs of this project."),
        ("worktreeId" = Option<String>, Query, description = "Only runs of this worktree: its id (`main`), name or path."),
        ("since" = Option<String>, Query, description = "Only runs that started then or later, or have not started: a moment (RFC 3339), a date, or `30m`, `2h`, `3d`."),
        ("q" = Option<String>, Query, description = "Only runs in whose names or branch this text occurs."),
    ),
    responses((status = 200, description = "The sums.", body = Totals), Refuses),
)]
async fn totals(
    State(state): State<AppState>,
    _: May<Read>,
    asked: Asked,
) -> Result<Json<Totals>, Problem> {
    asked.only(&["workflowId", "projectId", "worktreeId", "since", "q"])?;
    let view = state.view();
    let query = which(&view, &asked)?;
    Ok(Json(view.run_totals(query).await.into()))
}
