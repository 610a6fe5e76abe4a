//! `cargo xtask bench steps`: what a durable step costs, from the workflow's code to the disk and back.
//!
//! A workflow of N steps in a row, 1, 16 and 128 runs of it at once. *Pure* steps do nothing; *effect* steps append a line
//! to a file, which is done only after the order is durable. Beside them, in the same rounds, the ceiling: one raw row
//! per commit, merged with whatever waits (WAL, `synchronous=FULL`).
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "../../agentos-store/benches/store/cpu.rs"]
mod cpu;
#[path = "../../agentos-store/benches/store/report.rs"]
mod report;

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentos_core::id::{OwnerId, RunId};
use agentos_engine::clock::SystemClock;
use agentos_engine::engine::{Builder, Limits};
use agentos_engine::library::RustLibrary;
use agentos_sdk::{Ctx, Result, Workflow, Workflows};
use agentos_store::place::Place;
use agentos_store::sqlite::ceiling::Merging;
use agentos_store::sqlite::{Options, SqliteStore};
use cpu::cpu;
use report::Report;
use serde_json::json;
use uuid::Uuid;

const ROUNDS: usize = 3;
const LENGTH: Duration = Duration::from_millis(1_500);
const AT_ONCE: [usize; 3] = [1, 16, 128];
const STEPS: [u32; 3] = [1, 10, 100];

/// What one sample saw.
struct Seen {
    steps: f64,
    wall: Duration,
    cpu: Duration,
    /// How long each step took, in microseconds.
    latencies: Vec<u32>,
}

impl Seen {
    fn report(mut self, report: &mut Report, case: &str) {
        report.add(case, "steps/s", self.steps / self.wall.as_secs_f64());
        report.add(case, "cpu µs", self.cpu.as_secs_f64() * 1e6 / self.steps);
        self.latencies.sort_unstable();
        for (unit, part) in [("p50 µs", 0.5), ("p99 µs", 0.99)] {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
            let index = (self.latencies.len() as f64 * part) as usize;
            if let Some(latency) = self.latencies.get(index) {
                report.add(case, unit, f64::from(*latency));
            }
        }
    }
}

/// Where effects write, and when they did.
#[derive(Clone)]
struct Lines {
    file: Arc<Mutex<std::fs::File>>,
    latencies: Arc<Mutex<Vec<u32>>>,
}

impl Lines {
    fn append(&self, last: &Mutex<Option<Instant>>) -> std::io::Result<()> {
        self.file.lock().expect("nobody panics").write_all(b"a line\n")?;
        let now = Instant::now();
        if let Some(before) = last.lock().expect("nobody panics").replace(now) {
            let latency = u32::try_from((now - before).as_micros()).unwrap_or(u32::MAX);
            self.latencies.lock().expect("nobody panics").push(latency);
        }
        Ok(())
    }
}

async fn effects(ctx: Ctx, n: u32, lines: Lines) -> Result<()> {
    let last = Arc::new(Mutex::new(None));
    for _ in 0..n {
        let (lines, last) = (lines.clone(), Arc::clone(&last));
        let step = ctx.run("step", move |ctx| {
            let (lines, last) = (lines.clone(), Arc::clone(&last));
            async move {
                let line = ctx.effect("line", move || async move { Ok(lines.append(&last)?) });
                Ok(line.await?)
            }
        });
        step.await?;
    }
    Ok(())
}

fn workflows(lines: &Lines) -> Workflows {
    let pure = Workflow::new("pure", |ctx: Ctx, n: u32| async move {
        for _ in 0..n {
            ctx.run("step", |_| async { Ok(()) }).await?;
        }
        Ok(())
    });
    let lines = lines.clone();
    let effect = Workflow::new("effect", move |ctx: Ctx, n: u32| effects(ctx, n, lines.clone()));
    Workflows::new().with(pure).and_then(|all| all.with(effect)).expect("two names")
}

