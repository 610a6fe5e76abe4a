//! Every address: which function answers it, and what all of them have in common.

mod artifacts;
mod dashboard;
mod deeds;
mod executions;
mod health;
pub(crate) mod metrics;
mod projects;
pub(crate) mod refusals;
mod totals;
mod unreadable;
mod workflows;
mod workspaces;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse as _, Response};
use utoipa::OpenApi as _;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::may::{May, Read};
use crate::layers;
use crate::problem::{FieldProblem, Problem, ProblemKind};
use crate::state::AppState;

/// What the API is, for whoever reads its description.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
    title = "AgentOS",
    description = "Workflows that survive any crash: start them, watch them, answer them. Requests take camelCase \
        (snake_case too), answers are snake_case. Errors are problem documents (RFC 9457): `type` is \
        `urn:agentos:problem:` and the name of the cause, which each address lists. Runs are named by their id or their \
        short name.",
    license(name = "MIT OR Apache-2.0")),
    components(schemas(Problem, FieldProblem)),
    tags(
        (name = "executions", description = "Runs of workflows."),
        (name = "workflows", description = "What can be started."),
        (name = "artifacts", description = "Files that runs have kept."),
        (name = "workspaces", description = "Where runs work."),
        (name = "projects", description = "Checkouts whose runs are served."),
        (name = "health", description = "How the server is."),
    )
)]
struct Description;

/// Addresses whose answers are documents.
fn documents() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(executions::routes())
        .merge(totals::routes())
        .merge(deeds::routes())
        .merge(artifacts::routes())
        .merge(workflows::routes())
        .merge(workspaces::routes())
        .merge(projects::routes())
        .merge(health::routes())
        .merge(metrics::routes())
        .routes(routes!(description))
}

/// Addresses whose answers are sent as they are, or never end.
fn streams() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().merge(artifacts::downloads()).merge(crate::live::routes())
}

/// The description of the API.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut described = documents().merge(streams()).split_for_parts().1;
    described.components.get_or_insert_default().responses.extend(refusals::shared());
    for item in described.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.delete].into_iter().flatten();
        let parameters = operations.filter_map(|operation| operation.parameters.as_mut());
        parameters.flatten().for_each(never_null);
    }
    described
}

/// A parameter that may be left out is never null: there is no way to write that in an address.
fn never_null(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(parameter) = parameter else { return };
    if let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
        && let SchemaType::Array(types) = &mut schema.schema_type
    {
        types.retain(|kind| *kind != Type::Null);
        if let [only] = &types[..] {
            schema.schema_type = SchemaType::Type(only.clone());
        }
    }
}

/// Describe the API
#[utoipa::path(get, path = "/api/openapi.json", operation_id = "getOpenapi", tag = "health",
    responses((status = 200, description = "This description.", body = serde_json::Value), refusals::Refuses),
)]
async fn description(_: May<Read>) -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(|| openapi().to_json().unwrap_or_default());
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}

/// Everything that the server answers.
pub fn router(state: AppState) -> Router {
    let (documents, _) = documents().split_for_parts();
    let (streams, _) = streams().split_for_parts();
    let pages = Router::new().fallback(dashboard::page);
    let router = layers::documents(documents.merge(pages)).merge(streams);
    let traffic = Arc::clone(&state.traffic);
    layers::all(router.method_not_allowed_fallback(another_method).with_state(state), traffic)
}

async fn another_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("`{}` does not take {method}", uri.path());
    Problem::new(ProblemKind::OtherMethod, detail)
}
