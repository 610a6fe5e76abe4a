//! What an address names.

use std::fmt::Display;

use agentos_store::unified::Found;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use uuid::Uuid;

use crate::house::Words;
use crate::problem::{Problem, ProblemKind};
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

/// A kind of thing that has a name in an address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    unknown: ProblemKind,
    what: &'static str,
}

impl Named {
    pub(crate) const RUN: Self = Self { unknown: ProblemKind::UnknownRun, what: "run" };
    pub(crate) const PROJECT: Self = Self { unknown: ProblemKind::UnknownProject, what: "project" };
    pub(crate) const WORKFLOW: Self =
        Self { unknown: ProblemKind::UnknownWorkflow, what: "workflow" };
    pub(crate) const ARTIFACT: Self =
        Self { unknown: ProblemKind::UnknownArtifact, what: "artifact" };

    /// There is none.
    pub(crate) fn none(self, name: impl Display) -> Problem {
        Problem::new(self.unknown, format!("there is no {} `{name}`", self.what))
    }

    /// There is none in what can be read. Whether there is one elsewhere nobody knows: whoever asks again later may find it.
    pub(crate) fn not_seen(self, name: impl Display, unreadable: &[String]) -> Problem {
        if unreadable.is_empty() {
            return self.none(name);
        }
        let Words { message, hint, .. } = Words::hidden(self.what, &name.to_string(), unreadable);
        Problem { hint, ..Problem::new(ProblemKind::DatabaseUnusable, message) }
    }

    /// An id in an address; what is none names nothing.
    pub(crate) fn id(self, text: &str) -> Result<Uuid, Problem> {
        // Other spellings of the same id are not addresses of it.
        let id = text.parse().ok().filter(|id: &Uuid| id.to_string() == text);
        id.ok_or_else(|| self.none(text))
    }
}
