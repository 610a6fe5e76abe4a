//! A client of few words: one request a connection, and what came back of it.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use agentos_testing::model::ModelServer;
/// How long the client waits for a silent server, where an answer is expected.
pub(crate) use agentos_testing::wait::TIMEOUT;
use serde_json::{Value, json};

/// How long it waits where silence is expected.
pub(crate) const SHORT_TIMEOUT: Duration = Duration::from_millis(300);

/// What came back, and how the connection ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    /// The body, without what the transfer adds to it.
    pub(crate) body: String,
    /// Whether the body came to its proper end.
    pub(crate) is_whole: bool,
    /// Whether the server kept the connection open without a word.
    pub(crate) is_silent: bool,
}

impl Answer {
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The documents of the events in it.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).expect("a document")).collect()
    }
}

/// A request that is about to be sent.
pub(crate) struct Ask {
    line: String,
    headers: Vec<String>,
    body: String,
}

impl Ask {
    pub(crate) fn post(path: &str, body: &Value) -> Self {
        let headers = vec!["x-api-key: any".to_owned()];
        Self { line: format!("POST {path}"), headers, body: body.to_string() }
    }

    pub(crate) fn header(mut self, header: &str) -> Self {
        self.headers.push(header.to_owned());
        self
    }

    pub(crate) fn without_key(mut self) -> Self {
        self.headers.clear();
        self
    }

    pub(crate) fn with(mut self, line: &str, body: &str) -> Self {
        (self.line, self.body) = (line.to_owned(), body.to_owned());
        self
    }

    /// Sends it and reads what comes, for as long as the server says something.
    pub(crate) fn send(self, server: &ModelServer, timeout: Duration) -> Answer {
        self.send_to(&server.url(), timeout)
    }

    pub(crate) fn send_to(self, url: &str, timeout: Duration) -> Answer {
        let mut connection = self.sent_to(url);
        connection.set_read_timeout(Some(timeout)).expect("a limit");
        let mut bytes = Vec::new();
        let is_silent = is_silence(connection.read_to_end(&mut bytes).map(drop));
        parse(&String::from_utf8_lossy(&bytes), is_silent)
    }

    /// Sends it, waits until a body has begun, and reads what comes until there is silence.
    pub(crate) fn send_and_stall(self, server: &ModelServer) -> Answer {
        let mut connection = self.sent_to(&server.url());
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let answer = parse(&String::from_utf8_lossy(&bytes), false);
            let timeout = if answer.body.is_empty() { TIMEOUT } else { SHORT_TIMEOUT };
            connection.set_read_timeout(Some(timeout)).expect("a limit");
            match connection.read(&mut piece) {
                Ok(0) => return answer,
                Ok(length) => bytes.extend_from_slice(&piece[..length]),
                Err(error) => {
                    let is_silent = is_silence(Err(error));
                    return parse(&String::from_utf8_lossy(&bytes), is_silent);
                }
            }
        }
    }

    fn sent_to(self, url: &str) -> TcpStream {
        let address = url.replace("http://", "");
        let mut connection = TcpStream::connect(&address).expect("it listens");
        let headers: String = self.headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(
            connection,
            "{} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{}",
            self.line,
            self.body.len(),
            self.body
        )
        .expect("it reads");
        connection
    }
}

/// Whether reading ended because nothing came.
fn is_silence(read: io::Result<()>) -> bool {
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

fn parse(text: &str, is_silent: bool) -> Answer {
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let (body, is_whole) = if is_chunked { unchunked(rest) } else { (rest.to_owned(), true) };
    Answer { status, body, is_whole: is_whole && status.is_some() && !is_silent, is_silent }
}

/// A body that comes in pieces, and whether it has its end.
fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            return (body, true);
        }
        let Some(piece) = after.get(..size) else { break };
        body.push_str(piece);
        rest = after.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}

/// A prompt in each dialect: its path, and a document for it.
pub(crate) fn prompts(text: &str) -> [(&'static str, Value); 3] {
    let message = json!([{ "role": "user", "content": text }]);
    [
        ("/v1/messages", json!({ "model": "m", "stream": true, "messages": message })),
        ("/v1/responses", json!({ "model": "m", "stream": true, "input": message })),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({ "contents": [{ "role": "user", "parts": [{ "text": text }] }] }),
        ),
    ]
}
