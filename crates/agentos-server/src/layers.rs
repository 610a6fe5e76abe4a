//! What all answers have in common: a number for each request, a line in the log, smaller bodies, and no body for
//! whoever has it already.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use tracing::Span;

use crate::file::is_known;
use crate::problem::Problem;
use crate::traffic::Traffic;

/// The header with the number of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The largest document that gets a tag, in bytes.
const TAGGED: usize = 32 << 20;

/// Documents and pages: tagged and made smaller.
pub(crate) fn documents<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router.layer(from_fn(tagged)).layer(CompressionLayer::new())
}

/// Everything.
pub(crate) fn all(router: Router, traffic: Arc<Traffic>) -> Router {
    let count = move |request: Request, next: Next| {
        let (traffic, begun) = (Arc::clone(&traffic), Instant::now());
        async move {
            let response = next.run(request).await;
            traffic.add(response.status(), begun.elapsed());
            response
        }
    };
    let trace = TraceLayer::new_for_http()
        .make_span_with(|request: &Request| {
            let id = request.headers().get(&REQUEST_ID).and_then(|id| id.to_str().ok());
            let (method, path) = (request.method(), request.uri().path());
            tracing::debug_span!("request", %method, path, id = id.unwrap_or_default())
        })
        .on_request(())
        .on_response(|response: &Response, took: Duration, _: &Span| {
            tracing::debug!(
                status = response.status().as_u16(),
                took_ms = took.as_millis(),
                "answered"
            );
        });
    let router = router.layer(from_fn(legible)).layer(CatchPanicLayer::custom(broken_off));
    router.layer(from_fn(count)).layer(
        ServiceBuilder::new()
            .layer(SetRequestIdLayer::new(REQUEST_ID, MakeRequestUuid))
            .layer(trace)
            .layer(PropagateRequestIdLayer::new(REQUEST_ID)),
    )
}

/// A fault of ours costs one answer, and not the server.
fn broken_off(_: Box<dyn Any + Send>) -> Response {
    Problem::internal("the request has broken off")
        .hint("the server's log tells more")
        .into_response()
}

/// Refuses an address that is no text: nothing has such a name.
async fn legible(request: Request, next: Next) -> Response {
    match percent_decode_str(request.uri().path()).decode_utf8() {
        Ok(_) => next.run(request).await,
        Err(_) => Problem::bad_request("the address can't be read: its bytes are no UTF-8")
            .hint("write what is not ASCII in UTF-8, percent-encoded: `%C3%BC` for `ü`")
            .into_response(),
    }
}

/// Gives documents a tag, and spares whoever has one already the document.
async fn tagged(request: Request, next: Next) -> Response {
    let is_asked = matches!(*request.method(), Method::GET | Method::HEAD);
    let headers = request.headers().clone();
    let response = next.run(request).await;
    let is_document = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.to_str().is_ok_and(|kind| kind.starts_with("application/json")));
    // What is streamed has no length yet.
    let is_whole = response.body().size_hint().exact().is_some();
    if !is_asked || !is_document || !is_whole || response.status() != StatusCode::OK {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, TAGGED).await else {
        return Problem::internal("the document is too large").into_response();
    };
    let hash: String =
        Sha256::digest(&bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("W/\"{hash}\"");
    if let Ok(value) = HeaderValue::from_str(&tag) {
        parts.headers.insert(header::ETAG, value);
    }
    let unkept = HeaderValue::from_static("private, no-cache");
    parts.headers.entry(header::CACHE_CONTROL).or_insert(unkept);
    if is_known(&headers, &tag) {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}
