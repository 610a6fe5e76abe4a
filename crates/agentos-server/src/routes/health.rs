//! Whether the server lives, and whether it can do its work.

use std::collections::BTreeMap;

use agentos_store::records::Records as _;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::openapi::{Content, Ref, RefOr, Response};
use utoipa::{IntoResponses, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::refusals::{Refuses, of_every};
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

/// What is answered when it can't: the same document, unless nobody had time to look.
struct Unready;

impl IntoResponses for Unready {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut all = <Refuses>::responses();
        let mut unready = of_every(503);
        let what = "A database can't be read, or was moved, removed or replaced under the server.";
        unready.description = format!("{what} {}", unready.description);
        let readiness = Content::new(Some(Ref::from_schema_name("Readiness")));
        unready.content.insert("application/json".to_owned(), readiness.into());
        all.insert("503".to_owned(), unready.into());
        all
    }
}

/// Whether the server lives
#[utoipa::path(get, path = "/healthz", operation_id = "getHealth", tag = "health",
    responses((status = 200, description = "It does.", body = Health), Refuses),
)]
async fn lives() -> Json<Health> {
    Json(Health { status: "ok", version: VERSION })
}

/// Whether the server can do its work: every database that should be there can be used
#[utoipa::path(get, path = "/readyz", operation_id = "getReadiness", tag = "health",
    responses(
        (status = 200, description = "It can.", body = Readiness),
        Unready
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
