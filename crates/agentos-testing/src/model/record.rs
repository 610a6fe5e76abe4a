//! What clients have asked, kept for assertions: the latest requests, never their keys.

use std::collections::VecDeque;

use serde_json::Value;

use super::dialect::Dialect;

/// How many requests are kept, and how much of them.
const MAX_REQUESTS: usize = 512;
const MAX_BYTES: usize = 64 << 20;

/// One request that came in.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method, path and query.
    pub line: String,
    /// How it is spoken, if it asks for an answer of the model.
    pub dialect: Option<Dialect>,
    /// The model that it names.
    pub model: String,
    /// The last prompt in it: what a person, or whoever drives the client, has typed.
    pub prompt: String,
    /// How many answers of the model follow that prompt in its history.
    pub answers: usize,
    /// Exchange and turn of the scenario that it came to.
    pub turn: Option<(usize, usize)>,
    /// Whether it asked for a stream.
    pub is_streamed: bool,
    /// Whether it brought a key.
    pub has_key: bool,
    /// The whole document; null if it is none.
    pub body: Value,
}

/// The latest requests.
#[derive(Debug, Default)]
pub(super) struct Records {
    kept: VecDeque<(usize, Request)>,
    bytes: usize,
}

impl Records {
    /// Keeps a request of so many bytes, and lets go of the oldest ones if there is too much.
    pub(super) fn push(&mut self, bytes: usize, request: Request) {
        self.bytes += bytes;
        self.kept.push_back((bytes, request));
        while self.kept.len() > MAX_REQUESTS || self.bytes > MAX_BYTES {
            let Some((bytes, _)) = self.kept.pop_front() else { break };
            self.bytes -= bytes;
        }
    }

    pub(super) fn all(&self) -> Vec<Request> {
        self.kept.iter().map(|(_, request)| request.clone()).collect()
    }
}
