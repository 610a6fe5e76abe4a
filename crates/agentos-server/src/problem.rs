//! What is answered instead of an answer: problem documents (RFC 9457), every one of them with a sentence for people.

use std::fmt;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use agentos_store::backend::BackendError;
use agentos_store::list::ListError;
use agentos_store::log::ReadError;
use agentos_store::records::RecordError;

use crate::house::{Refusal, RefusalKind};

/// The media type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request was not answered as it was meant: what is wrong, where, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// Which kind of problem, the same for every one of its kind.
    #[schema(example = "urn:agentos:problem:not-found")]
    pub r#type: String,
    /// The kind of problem in words.
    #[schema(example = "Not Found")]
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
    /// A problem of this status.
    #[must_use]
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Problem");
        let slug = title.to_lowercase().replace(' ', "-");
        Self {
            r#type: format!("urn:agentos:problem:{slug}"),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            hint: None,
            errors: Vec::new(),
        }
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// The request can't be understood.
    #[must_use]
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// A parameter is not what it has to be.
    #[must_use]
    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let mut problem = Self::bad_request(format!("`{name}` {detail}"));
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
        Self { errors, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, told.join("; ")) }
    }

    /// It is our fault. What exactly went wrong is in the log.
    #[must_use]
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
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

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.kind {
            RefusalKind::Wrong => StatusCode::UNPROCESSABLE_ENTITY,
            RefusalKind::NotFound => StatusCode::NOT_FOUND,
            RefusalKind::Conflict => StatusCode::CONFLICT,
            RefusalKind::Forbidden => StatusCode::FORBIDDEN,
            RefusalKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
            RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        };
        let errors = refusal.fields.into_iter();
        let errors = errors.map(|(pointer, detail)| FieldProblem::at(pointer, detail)).collect();
        Self { hint: refusal.hint, errors, ..Self::new(status, refusal.message) }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound { .. } => Self::not_found(error.to_string()),
            ReadError::Backend(error) => error.into(),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<RecordError> for Problem {
    fn from(error: RecordError) -> Self {
        let detail = error.to_string();
        match error {
            RecordError::Backend(error) => error.into(),
            RecordError::NotFound { .. } | RecordError::Ambiguous { .. } => Self::not_found(detail),
            RecordError::InUse { .. } | RecordError::Outdated { .. } => {
                Self::new(StatusCode::CONFLICT, detail)
            }
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
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}
