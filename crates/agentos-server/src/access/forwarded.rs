//! Whether a request came through somebody else. Then it is not the peer who asks, and the peer's user says nothing.

use axum::http::HeaderMap;

/// Headers that proxies add.
const NAMES: [&str; 10] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "x-original-host",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
];

/// Headers that proxies add, by how they begin.
const BEGINNINGS: [&str; 3] = ["x-forwarded", "x-envoy-", "tailscale-"];

/// Whether somebody has passed the request on.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().map(|name| name.as_str()).any(|name| {
        NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    })
}
