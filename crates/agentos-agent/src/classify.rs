//! Which kind of trouble a message speaks of. The agents have no codes for it, only words.

use crate::verdict::TroubleKind;

/// The first line that fits decides. Numbers are looked for as whole words.
const WORDS: &[(TroubleKind, &[&str])] = &[
    (
        TroubleKind::UnknownSession,
        &[
            "no conversation found",
            "no rollout found",
            "invalid session identifier",
            "unknown session",
        ],
    ),
    (
        TroubleKind::RateLimit,
        &["rate limit", "rate_limit", "too many requests", "resource_exhausted", "quota"],
    ),
    (
        TroubleKind::Auth,
        &[
            "not logged in",
            "unauthorized",
            "authentication",
            "api key",
            "api_key",
            "missing environment variable",
            "permission_denied: request had",
            "set an auth method",
        ],
    ),
    // How Claude Code names an answer that ended too early, however often it asked again.
    (TroubleKind::Dropped, &["stream_truncated"]),
    (TroubleKind::Malformed, &["malformed", "incomplete json", "unexpected token", "invalid json"]),
    (
        TroubleKind::Dropped,
        &[
            "stream disconnected",
            "stream closed",
            "socket hang up",
            "connection reset",
            "econnreset",
            "connection to the api was lost",
            "terminated",
        ],
    ),
    (TroubleKind::Request, &["invalid_argument", "invalid_request", "invalid request"]),
    (
        TroubleKind::Api,
        &[
            "high demand",
            "overloaded",
            "server error",
            "server_error",
            "server-side",
            "unavailable",
        ],
    ),
];

/// Which kind of trouble the message speaks of, if it is known.
pub(crate) fn kind_of(message: &str) -> Option<TroubleKind> {
    let message = message.to_lowercase();
    let status = message
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| word.len() == 3)
        .find_map(|word| word.parse::<u16>().ok().and_then(kind_of_status));
    let mut of_words =
        WORDS.iter().filter(|(_, words)| words.iter().any(|word| message.contains(word)));
    let of_words = of_words.next().map(|(kind, _)| *kind);
    // Nothing else is said in these words; a number may stand for anything.
    of_words.filter(|kind| *kind == TroubleKind::UnknownSession).or(status).or(of_words)
}

/// Which kind of trouble an HTTP status stands for.
pub(crate) const fn kind_of_status(status: u16) -> Option<TroubleKind> {
    match status {
        401 | 403 => Some(TroubleKind::Auth),
        429 => Some(TroubleKind::RateLimit),
        400..=499 => Some(TroubleKind::Request),
        500..=599 => Some(TroubleKind::Api),
        _ => None,
    }
}

/// Words by which agents say that they were not allowed to do something.
const DENIED: &[&str] = &[
    "blocked by read-only sandbox",
    "rejected by user approval settings",
    "requires user confirmation",
    "denied by policy",
    "requires approval",
    "requested permissions",
];

/// Whether a tool's answer says that it was not allowed.
pub(crate) fn is_denial(message: &str) -> bool {
    let message = message.to_lowercase();
    DENIED.iter().any(|word| message.contains(word))
}

/// Whether complaints say that a patch was refused: only words that nothing else says.
pub(crate) fn is_refused_patch(complaints: &str) -> bool {
    let complaints = complaints.to_lowercase();
    DENIED[..2].iter().any(|word| complaints.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_decide() {
        let cases = [
            ("exceeded retry limit, last status: 429 Too Many Requests", TroubleKind::RateLimit),
            ("API Error: 500 fake api_error. try again", TroubleKind::Api),
            (
                "{\"error\": {\"message\": \"fake error 400\", \"code\": \"server_error\"}}",
                TroubleKind::Request,
            ),
            ("Not logged in · Please run /login", TroubleKind::Auth),
            ("[API Error: Incomplete JSON segment at the end]", TroubleKind::Malformed),
            ("stream disconnected before completion", TroubleKind::Dropped),
            ("API Error: Connection to the API was lost (ECONNRESET).", TroubleKind::Dropped),
            (
                "malformed response; the request before failed with: stream_truncated",
                TroubleKind::Dropped,
            ),
            ("No conversation found with session ID: x", TroubleKind::UnknownSession),
            ("no rollout found for thread id 404 in 500 ms", TroubleKind::UnknownSession),
        ];
        for (message, kind) in cases {
            assert_eq!(kind_of(message), Some(kind), "{message}");
        }
        assert_eq!(kind_of("all is well on port 18429"), None);
    }
}
