//! `cargo xtask bench steps`: what a durable step costs, from the workflow's code to the disk and back.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

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
use serde_json::json;
use uuid::Uuid;

fn workflows(file: &Path) -> Workflows {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(file).expect("a file");
    let file = Arc::new(Mutex::new(file));
    let pure = Workflow::new("pure", |ctx: Ctx, n: u32| async move {
        for _ in 0..n {
            ctx.run("step", |_| async { Ok(()) }).await?;
        }
        Ok(())
    });
    let effect = Workflow::new("effect", move |ctx: Ctx, n: u32| {
        let file = Arc::clone(&file);
        async move {
            for _ in 0..n {
                let file = Arc::clone(&file);
                ctx.run("step", move |ctx| {
                    let file = Arc::clone(&file);
                    async move {
                        let line = ctx.effect("line", move || async move {
                            file.lock().expect("nobody panics").write_all(b"a line\n")?;
                            Ok(())
                        });
                        Ok(line.await?)
                    }
                })
                .await?;
            }
            Result::<()>::Ok(())
        }
    });
    Workflows::new().with(pure).and_then(|all| all.with(effect)).expect("two names")
}

fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks: u64 = fields.get(11).and_then(|f| f.parse().ok()).unwrap_or(0)
        + fields.get(12).and_then(|f| f.parse().ok()).unwrap_or(0);
    Duration::from_millis(ticks * 10)
}

async fn sample(kind: &str, concurrency: usize, n: u32, total: usize) {
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let store =
        SqliteStore::open(&folder.path().join("runs.db"), Options::quiet(Uuid::from_u128(1)))
            .expect("a store");
    let owner = store.enlist(OwnerId(Uuid::from_u128(7))).expect("an owner");
    let library = Arc::new(RustLibrary::new(workflows(&folder.path().join("lines")), SystemClock));
    let workers = std::env::var("WORKERS").ok().and_then(|w| w.parse().ok()).unwrap_or(1);
    let limits = Limits { slots: concurrency, workers, watch_others: false, ..Limits::default() };
    let engine = Builder::new(Arc::new(store.clone()), owner.id(), Arc::clone(&library) as _)
        .limits(limits)
        .start()
        .expect("an engine");
    let engine = Arc::new(engine);
    let runs = total / n as usize;
    let (began, cpu_before) = (Instant::now(), cpu());
    let mut waiting = Vec::new();
    for part in 0..concurrency {
        let (engine, library, kind) = (Arc::clone(&engine), Arc::clone(&library), kind.to_owned());
        waiting.push(tokio::spawn(async move {
            for number in (part..runs).step_by(concurrency) {
                let run = RunId(Uuid::from_u128(number as u128 + 1));
                let start = library.start(run, &kind, json!(n)).expect("a start");
                engine.create(start, Place::default()).await.expect("created");
                engine.ended(run).await.expect("ended");
            }
        }));
    }
    for w in waiting {
        w.await.expect("done");
    }
    let (wall, cpu) = (began.elapsed(), cpu() - cpu_before);
    let steps = (runs * n as usize) as f64;
    println!(
        "{kind:7} {concurrency:4} runs, N={n:3}: {:9.0} steps/s  {:6.1} us cpu/step  {:6.0} us/step/run",
        steps / wall.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / steps,
        wall.as_secs_f64() * 1e6 * concurrency as f64 / steps,
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("rt");
    runtime.block_on(async {
        for kind in ["effect", "pure"] {
            for (c, n, total) in [
                (1, 1, 500),
                (1, 10, 2_000),
                (1, 100, 4_000),
                (16, 10, 10_000),
                (16, 100, 20_000),
                (128, 10, 20_000),
                (128, 100, 60_000),
            ] {
                sample(kind, c, n, total).await;
            }
        }
    });
}
