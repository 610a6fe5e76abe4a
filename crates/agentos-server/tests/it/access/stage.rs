//! A server with a small router, and a client that speaks raw bytes.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use agentos_core::time::Timestamp;
use agentos_server::access::{Access, AccessSettings, Caller, HostName, PageOrigin, Secret, Trace};
use agentos_server::listen::{Limits, SocketFile, Sockets, listen};
use agentos_server::problem::Problem;
use agentos_server::problem::ProblemKind;
use agentos_store::registry::{KnownToken, Registry, Scope};
/// How long anything may take before it counts as hanging.
pub(super) use agentos_testing::wait::TIMEOUT;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::{delete, get, post};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What the routes have seen, and what they are told.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) looks: AtomicUsize,
    pub(super) deeds: AtomicUsize,
    /// What is said of the process that asks: 0 nothing, 1 no run has started it, 2 one has.
    pub(super) lineage: AtomicU8,
}

/// A server that is stopped when it is dropped.
pub(super) struct Stage {
    pub(super) address: SocketAddr,
    pub(super) registry: Registry,
    pub(super) seen: Arc<Seen>,
    pub(super) folder: TempDir,
    stop: CancellationToken,
    ended: Receiver<()>,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(super) fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(folder.path().join("registry.db"));
        let seen = Arc::new(Seen::default());
        let stop = CancellationToken::new();
        let (tell_address, address) = channel();
        let (tell_end, ended) = channel();
        let access = Access::new(settings(&registry, &seen));
        let (router, until) = (router(seen.clone()), stop.clone());
        let socket = socket_in(&folder);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let unix = Some(SocketFile::bind(socket).unwrap());
                tell_address.send(listener.local_addr().unwrap()).unwrap();
                let sockets = Sockets { tcp: vec![listener], unix };
                listen(router, sockets, access, limits, until).await.unwrap();
            });
            let _nobody_waits = tell_end.send(());
        });
        let address = address.recv_timeout(TIMEOUT).unwrap();
        Self { address, registry, seen, folder, stop, ended }
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn socket(&self) -> PathBuf {
        socket_in(&self.folder)
    }

    /// A token, as its holder has it.
    pub(super) fn token(&self, name: &str, scope: Scope, expires_at: Option<i64>) -> String {
        let secret = Secret::random().unwrap();
        let known = KnownToken {
            id: secret.id().to_owned(),
            name: name.to_owned(),
            scope,
            created_at: Timestamp(1),
            expires_at: expires_at.map(Timestamp),
            used_at: None,
        };
        self.registry.add_token(&known, &secret.hash()).unwrap();
        secret.reveal()
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends these bytes, and reads until the server closes the connection.
    pub(super) fn say(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        // It may have been refused before all of it was sent.
        let _sent = stream.write_all(bytes.as_ref());
        until_closed(&mut stream)
    }

    /// One request with these headers, beside the right host.
    pub(super) fn ask(&self, line: &str, headers: &[(&str, &str)]) -> Answer {
        Answer::parse(&self.say(self.request(line, headers, "")))
    }

    /// The bytes of a request that closes its connection.
    pub(super) fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> String {
        let host = format!("localhost:{}", self.port());
        let mut text = format!("{line} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text.push_str(&format!("host: {host}\r\n"));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        text + "\r\n" + body
    }

    pub(super) fn deeds(&self) -> usize {
        self.seen.deeds.load(Ordering::SeqCst)
    }

    pub(super) fn looks(&self) -> usize {
        self.seen.looks.load(Ordering::SeqCst)
    }

    /// Has the server stop.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until it has.
    pub(super) fn wait_for_end(&self) {
        self.ended.recv_timeout(TIMEOUT).unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn socket_in(folder: &TempDir) -> PathBuf {
    folder.path().join("run/server.sock")
}

fn settings(registry: &Registry, seen: &Arc<Seen>) -> AccessSettings {
    let seen = seen.clone();
    AccessSettings {
        registry: registry.clone(),
        user: "ada".to_owned(),
        hosts: vec![HostName::parse("agentos.example").unwrap()],
        origins: vec![PageOrigin::parse("http://localhost:5173").unwrap()],
        lineage: Arc::new(move |_: Trace| match seen.lineage.load(Ordering::SeqCst) {
            0 => None,
            said => Some(said == 2),
        }),
    }
}

/// Everything that is read until the connection is closed, however that happens.
pub(super) fn until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            panic!("the server did not close the connection; it said {bytes:?}")
        }
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// What the server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        Self {
            status: status.unwrap_or_else(|| panic!("there is no answer in {text:?}")),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: body.to_owned(),
        }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// That it is a problem of this kind, with its status.
    #[track_caller]
    pub(super) fn assert_problem(&self, kind: &str) {
        let known = ProblemKind::ALL.iter().find(|known| known.slug() == kind).expect("a kind");
        self.assert_problem_of(known.status().as_u16(), &format!("urn:agentos:problem:{kind}"));
    }

    /// That it is a problem of this status and type, in words.
    #[track_caller]
    pub(super) fn assert_problem_of(&self, status: u16, kind: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let problem: serde_json::Value = serde_json::from_str(&self.body).expect("a document");
        assert_eq!(
            (&problem["status"], &problem["type"]),
            (&status.into(), &kind.into()),
            "{self:?}"
        );
        assert!(!problem["detail"].as_str().unwrap_or_default().is_empty(), "{self:?}");
        assert!(!self.header("x-request-id").is_empty(), "{self:?}");
    }
}