/// Runs of one workflow, so many at once, for a while.
async fn ours(kind: &'static str, at_once: usize, n: u32) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let store = SqliteStore::open(&path, Options::quiet(Uuid::from_u128(1))).expect("a store");
    let owner = store.enlist(OwnerId(Uuid::from_u128(7))).expect("an owner");
    let lines = lines_in(folder.path());
    let library = Arc::new(RustLibrary::new(workflows(&lines), SystemClock));
    let limits = Limits { slots: at_once, workers: 1, ..Limits::default() };
    let library_of_engine: Arc<RustLibrary> = Arc::clone(&library);
    let engine = Builder::new(Arc::new(store.clone()), owner.id(), library_of_engine)
        .limits(limits)
        .bell(store.watch().expect("a watch"))
        .start()
        .expect("an engine");
    let engine = Arc::new(engine);
    let (began, used) = (Instant::now(), cpu());
    let mut streams = tokio::task::JoinSet::new();
    for stream in 0..at_once {
        let (engine, library) = (Arc::clone(&engine), Arc::clone(&library));
        streams.spawn(async move {
            let mut runs = 0;
            while began.elapsed() < LENGTH {
                let run = RunId(Uuid::from_u64_pair(stream as u64, runs));
                let start = library.start(run, kind, json!(n)).expect("a start");
                engine.create(start, Place::default()).await.expect("it is created");
                engine.ended(run).await.expect("it ends");
                runs += 1;
            }
            runs
        });
    }
    let runs: u64 = streams.join_all().await.into_iter().sum();
    let (wall, cpu) = (began.elapsed(), cpu() - used);
    let latencies = std::mem::take(&mut *lines.latencies.lock().expect("nobody panics"));
    if let Ok(engine) = Arc::try_unwrap(engine) {
        engine.leave().await;
    }
    Seen { steps: runs as f64 * f64::from(n), wall, cpu, latencies }
}

fn lines_in(folder: &Path) -> Lines {
    let file = std::fs::File::options().create(true).append(true).open(folder.join("lines"));
    Lines { file: Arc::new(Mutex::new(file.expect("a file"))), latencies: Arc::default() }
}

/// Raw rows, so many waiting at once.
async fn ceiling(at_once: usize) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    // About as much as the entries of one step.
    let merging = Arc::new(Merging::start(&folder.path().join("raw.db"), "x".repeat(600)));
    let (began, used) = (Instant::now(), cpu());
    let mut waiters = tokio::task::JoinSet::new();
    for waiter in 0..at_once {
        let merging = Arc::clone(&merging);
        waiters.spawn(async move {
            let mut latencies = Vec::new();
            while began.elapsed() < LENGTH {
                let before = Instant::now();
                merging.insert(waiter).await;
                latencies.push(u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
            latencies
        });
    }
    let latencies: Vec<u32> = waiters.join_all().await.into_iter().flatten().collect();
    Seen { steps: latencies.len() as f64, wall: began.elapsed(), cpu: cpu() - used, latencies }
}

async fn measure(report: &mut Report) {
    for at_once in AT_ONCE {
        let raw = format!("raw row, merged, {at_once} at once");
        for _ in 0..ROUNDS {
            ceiling(at_once).await.report(report, &raw);
            for kind in ["effect", "pure"] {
                for n in STEPS {
                    let case = format!("{kind}, {at_once} at once, N = {n}");
                    ours(kind, at_once, n).await.report(report, &case);
                }
            }
        }
        for kind in ["effect", "pure"] {
            for n in STEPS {
                let case = format!("{kind}, {at_once} at once, N = {n}");
                report.ratio(&case, &raw, "steps/s");
                report.ratio(&case, &raw, "p50 µs");
            }
        }
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let mut report = Report::default();
    runtime.expect("a runtime").block_on(measure(&mut report));
    print!("{report}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("steps.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", folder.display());
        std::process::exit(1);
    }
}
