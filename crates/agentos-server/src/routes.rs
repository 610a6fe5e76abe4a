//! Every address: which function answers it, and what all of them have in common.

mod executions;
mod health;

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;

use crate::problem::Problem;
use crate::state::AppState;

/// What the API is, for whoever reads its description.
#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "AgentOS",
    description = "Workflows that survive any crash: start them, watch them, answer them. Requests take camelCase \
        (snake_case too), answers are snake_case. Errors are problem documents (RFC 9457). Runs are named by their id or \
        their short name."
))]
struct Description;

fn described() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(executions::routes())
        .merge(health::routes())
        .merge(crate::live::routes())
}

/// The description of the API.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
}

/// Everything that the server answers.
pub fn router(state: AppState) -> Router {
    let (router, _) = described().split_for_parts();
    router.fallback(nothing_here).method_not_allowed_fallback(another_method).with_state(state)
}

async fn nothing_here(uri: Uri) -> Problem {
    Problem::not_found(format!("there is nothing at `{}`", uri.path()))
        .hint("`/api/openapi.json` describes what there is")
}

async fn another_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("`{}` does not take {method}", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
