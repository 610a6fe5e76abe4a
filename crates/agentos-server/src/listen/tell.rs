//! What is told about a request: a line in the log, an id in the answer, and what browsers have to know.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse as _, Response};
use tokio::time::Instant;
use uuid::Uuid;

use crate::access::{Link, secure};
use crate::problem::{PROBLEM_JSON, Problem};

const REQUEST_ID: &str = "x-request-id";

/// The longest id that somebody may bring.
const LONGEST_ID: usize = 128;

/// A request that is under way.
pub(super) struct Telling {
    id: HeaderValue,
    method: Method,
    /// Without what follows the `?`: it may be nobody's business.
    path: String,
    peer: Arc<Link>,
    since: Instant,
}

impl Telling {
    /// Whatever else is told about the request is told under the same id.
    pub(super) fn begin<B>(link: &Arc<Link>, request: &mut axum::http::Request<B>) -> Self {
        let id = brought_id(request.headers()).unwrap_or_else(new_id);
        request.headers_mut().insert(REQUEST_ID, id.clone());
        Self {
            id,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            peer: link.clone(),
            since: Instant::now(),
        }
    }

    /// The answer as it leaves.
    pub(super) fn end(self, response: Response) -> Response {
        let mut response = in_words(response);
        let status = response.status();
        let id = self.id.to_str().unwrap_or_default();
        let duration_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            request_id = id,
            method = %self.method,
            path = self.path,
            status = status.as_u16(),
            duration_ms,
            peer = %self.peer.peer,
            "request"
        );
        let headers = response.headers_mut();
        headers.insert(REQUEST_ID, self.id);
        secure(status, headers);
        response
    }
}

fn brought_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let id = headers.get(REQUEST_ID)?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let is_fine = (1..=LONGEST_ID).contains(&id.len()) && id.as_bytes().iter().all(is_plain);
    is_fine.then(|| id.clone())
}

fn new_id() -> HeaderValue {
    let id = Uuid::now_v7().to_string();
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none"))
}

/// What went wrong is a problem document, also where somebody has only said a word or nothing at all.
fn in_words(response: Response) -> Response {
    let status = response.status();
    let is_failure = status.is_client_error() || status.is_server_error();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_document = kind.is_some_and(|kind| kind != "text/plain; charset=utf-8");
    if !is_failure || is_document {
        return response;
    }
    let reason = status.canonical_reason().unwrap_or("it did not work").to_lowercase();
    let problem = Problem::plain(status, format!("the request was not answered: {reason}"));
    let mut answer = problem.into_response();
    // Whatever else was said still holds: what is allowed, when to come again, what to upgrade to.
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            answer.headers_mut().append(name, value.clone());
        }
    }
    debug_assert_eq!(answer.headers()[header::CONTENT_TYPE], PROBLEM_JSON);
    answer
}
