//! How much anybody can cost: every limit of a connection and of a request.

use std::time::Duration;

use agentos_core::bounds::VALUE_BYTES;

/// Bytes of a request's body: an input of the largest size fits, also where every letter of it is escaped.
const BODY_BYTES: u64 = 4 * VALUE_BYTES as u64;

/// How large the body of a request may be, in bytes: those who read it find it in the request's extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimit(pub(crate) u64);

/// How much anybody can cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once. A quarter of them is kept for the user whose server it is.
    pub connections: usize,
    /// Connections at once of one peer: a user of this machine, or an address.
    pub connections_per_peer: usize,
    /// Requests at once for which there is no answer yet. More have to wait. As many with a body, and as many with a body of
    /// the user whose server it is: whoever sends slowly holds up only others who send.
    pub requests: usize,
    /// Headers of one request.
    pub headers: usize,
    /// Bytes of a request's head.
    pub header_bytes: usize,
    /// How long a request's head may take. A connection that nobody uses is closed after as long.
    pub header_time: Duration,
    /// Bytes of a request's body.
    pub body_bytes: u64,
    /// How long a body may pause.
    pub body_idle: Duration,
    /// How long all of a body may take.
    pub body_time: Duration,
    /// How long it may take until an answer begins. Streams begin at once, and may go on.
    pub request_time: Duration,
    /// How long somebody may leave an answer unread.
    pub write_stall: Duration,
    /// How long requests have to come to their end when the server stops.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            connections_per_peer: 2_048,
            requests: 256,
            headers: 100,
            header_bytes: 64 << 10,
            header_time: Duration::from_secs(30),
            body_bytes: BODY_BYTES,
            body_idle: Duration::from_secs(15),
            body_time: Duration::from_secs(60),
            request_time: Duration::from_secs(300),
            write_stall: Duration::from_secs(60),
            stop_time: Duration::from_secs(10),
        }
    }
}
