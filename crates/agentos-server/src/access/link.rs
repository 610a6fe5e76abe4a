//! One connection: what is known about it, and how it is ended.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::peer::Peer;

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    /// Who is at the other end.
    pub(crate) peer: Peer,
    /// Where it came in; none on the Unix socket.
    pub(crate) local: Option<SocketAddr>,
    /// Streams are to come to an end: the server stops, or a token was taken back.
    pub(crate) over: CancellationToken,
    /// Nothing is read or written any more.
    pub(crate) cut: CancellationToken,
    /// Every token that was shown on it.
    tokens: Mutex<BTreeSet<String>>,
}

impl Link {
    pub(crate) fn new(
        peer: Peer,
        local: Option<SocketAddr>,
        over: CancellationToken,
        cut: CancellationToken,
    ) -> Self {
        Self { peer, local, over, cut, tokens: Mutex::default() }
    }

    /// Remembers a token that was shown. Whether it is the first on this connection.
    pub(super) fn note_token(&self, id: &str) -> bool {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = tokens.is_empty();
        if !tokens.contains(id) {
            tokens.insert(id.to_owned());
        }
        is_first
    }

    /// Whether a token was shown on it that is not among these.
    pub(super) fn is_outside_of(&self, valid: &BTreeSet<String>) -> bool {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        !tokens.is_subset(valid)
    }
}
