//! Bodies: JSON that is what the description says.

use std::sync::LazyLock;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::rules::Rules;
use crate::access::Denied;
use crate::documents::{
    ApproveRequest, CancelRequest, CleanRequest, CommentRequest, ExecuteRequest, ForkRequest,
    ProjectRequest, RestoreRequest, ResumeRequest, RetryRequest, SignalRequest,
};
use crate::listen::BodyLimit;
use crate::problem::{Problem, ProblemKind};

/// The largest body that is ever taken, in bytes; the listener is stricter as a rule.
const BODY: usize = 64 << 20;

/// What may be a body.
pub(crate) trait Body: DeserializeOwned + ToSchema {
    /// What the description says about it.
    fn rules() -> &'static Rules;
}

macro_rules! bodies {
    ($($body:ty),* $(,)?) => {
        $(impl Body for $body {
            fn rules() -> &'static Rules {
                static RULES: LazyLock<Rules> = LazyLock::new(Rules::of::<$body>);
                &RULES
            }
        })*
    };
}

bodies! {
    ApproveRequest, CancelRequest, CleanRequest, CommentRequest, ExecuteRequest, ForkRequest, ProjectRequest,
    RestoreRequest, ResumeRequest, RetryRequest, SignalRequest,
}

/// A body in JSON. Where nothing is sent, that is an empty object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given<T>(pub(crate) T);

impl<T: Body, S: Send + Sync> FromRequest<S> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let is_json = is_json(request.headers());
        let limit = request.extensions().get().map_or(BODY as u64, |BodyLimit(limit)| *limit);
        let bytes = axum::body::to_bytes(request.into_body(), BODY).await;
        let bytes = bytes.map_err(|error| unread(&error, limit))?;
        if !bytes.is_empty() && !is_json {
            return Err(Problem::new(ProblemKind::OtherMediaType, "the body has to be JSON")
                .hint("send it with `Content-Type: application/json`"));
        }
        understood(&bytes).map(Self)
    }
}

fn unread(error: &axum::Error, limit: u64) -> Problem {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let is_too_long =
        causes.into_iter().any(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>);
    match is_too_long {
        true => Denied::TooLarge { limit }.into(),
        false => Problem::bad_request(format!("the body can't be read: {error}")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
        || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn understood<T: Body>(bytes: &[u8]) -> Result<T, Problem> {
    let body = match bytes.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(bytes).map_err(|error| {
            Problem::new(ProblemKind::NoJson, format!("the body is no JSON: {error}"))
        })?,
    };
    // Nothing is nothing, however it is written.
    let body = if body.is_null() { Value::Object(Map::new()) } else { body };
    let rules = T::rules();
    let body = rules.spelled(body);
    let wrong = rules.complaints(&body);
    if !wrong.is_empty() {
        return Err(Problem::fields(wrong));
    }
    // To a schema, 1.0 is a whole number.
    serde_path_to_error::deserialize(body)
        .map_err(|error| Problem::fields(vec![rules.other(&pointer(error.path()))]))
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let part = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Segment::Enum { .. } | Segment::Unknown => String::new(),
    };
    path.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_json_and_what_the_description_says() {
        assert!(understood::<CancelRequest>(b"").is_ok());
        assert!(understood::<CancelRequest>(b" null ").is_ok());
        assert_eq!(understood::<CancelRequest>(b"{").unwrap_err().status, 400);
        assert_eq!(understood::<CancelRequest>(b"{} x").unwrap_err().status, 400);
        let problem = understood::<CancelRequest>(b"[]").unwrap_err();
        assert_eq!((problem.status, &*problem.detail), (422, "the body has to be an object"));
        let problem = understood::<RestoreRequest>(br#"{"backup": 1.0}"#).unwrap_err();
        assert_eq!(problem.detail, "`/backup` has to be a whole number from 0 to 4294967295");
        let resume = understood::<ResumeRequest>(br#"{"take_over": true}"#).unwrap();
        assert!(resume.take_over);
    }
}
