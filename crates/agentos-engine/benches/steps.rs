//! `cargo xtask bench steps`: what a durable step costs, from the workflow's code to the disk and back.
//!
//! A workflow of N steps in a row, 1, 16 and 128 runs of it at once. *Pure* steps do nothing; *effect* steps append a line
//! to a file, which is done only after the order is durable. Beside them, in the same rounds, what SQLite does by itself,
//! with as many who wait and ask again (WAL, `synchronous=FULL`): one raw row a commit, merged with whatever waits, for
//! tasks and for threads, and the rows of a step.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "../../agentos-store/benches/store/bare_sqlite.rs"]
mod bare_sqlite;
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
use agentos_store::sqlite::{Options, SqliteStore};
use bare_sqlite::{Merging, Rows};
use cpu::cpu;
use report::Report;
use serde_json::json;
use uuid::Uuid;

const ROUNDS: usize = 3;
const LENGTH: Duration = Duration::from_millis(1_500);
const PROFILE_LENGTH: Duration = Duration::from_secs(3);
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
async fn ours(kind: &'static str, at_once: usize, n: u32, length: Duration) -> Seen {
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
            while began.elapsed() < length {
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

/// Not beside the database, whose folder is watched.
fn lines_in(folder: &Path) -> Lines {
    let folder = folder.join("world");
    std::fs::create_dir(&folder).expect("a folder");
    let file = std::fs::File::options().create(true).append(true).open(folder.join("lines"));
    Lines { file: Arc::new(Mutex::new(file.expect("a file"))), latencies: Arc::default() }
}

/// How many bytes the entries of one effect step have in the log: the mean of what the cases here write.
const CHUNK: usize = 655;

/// SQLite by itself, so many waiting at once.
async fn ceiling(at_once: usize, reference: Reference) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("raw.db");
    let rows = if reference == Reference::Step { Rows::OfAStep } else { Rows::One };
    let merging = Arc::new(Merging::start(&path, rows, "x".repeat(CHUNK)));
    let (began, used) = (Instant::now(), cpu());
    if reference == Reference::Threads {
        let latencies = on_threads(at_once, began, &merging);
        let (wall, cpu) = (began.elapsed(), cpu() - used);
        return Seen { steps: latencies.len() as f64, wall, cpu, latencies };
    }
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

/// What SQLite does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reference {
    /// One row, and those who wait are tasks of one thread.
    Row,
    /// One row, and those who wait are threads.
    Threads,
    /// The rows of a step, for tasks.
    Step,
}

impl Reference {
    const ALL: [Self; 3] = [Self::Row, Self::Threads, Self::Step];

    fn case(self, at_once: usize) -> String {
        match self {
            Self::Row => format!("raw row, {at_once} at once"),
            Self::Threads => format!("raw row, {at_once} threads"),
            Self::Step => format!("raw rows of a step, {at_once} at once"),
        }
    }
}

fn on_threads(at_once: usize, began: Instant, merging: &Merging) -> Vec<u32> {
    std::thread::scope(|scope| {
        let waiting = |number| {
            move || {
                let mut latencies = Vec::new();
                while began.elapsed() < LENGTH {
                    let before = Instant::now();
                    agentos_store::conformance::block_on(merging.insert(number));
                    latencies.push(u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX));
                }
                latencies
            }
        };
        let threads: Vec<_> = (0..at_once).map(|number| scope.spawn(waiting(number))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("nobody panics")).collect()
    })
}

async fn measure(report: &mut Report) {
    for at_once in AT_ONCE {
        for _ in 0..ROUNDS {
            for reference in Reference::ALL {
                ceiling(at_once, reference).await.report(report, &reference.case(at_once));
            }
            for kind in ["effect", "pure"] {
                for n in STEPS {
                    let case = format!("{kind}, {at_once} at once, N = {n}");
                    ours(kind, at_once, n, LENGTH).await.report(report, &case);
                }
            }
        }
        for kind in ["effect", "pure"] {
            for n in STEPS {
                let case = format!("{kind}, {at_once} at once, N = {n}");
                for reference in Reference::ALL {
                    report.ratio(&case, &reference.case(at_once), "steps/s");
                    report.ratio(&case, &reference.case(at_once), "p50 µs");
                }
            }
        }
    }
}

/// One case and nothing else, for a profiler: `-- profile effect 128 100`.
fn profiled(arguments: &[String]) -> Option<(&'static str, usize, u32)> {
    let at = arguments.iter().position(|argument| argument == "profile")?;
    let kind = match arguments.get(at + 1)?.as_str() {
        "pure" => "pure",
        _ => "effect",
    };
    Some((kind, arguments.get(at + 2)?.parse().ok()?, arguments.get(at + 3)?.parse().ok()?))
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut report = Report::default();
    let arguments: Vec<String> = std::env::args().collect();
    if let Some((kind, at_once, n)) = profiled(&arguments) {
        let seen = runtime.block_on(ours(kind, at_once, n, PROFILE_LENGTH));
        seen.report(&mut report, &format!("{kind}, {at_once} at once, N = {n}"));
        return print!("{report}");
    }
    runtime.block_on(measure(&mut report));
    print!("{report}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("steps.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", folder.display());
        std::process::exit(1);
    }
}
