//! What an address names.

use agentos_store::unified::Found;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::problem::Problem;
use crate::state::AppState;

/// The run that the address names, by its id or its short name.
pub(crate) struct TheRun(pub(crate) Found);

impl FromRequestParts<AppState> for TheRun {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let named = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = named.map_err(|error| Problem::bad_request(error.body_text()))?;
        state.find_run(&name).await.map(Self)
    }
}
