//! Whether the server lives, and whether it can do its work.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(lives)).routes(routes!(is_ready))
}

/// How the server is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, or `unready`.
    status: &'static str,
    /// The program's version.
    version: &'static str,
    /// How many databases can be read.
    databases: usize,
    /// Databases that can't be read, and why.
    unreadable: Vec<String>,
}

fn health(state: &AppState) -> Health {
    let view = state.view();
    let unreadable = view.unreadable().iter();
    let unreadable: Vec<String> =
        unreadable.map(|found| format!("{}: {}", found.path.display(), found.reason)).collect();
    Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        databases: view.sources().len(),
        unreadable,
    }
}

/// Whether the server lives
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, description = "It does.", body = Health)))]
async fn lives(State(state): State<AppState>) -> Json<Health> {
    Json(health(&state))
}

/// Whether the server can do its work: every database that should be there can be read
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "It can.", body = Health),
    (status = 503, description = "A database can't be read.", body = Health),
))]
async fn is_ready(State(state): State<AppState>) -> (StatusCode, Json<Health>) {
    let health = health(&state);
    match health.unreadable.is_empty() {
        true => (StatusCode::OK, Json(health)),
        false => (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "unready", ..health })),
    }
}
