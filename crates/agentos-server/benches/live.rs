//! `cargo xtask bench live`: what it costs to tell many what happens.
//!
//! A thousand WebSockets follow one run while somebody commits as fast as the disk takes it. Measured: messages that arrive in
//! a second, over all of them; the same with clients that do not read; what one of those costs; and what the server burns
//! while everybody waits. Clients and server share the machine, so a server alone would do more.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]
#![expect(clippy::unwrap_used, reason = "a measurement that can not be made is no measurement")]

#[path = "../tests/it/live/client.rs"]
#[expect(dead_code, reason = "tests ask for more")]
mod client;
#[path = "../../agentos-store/benches/store/cpu.rs"]
mod cpu;
#[path = "../tests/it/live/house.rs"]
#[expect(dead_code, reason = "tests ask for more")]
mod house;
#[path = "../../agentos-store/benches/store/report.rs"]
#[expect(dead_code, reason = "others compare, this one does not")]
mod report;
#[path = "../tests/it/live/writer.rs"]
#[expect(dead_code, reason = "tests ask for more")]
mod writer;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentos_core::id::RunId;
use cpu::cpu;
use house::Server;
use report::Report;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use writer::{Writer, open};

const SUBSCRIBERS: u64 = 1_000;
const STALLED: u64 = 200;
const COMMITS: u64 = 100;
const ENTRIES: u64 = 4;
const ROUNDS: usize = 5;
const QUIET: Duration = Duration::from_secs(3);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let mut report = Report::default();
    runtime.expect("a runtime").block_on(measure(&mut report));
    println!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    std::fs::create_dir_all(&results).expect("a folder");
    std::fs::write(results.join("live.json"), report.to_json()).expect("a file");
}

async fn measure(report: &mut Report) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.db");
    let store = open(&path);
    let server = Server::over(&[path]).await;
    let mut number = 0;
    for _ in 0..ROUNDS {
        number += 1;
        let mut writer = Writer::start(&store, number).await;
        let crowd = Crowd::of(server.address, writer.run, SUBSCRIBERS).await;
        let (rate, _) = crowd.told(&mut writer).await;
        report.add("1,000 subscribers, all reading", "messages/s", rate);
        let used = cpu();
        tokio::time::sleep(QUIET).await;
        let part = (cpu() - used).as_secs_f64() / QUIET.as_secs_f64();
        report.add("1,000 subscribers, nothing happens", "% cpu", part * 100.0);
    }
    for _ in 0..ROUNDS {
        number += 1;
        let mut writer = Writer::start(&store, number).await;
        let crowd = Crowd::of(server.address, writer.run, SUBSCRIBERS).await;
        let mut stalled = Vec::new();
        for _ in 0..STALLED {
            stalled.push(subscribed(server.address, writer.run).await);
        }
        let before = resident();
        let (rate, _) = crowd.told(&mut writer).await;
        report.add("1,000 subscribers, 200 others do not read", "messages/s", rate);
        report.add(
            "a client that does not read",
            "kB",
            (resident() - before).max(0.0) / STALLED as f64,
        );
    }
}

/// Memory that this process holds, in kilobytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(f64::NAN)
}

/// Clients that read as little as they can: only how many messages there are.
struct Crowd {
    heard: Arc<AtomicU64>,
    news: Arc<Notify>,
    readers: tokio::task::JoinSet<()>,
    size: u64,
}

impl Crowd {
    async fn of(address: SocketAddr, run: RunId, size: u64) -> Self {
        let (heard, news) = (Arc::new(AtomicU64::new(0)), Arc::new(Notify::new()));
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..size {
            let socket = subscribed(address, run).await;
            readers.spawn(count(socket, Arc::clone(&heard), Arc::clone(&news), size));
        }
        Self { heard, news, readers, size }
    }

    /// How many messages arrive in a second, while so many are committed, and how long that took.
    async fn told(mut self, writer: &mut Writer) -> (f64, Duration) {
        let texts: Vec<String> = (0..ENTRIES).map(|number| number.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let all = self.size * COMMITS * ENTRIES;
        let began = Instant::now();
        for _ in 0..COMMITS {
            writer.note(&texts).await;
        }
        while self.heard.load(Ordering::Relaxed) < all {
            self.news.notified().await;
        }
        let took = began.elapsed();
        self.readers.shutdown().await;
        (all as f64 / took.as_secs_f64(), took)
    }
}

/// A socket that has subscribed, behind the answer to that.
async fn subscribed(address: SocketAddr, run: RunId) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.expect("somebody listens");
    let request = format!(
        "GET /ws HTTP/1.1\r\nhost: {address}\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.expect("it reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.expect("an answer"));
    }
    let data = json!({ "executionId": run, "progress": false });
    let wish = json!({ "type": "workflow:subscribe", "data": data }).to_string();
    let length = u8::try_from(wish.len()).expect("it is short");
    // Masked with zeros, as clients have to.
    let mut frame = vec![0x81, 0x80 | 126, 0, length, 0, 0, 0, 0];
    frame.extend_from_slice(wish.as_bytes());
    socket.write_all(&frame).await.expect("it reads");
    loop {
        let mut start = [0; 2];
        socket.read_exact(&mut start).await.expect("a frame");
        let length = match start[1] {
            126 => usize::from(socket.read_u16().await.expect("a length")),
            127 => {
                usize::try_from(socket.read_u64().await.expect("a length")).expect("it is short")
            }
            short => usize::from(short),
        };
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await.expect("a body");
        if start[0] == 0x81 {
            return socket;
        }
    }
}

/// Counts the frames of text that come, and tells of every thousandth part of what is awaited.
async fn count(mut socket: TcpStream, heard: Arc<AtomicU64>, news: Arc<Notify>, step: u64) {
    let mut buffer = vec![0_u8; 64 << 10];
    let (mut filled, mut skipped) = (0, 0);
    loop {
        let Ok(read @ 1..) = socket.read(&mut buffer[filled..]).await else { return };
        filled += read;
        let (mut at, mut found) = (0, 0);
        loop {
            let jump = skipped.min(filled - at);
            (at, skipped) = (at + jump, skipped - jump);
            let Some((head, body)) = header(&buffer[at..filled]).filter(|_| skipped == 0) else {
                break;
            };
            found += u64::from(buffer[at] == 0x81);
            (at, skipped) = (at + head, body);
        }
        buffer.copy_within(at..filled, 0);
        filled -= at;
        let before = heard.fetch_add(found, Ordering::Relaxed);
        if before / step != (before + found) / step {
            news.notify_one();
        }
    }
}

/// How long the head of a frame is, and how long its body.
fn header(bytes: &[u8]) -> Option<(usize, usize)> {
    match *bytes.get(1)? {
        126 => Some((4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)))),
        127 => {
            let length = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
            Some((10, usize::try_from(length).ok()?))
        }
        short => Some((2, usize::from(short))),
    }
}
