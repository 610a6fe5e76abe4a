//! What browsers are told about every answer: it is what it says it is, and no other site may use it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

/// For answers that are not the dashboard: whatever they hold, it can't do anything.
const LOCKED: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox";

const ALWAYS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-read=()",
    ),
];

/// Adds them. A route may have a policy of its own for what its page may load; nobody else's pages get anything.
pub(crate) fn secure(status: StatusCode, headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let locked = || HeaderValue::from_static(LOCKED);
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(locked);
    // What a route has not thought about is not kept by anybody in between.
    let private = || HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert_with(private);
    if status == StatusCode::UNAUTHORIZED {
        let bearer = || HeaderValue::from_static("Bearer realm=\"agentos\"");
        headers.entry(header::WWW_AUTHENTICATE).or_insert_with(bearer);
    }
    let allows = |name: &&HeaderName| name.as_str().starts_with("access-control-");
    let allowing: Vec<HeaderName> = headers.keys().filter(allows).cloned().collect();
    for name in allowing {
        headers.remove(name);
    }
}
