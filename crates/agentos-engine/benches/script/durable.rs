//! Durable steps through engine and store: in TypeScript, and the same in Rust.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentos_core::entry::RunStarted;
use agentos_core::id::{OwnerId, RunId};
use agentos_core::time::Timestamp;
use agentos_engine::clock::SystemClock;
use agentos_engine::engine::{Builder, Limits};
use agentos_engine::library::{Library, RustLibrary, ScriptLibrary, to_be_kept};
use agentos_script::definition::Definition;
use agentos_script::sources::Sources;
use agentos_sdk::{Ctx, Workflow, Workflows};
use agentos_store::place::Place;
use agentos_store::records::{Project, Records as _};
use agentos_store::sqlite::{Options, SqliteStore};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const TYPESCRIPT: &str = "durable step, TypeScript, 128 runs";
pub(crate) const RUST: &str = "durable step, Rust, 128 runs";

const AT_ONCE: u64 = 128;
const STEPS: u32 = 10;
const LENGTH: Duration = Duration::from_millis(1_500);

const WORKFLOW: &str = "import { createWorkflow } from \"agentos\";
export default createWorkflow({ name: \"bench\" }, async (ctx: any) => {
    for (let i = 0; i < ctx.input; i++) await ctx.run(\"step\", async () => {});
});";

type Starter = Box<dyn Fn(RunId, Value) -> RunStarted>;

/// Processor time of this process.
fn cpu() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

async fn scripts(store: &SqliteStore) -> (Arc<dyn Library>, Starter) {
    let sources = Sources::single("templates/bench.ts", WORKFLOW);
    let definition = Arc::new(Definition::compile(&sources).expect("it compiles"));
    let (id, at) = (Uuid::from_u128(5), Timestamp(0));
    let (name, path) = ("bench".to_owned(), "/bench".to_owned());
    let project = Project { id, name: name.clone(), path, created_at: at, updated_at: at };
    store.put_project(project).await.expect("a project");
    let kept = to_be_kept(&definition, id, Uuid::from_u128(6), at);
    store.put_definition(kept).await.expect("a definition");
    let limits = agentos_script::limits::Limits::default();
    let library = Arc::new(ScriptLibrary::new(Arc::new(store.clone()), SystemClock, limits));
    library.offer(BTreeMap::from([(name, definition)]));
    let starting = Arc::clone(&library);
    let start = move |run, input| starting.start(run, "bench", input).expect("a start");
    (library, Box::new(start))
}

fn rust() -> (Arc<dyn Library>, Starter) {
    let workflow = Workflow::new("bench", |ctx: Ctx, n: u32| async move {
        for _ in 0..n {
            ctx.run("step", |_| async { Ok(()) }).await?;
        }
        Ok(())
    });
    let workflows = Workflows::new().with(workflow).expect("a name");
    let library = Arc::new(RustLibrary::new(workflows, SystemClock));
    let starting = Arc::clone(&library);
    let start = move |run, input| starting.start(run, "bench", input).expect("a start");
    (library, Box::new(start))
}

/// Processor time of one step, in microseconds.
async fn step(typescript: bool) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let store = SqliteStore::open(&path, Options::quiet(Uuid::from_u128(1))).expect("a store");
    let owner = store.enlist(OwnerId(Uuid::from_u128(7))).expect("an owner");
    let (library, start) = if typescript { scripts(&store).await } else { rust() };
    let limits = Limits { slots: 128, workers: 1, ..Limits::default() };
    let engine = Builder::new(Arc::new(store.clone()), owner.id(), library)
        .limits(limits)
        .bell(store.watch().expect("a watch"))
        .start()
        .expect("an engine");
    let (began, used) = (Instant::now(), cpu());
    let mut runs = 0;
    while began.elapsed() < LENGTH {
        let batch: Vec<RunId> =
            (0..AT_ONCE).map(|nth| RunId(Uuid::from_u64_pair(runs, nth))).collect();
        for run in &batch {
            let start = start(*run, json!(STEPS));
            engine.create(start, Place::default()).await.expect("it is created");
        }
        for run in &batch {
            engine.ended(*run).await.expect("it ends");
        }
        runs += 1;
    }
    let used = cpu() - used;
    engine.leave().await;
    used.as_secs_f64() * 1e6 / (runs * AT_ONCE * u64::from(STEPS)) as f64
}

/// One sample of both.
pub(crate) fn sample() -> Vec<(&'static str, &'static str, f64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    [(TYPESCRIPT, true), (RUST, false)]
        .map(|(case, typescript)| (case, "cpu µs", runtime.block_on(step(typescript))))
        .into()
}
