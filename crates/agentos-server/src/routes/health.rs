//! Whether the server lives, and whether it can do its work.

use agentos_store::records::Records as _;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::unreadable::Missing;
use crate::access::may::{May, Read};
use crate::problem::Problem;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(lives)).routes(routes!(is_ready))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// That the server lives. Anybody may know that, and nothing else.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`
    status: &'static str,
    /// The program's version.
    version: &'static str,
}

/// Whether the server can do its work.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// `ok`, or `unready`.
    status: &'static str,
    /// The program's version.
    version: &'static str,
    /// How many databases can be used.
    databases: usize,
    /// Databases that can't be read or written to, and why.
    unreadable: Vec<String>,
}

/// Whether the server lives
#[utoipa::path(get, path = "/healthz", operation_id = "getHealth", tag = "health",
    responses((status = 200, description = "It does.", body = Health)),
)]
async fn lives() -> Json<Health> {
    Json(Health { status: "ok", version: VERSION })
}

/// Whether the server can do its work: every database that should be there can be used
#[utoipa::path(get, path = "/readyz", operation_id = "getReadiness", tag = "health",
    responses(
        (status = 200, description = "It can.", body = Readiness),
        (status = 401, description = "A token is needed.", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "A database can't be read, or was moved, removed or replaced under the server.", body = Readiness),
    ),
)]
async fn is_ready(
    State(state): State<AppState>,
    _: May<Read>,
) -> Result<(StatusCode, Json<Readiness>), Problem> {
    let view = state.view();
    let mut missing = Missing::of(&view);
    for source in view.sources() {
        let checked = match source.store.check_file() {
            // A file can be where it was, and be damaged.
            Ok(()) => source.store.definitions(None).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = checked {
            missing.add(source, &error);
        }
    }
    let unreadable = missing.listed().into_iter();
    let unreadable: Vec<String> =
        unreadable.map(|found| format!("{}: {}", found.path, found.reason)).collect();
    let (code, status) = match unreadable.is_empty() {
        true => (StatusCode::OK, "ok"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "unready"),
    };
    let databases =
        (view.sources().len() + view.unreadable().len()).saturating_sub(unreadable.len());
    Ok((code, Json(Readiness { status, version: VERSION, databases, unreadable })))
}