fn router(seen: Arc<Seen>) -> Router {
    Router::new()
        .route("/", get(|| async { "the dashboard" }))
        .route("/api/look", get(look))
        .route("/api/deed", post(deed))
        .route("/api/decide", post(decide))
        .route("/api/thing", delete(|| async { "gone" }))
        .route("/api/slow", post(slow))
        .route("/api/stream", get(stream))
        .route("/api/flood", get(flood))
        .route("/api/mistake", get(|| async { broken() }))
        .route("/ws", get(websocket))
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(seen)
}

async fn look(State(seen): State<Arc<Seen>>, caller: Caller) -> String {
    seen.looks.fetch_add(1, Ordering::SeqCst);
    caller.name()
}

async fn deed(State(seen): State<Arc<Seen>>, body: Bytes) -> String {
    seen.deeds.fetch_add(1, Ordering::SeqCst);
    body.len().to_string()
}

async fn decide(caller: Caller) -> Result<&'static str, Problem> {
    caller.may_decide(Scope::Run).await?;
    Ok("decided")
}

fn broken() -> String {
    panic!("somebody made a mistake")
}

/// Answers after a while: when the server has been told to stop, or never.
async fn slow(State(seen): State<Arc<Seen>>, caller: Caller, body: Bytes) -> &'static str {
    seen.looks.fetch_add(1, Ordering::SeqCst);
    if body.is_empty() {
        std::future::pending::<()>().await;
    }
    caller.ended().await;
    "in the end"
}

async fn stream(caller: Caller) -> Response {
    let lines = futures_util::stream::unfold((caller, 0), |(caller, number)| async move {
        tokio::select! {
            () = caller.ended() => None,
            () = tokio::time::sleep(Duration::from_millis(20)) => {
                let line = Bytes::from(format!("line {number}\n"));
                Some((Ok::<_, std::io::Error>(line), (caller, number + 1)))
            }
        }
    });
    Response::new(Body::from_stream(lines))
}

/// More than fits into the buffers of any socket.
async fn flood(State(seen): State<Arc<Seen>>) -> Response {
    let part = Bytes::from(vec![b'x'; 1 << 20]);
    let parts = futures_util::stream::iter((0..256).map(move |_| {
        seen.looks.fetch_add(1, Ordering::SeqCst);
        Ok::<_, std::io::Error>(part.clone())
    }));
    Response::new(Body::from_stream(parts))
}

async fn websocket(upgrade: WebSocketUpgrade, caller: Caller) -> Response {
    upgrade.protocols(["agentos"]).on_upgrade(|socket| echo(socket, caller))
}

async fn echo(mut socket: WebSocket, caller: Caller) {
    loop {
        let said = tokio::select! {
            said = socket.recv() => said,
            () = caller.ended() => {
                let _gone = socket.send(Message::Close(None)).await;
                return;
            }
        };
        match said {
            Some(Ok(said @ Message::Text(_))) => {
                if socket.send(said).await.is_err() {
                    return;
                }
            }
            Some(Ok(_)) => {}
            None | Some(Err(_)) => return,
        }
    }
}
