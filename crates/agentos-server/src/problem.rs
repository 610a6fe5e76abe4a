//! What is answered instead of an answer: problem documents (RFC 9457), every one of them with a sentence for people and a
//! kind for programs.

mod kind;

use std::fmt;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use agentos_store::backend::{BackendError, BackendErrorKind};
use agentos_store::list::ListError;
use agentos_store::log::ReadError;

pub(crate) use kind::PREFIX;
pub use kind::ProblemKind;

/// The media type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request was not answered as it was meant: what is wrong, where, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// Which kind of problem, for programs: the same for every one of its kind.
    #[schema(example = "urn:agentos:problem:unknown-run")]
    pub r#type: String,
    /// The kind of problem in words.
    #[schema(example = "There is no such run")]
    pub title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What is wrong this time.
    #[schema(example = "there is no run `release-abcdef`")]
    pub detail: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hint: Option<String>,
    /// Which parts of the request are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub errors: Vec<FieldProblem>,
}

/// A part of a request that is wrong: a field of its body, or a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldProblem {
    /// The field of the body, as a JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "/input/title")]
    pub pointer: Option<String>,
    /// The parameter of the address, or the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "limit")]
    pub parameter: Option<String>,
    /// What is wrong with it.
    #[schema(example = "is missing")]
    pub detail: String,
}

impl Problem {
    /// A problem of this kind.
    #[must_use]
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            r#type: format!("{PREFIX}{}", kind.slug()),
            title: kind.title(),
            status: kind.status().as_u16(),
            detail: detail.into(),
            hint: None,
            errors: Vec::new(),
        }
    }

    /// A problem of which nothing is known but the status: it is of the only kind that has it, or of none.
    #[must_use]
    pub fn plain(status: StatusCode, detail: impl Into<String>) -> Self {
        let mut kinds = ProblemKind::ALL.iter().filter(|kind| kind.status() == status);
        if let (Some(only), None) = (kinds.next(), kinds.next()) {
            return Self::new(*only, detail);
        }
        let title = status.canonical_reason().unwrap_or("Problem");
        let (r#type, status) = ("about:blank".to_owned(), status.as_u16());
        Self { r#type, title, status, ..Self::new(ProblemKind::Failed, detail) }
    }

    /// The request can't be understood.
    #[must_use]
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Unintelligible, detail)
    }

    /// A parameter is not what it has to be.
    #[must_use]
    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let mut problem = Self::new(ProblemKind::WrongParameter, format!("`{name}` {detail}"));
        let parameter = Some(name.to_owned());
        problem.errors.push(FieldProblem { pointer: None, parameter, detail });
        problem
    }

    /// A field of the body is not what it has to be.
    #[must_use]
    pub fn field(pointer: &str, detail: impl Into<String>) -> Self {
        Self::fields(vec![FieldProblem::at(pointer, detail)])
    }

    /// Fields of the body are not what they have to be.
    #[must_use]
    pub fn fields(errors: Vec<FieldProblem>) -> Self {
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Self { errors, ..Self::new(ProblemKind::WrongFields, told.join("; ")) }
    }

    /// It is our fault. What exactly went wrong is in the log.
    #[must_use]
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Failed, detail)
    }

    /// The same with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl FieldProblem {
    /// About a field of the body.
    #[must_use]
    pub fn at(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), parameter: None, detail: detail.into() }
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_deref().or(self.parameter.as_deref()) {
            // The pointer to all of it.
            None | Some("") => write!(f, "the body {}", self.detail),
            Some(name) => write!(f, "`{name}` {}", self.detail),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::error!(detail = %self.detail, "a request could not be answered");
        }
        let mut response = (status, Json(self)).into_response();
        let kind = HeaderValue::from_static(PROBLEM_JSON);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound { .. } => Self::new(ProblemKind::UnknownRun, error.to_string()),
            ReadError::Backend(error) => error.into(),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<ListError> for Problem {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Cursor { .. } => Self::parameter("after", "is no place in this listing")
                .hint("take the `next` of another page as it is"),
            ListError::Backend(error) => error.into(),
        }
    }
}

impl From<BackendError> for Problem {
    /// A database that can't be used now may be there again later: `/readyz` tells.
    fn from(error: BackendError) -> Self {
        let hint = advice(error.kind);
        Self::new(ProblemKind::DatabaseUnusable, error.to_string()).hint(hint)
    }
}

/// What to do about a database, for whoever asks the server and may be far away from it.
#[must_use]
pub const fn advice(kind: BackendErrorKind) -> &'static str {
    match kind {
        BackendErrorKind::Transient => {
            "ask again in a moment; `GET /readyz` tells when it can be used"
        }
        BackendErrorKind::Full => "ask again when somebody has made room on the server's disk",
        BackendErrorKind::Damaged => {
            "on the server's machine, have the file checked (db check), or bring it back from a copy; `GET /readyz` tells when \
             it can be used"
        }
        BackendErrorKind::Permanent => {
            "somebody has to look at the file on the server's machine; `GET /readyz` tells when it can be used"
        }
    }
}
