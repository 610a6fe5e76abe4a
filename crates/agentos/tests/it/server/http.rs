//! A small HTTP client: one request, one connection, and nothing that hides what was sent.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use agentos_server::problem::ProblemKind;
use serde_json::Value;

use crate::support::TIMEOUT;

/// What was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// By their names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The same, if it has this status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{:?} {text}", self.headers);
        self
    }

    /// The problem, if it is one of this kind: with its status, its `type` and its title.
    #[track_caller]
    pub(crate) fn refuses(self, kind: &str) -> Value {
        let known = ProblemKind::ALL.iter().find(|known| known.slug() == kind).expect("a kind");
        let problem = self.is(known.status().as_u16()).json();
        assert_eq!(problem["type"], format!("urn:agentos:problem:{kind}"), "{problem}");
        assert_eq!(problem["title"], known.title(), "{problem}");
        problem
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A request, as it goes out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

/// Sends it, and reads the answer to its end.
pub(crate) fn send(address: &str, request: Request<'_>) -> Answer {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
    let Request { method, path, headers, body } = request;
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method == "POST" {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes()).expect("it reads");
    // Whoever refuses a large body need not read all of it.
    let _refused = stream.write_all(body);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    understood(&bytes)
}

fn understood(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let is_chunked = headers.get("transfer-encoding").is_some_and(|kind| kind == "chunked");
    let body = if is_chunked { unchunked(rest) } else { rest.to_vec() };
    Answer { status: status.expect("a status"), headers, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").expect("a length");
        let length = String::from_utf8_lossy(&rest[..end]).into_owned();
        let length = usize::from_str_radix(length.trim(), 16).expect("a number");
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
}
