//! The dashboard: files inside of the program. Every other address that is none of the API's is a page of it.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::file::is_known;
use crate::problem::{Problem, ProblemKind};

/// What the dashboard is built to. A program that was built without it says so.
#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
#[allow_missing = true]
struct Files;

/// The page that everything begins with.
const INDEX: &str = "index.html";

/// Where files are whose names change with their content.
const HASHED: &str = "assets/";

/// Only our own files, no script and no style inside of a page.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    font-src 'self'; connect-src 'self'; frame-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>AgentOS</title>\
    <h1>The dashboard was not built into this program</h1><p>The API is here all the same: \
    <a href=\"/api/openapi.json\">its description</a>. <code>cargo xtask ui</code> makes the dashboard, where Node is \
    installed; then build the program again.</p></html>";

/// A file of the dashboard, or the page that finds out what to show.
pub(super) async fn page(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if is_of_the_api(path) {
        return Problem::new(
            ProblemKind::NothingHere,
            format!("there is nothing at `{}`", uri.path()),
        )
        .hint("`/api/openapi.json` describes what there is")
        .into_response();
    }
    match Files::get(path) {
        Some(file) if !path.is_empty() => answer(path, file, &headers),
        // What has an ending is meant to be a file, and a page in its place would only confuse.
        _ if path.starts_with(HASHED) => {
            let detail = format!("there is no file `{}`", uri.path());
            Problem::new(ProblemKind::NothingHere, detail).into_response()
        }
        _ => match Files::get(INDEX) {
            Some(file) => answer(INDEX, file, &headers),
            None => built(NOT_BUILT.as_bytes().to_vec(), "text/html; charset=utf-8", "no-store"),
        },
    }
}

fn is_of_the_api(path: &str) -> bool {
    path == "api" || path.starts_with("api/") || path == "ws"
}

fn answer(path: &str, file: EmbeddedFile, headers: &HeaderMap) -> Response {
    let hash: String =
        file.metadata.sha256_hash().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("W/\"{hash}\"");
    let tag_header = HeaderValue::from_str(&tag).ok();
    let keep = match path.starts_with(HASHED) {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let kind = mime_guess::from_path(path).first_raw().unwrap_or("application/octet-stream");
    let kind = match kind.starts_with("text/") {
        true => format!("{kind}; charset=utf-8"),
        false => kind.to_owned(),
    };
    let mut response = match is_known(headers, &tag) {
        // A browser takes the headers of this answer for the page that it has: without the policy, it would lose it.
        true => (StatusCode::NOT_MODIFIED, built(Vec::new(), &kind, keep)).into_response(),
        false => built(file.data.into_owned(), &kind, keep),
    };
    if let Some(tag) = tag_header {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn built(bytes: Vec<u8>, kind: &str, keep: &'static str) -> Response {
    let kind = HeaderValue::from_str(kind);
    let headers = [
        (header::CONTENT_TYPE, kind.unwrap_or(HeaderValue::from_static("text/plain"))),
        (header::CACHE_CONTROL, HeaderValue::from_static(keep)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (headers, bytes).into_response()
}
