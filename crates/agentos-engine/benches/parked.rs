//! `cargo xtask bench parked`: what runs cost that only wait.
//!
//! A hundred thousand runs stand parked in one store, each waiting for a signal. Measured: the memory of an engine over
//! them, the processor time it burns while nothing happens, and how long it takes from sending one its signal until it
//! has ended.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "../../agentos-store/benches/store/cpu.rs"]
mod cpu;
#[path = "../../agentos-store/benches/store/report.rs"]
#[expect(dead_code, reason = "others compare, this one does not")]
mod report;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{InboxKey, OwnerId, RunId, Seq, StepNumber, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_engine::clock::SystemClock;
use agentos_engine::engine::{Builder, Limits};
use agentos_engine::library::RustLibrary;
use agentos_sdk::{Ctx, Workflow, Workflows};
use agentos_store::place::Place;
use agentos_store::run::{History, NewRun};
use agentos_store::sqlite::{Options, SqliteStore};
use agentos_store::store::Store as _;
use cpu::cpu;
use report::Report;
use serde_json::{Value, json};
use uuid::Uuid;

const RUNS: u64 = 100_000;
const AT_ONCE: u64 = 256;
const WOKEN: u64 = 200;
const QUIET: Duration = Duration::from_secs(3);

fn run(number: u64) -> RunId {
    RunId(Uuid::from_u64_pair(1, number))
}

fn workflows() -> Workflows {
    let waits = Workflow::new("waits", |ctx: Ctx, _: Value| async move {
        Ok(ctx.wait_for::<Value>("go").await?)
    });
    Workflows::new().with(waits).expect("one name")
}

/// A run as it stands after its first turn: it has asked for its wait.
fn parked(library: &RustLibrary, number: u64) -> NewRun {
    let start = library.start(run(number), "waits", Value::Null).expect("a start");
    let ordered = Entry::OperationOrdered {
        operation: "/wait:go#1".parse().expect("an operation"),
        number: Some(StepNumber(1)),
        args: json!({ "timeout_ms": null }),
        due: None,
        child: None,
        r#try: Try::FIRST,
        site: None,
    };
    let rest = vec![Chunk::new(Seq(1), Timestamp(1), vec![ordered])];
    let standing = Standing::Parked { wake_at: None };
    let history = History { began: Timestamp(1), rest, standing };
    NewRun {
        run: run(number),
        at: Timestamp(1),
        first: Entry::RunStarted(start),
        history: Some(history),
        place: Place::default(),
        owner: None,
    }
}

async fn fill(store: &SqliteStore, library: &Arc<RustLibrary>) {
    let mut streams = tokio::task::JoinSet::new();
    for stream in 0..AT_ONCE {
        let (store, library) = (store.clone(), Arc::clone(library));
        streams.spawn(async move {
            for number in (stream..RUNS).step_by(AT_ONCE as usize) {
                store.create_run(parked(&library, number)).await.expect("it is created");
            }
        });
    }
    streams.join_all().await;
}

/// Memory that this process holds, in megabytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kb.unwrap_or(f64::NAN) / 1024.0
}

/// Fills a store and leaves it: the engine that is measured is a process that has not done that.
async fn prepare(path: &Path) {
    let store = SqliteStore::open(path, Options::quiet(Uuid::from_u128(1))).expect("a store");
    fill(&store, &Arc::new(RustLibrary::new(workflows(), SystemClock))).await;
}

async fn measure(path: &Path, report: &mut Report) {
    let store = SqliteStore::open(path, Options::quiet(Uuid::from_u128(1))).expect("a store");
    let owner = store.enlist(OwnerId(Uuid::from_u128(7))).expect("an owner");
    let library = Arc::new(RustLibrary::new(workflows(), SystemClock));
    let limits = Limits { workers: 1, linger: Duration::ZERO, ..Limits::default() };
    let engine = Builder::new(Arc::new(store.clone()), owner.id(), library)
        .limits(limits)
        .bell(store.watch().expect("a watch"))
        .start()
        .expect("an engine");
    engine.idle(Duration::from_millis(100)).await;
    report.add("100,000 parked runs, engine at rest", "MB", resident());
    let used = cpu();
    tokio::time::sleep(QUIET).await;
    let part = (cpu() - used).as_secs_f64() / QUIET.as_secs_f64();
    report.add("100,000 parked runs, engine at rest", "% cpu", part * 100.0);
    for number in 0..WOKEN {
        let run = run(number * (RUNS / WOKEN));
        let body =
            MessageBody::Signal { name: Name::new("go").expect("a name"), payload: Value::Null };
        let message = Message { key: InboxKey("go".into()), body };
        let began = Instant::now();
        engine.send(run, message).await.expect("it is sent");
        engine.ended(run).await.expect("it ends");
        report.add(
            "signal sent until the run has ended",
            "ms",
            began.elapsed().as_secs_f64() * 1e3,
        );
    }
    report.add("100,000 parked runs, engine after work", "MB", resident());
    engine.leave().await;
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    if let Some(path) = words.iter().find_map(|word| word.strip_prefix("fill=")) {
        runtime.block_on(prepare(Path::new(path)));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let own = std::env::current_exe().expect("a program knows itself");
    let filled = std::process::Command::new(own).arg(format!("fill={}", path.display())).status();
    assert!(filled.is_ok_and(|status| status.success()), "the store could not be filled");
    let mut report = Report::default();
    runtime.block_on(measure(&path, &mut report));
    print!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&results)
        .and_then(|()| std::fs::write(results.join("parked.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", results.display());
        std::process::exit(1);
    }
}
