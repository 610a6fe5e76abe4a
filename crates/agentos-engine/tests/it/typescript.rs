//! Runs of TypeScript workflows: killed, and taken up again from the source that the store has kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use agentos_core::entry::RunOutcome;
use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_engine::clock::SystemClock;
use agentos_engine::library::{Library as _, LibraryError, ScriptLibrary, to_be_kept};
use agentos_script::definition::Definition;
use agentos_script::limits::Limits;
use agentos_script::sources::Sources;
use agentos_store::place::Place;
use agentos_store::records::{Project, Records};
use agentos_store::sqlite::{Options, SqliteStore};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::kills::KilledAt;
use crate::part;
use crate::support::{House, Life};

const MAIN: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "main", input: { type: "object", required: ["n"] } }, async (ctx) => {
  const sh = (name: string) => ({ name });
  let seen = 0;
  await ctx.run("plan", async () => { seen += Number(await ctx.shell("a", sh("a"))); ctx.set("k", 3); });
  await Promise.all([
    ctx.run("left", async () => { await ctx.run("inner", async () => ctx.shell("b", sh("b")), { retry: false }); }),
    ctx.phase("right", async () => { await ctx.sleep(2); await ctx.shell("c", sh("c")); }),
  ]);
  try {
    await ctx.run("flaky", async () => { seen += Number(await ctx.shell("d", sh("d"))); throw new Error("no"); },
      { retry: { maxAttempts: 2, delay: 1, jitter: false } });
  } catch (error: any) { ctx.comment(error.message); } finally { await ctx.shell("e", sh("e")); }
  await Promise.race([ctx.sleep(1), ctx.shell("slow", sh("slow"))]);
  try { await ctx.waitFor("nothing", { timeout: 3 }); } catch { seen += 100; }
  const child = await ctx.invoke("child", { n: ctx.input.n });
  await ctx.shell("end", sh("end"));
  return { seen, child, k: ctx.get("k"), drawn: Math.random() >= 0 };
});
"#;

const CHILD: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "child" }, async (ctx) => {
  await ctx.run("work", async () => { await ctx.shell("x", { name: "x" }); });
  await ctx.sleep(2);
  return ctx.input.n + 1;
});
"#;

fn expected() -> Value {
    json!({ "seen": 121, "child": 42, "k": 3, "drawn": true })
}

fn definition(name: &str, text: &str) -> Definition {
    let sources = Sources::single(format!("templates/{name}.ts"), text);
    Definition::compile(&sources).unwrap_or_else(|error| panic!("{error}"))
}

fn run() -> RunId {
    RunId(Uuid::from_u128(1))
}

/// Where both workflows are kept, from the start.
async fn kept(folder: &Path) -> SqliteStore {
    let path = folder.join("runs.db");
    let store =
        SqliteStore::open(&path, Options::quiet(Uuid::from_u128(1))).expect("the store opens");
    let (id, at) = (Uuid::from_u128(5), Timestamp(0));
    let path = "/project".to_owned();
    let project = Project { id, name: "project".to_owned(), path, created_at: at, updated_at: at };
    store.put_project(project).await.expect("a project");
    for (number, name, text) in [(6, "main", MAIN), (7, "child", CHILD)] {
        let new = to_be_kept(&definition(name, text), id, Uuid::from_u128(number), at);
        store.put_definition(new).await.expect("a definition");
    }
    store
}

/// A library that finds only the child in the project: the main template is gone.
fn library(store: &SqliteStore) -> ScriptLibrary {
    let library = ScriptLibrary::new(Arc::new(store.clone()), SystemClock, Limits::default());
    let child = Arc::new(definition("child", CHILD));
    library.offer(BTreeMap::from([("child".to_owned(), child)]));
    library
}

async fn start(life: &Life) {
    let main = definition("main", MAIN);
    let seed = agentos_core::id::Seed(5);
    let start = main.run_started(run(), json!({ "n": 41 }), seed, Timestamp(0));
    let start = start.expect("a name");
    life.engine.create(start, Place::default()).await.expect("the run is created");
}

/// A process that takes the run up, and may kill itself at one point.
pub(crate) async fn play(folder: &Path, number: u64) {
    let house = House::at(folder, library(&kept(folder).await));
    let points = KilledAt { passed: AtomicU64::new(0), at: number };
    let life = house.live(|builder| builder.points(points));
    start(&life).await;
    life.ends(run()).await;
    life.engine.leave().await;
}

#[tokio::test]
async fn wherever_a_process_is_killed_a_typescript_run_comes_to_the_same_end() {
    for deaths in [
        vec![],
        vec![3],
        vec![11],
        vec![19],
        vec![27, 6],
        vec![35],
        vec![43],
        vec![51, 2],
        vec![60],
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        for death in deaths.iter().copied().chain([u64::MAX]) {
            let status =
                part::start(&[], "typescript", folder.path(), death).wait().expect("it ends");
            let killed = status.code().is_none();
            assert!(status.success() || (killed && death != u64::MAX), "{status} at {death}");
        }
        let house = House::at(folder.path(), library(&kept(folder.path()).await));
        match house.outcome(run()).await {
            RunOutcome::Completed { output } => assert_eq!(output, expected(), "after {deaths:?}"),
            other => panic!("after {deaths:?}: {other:?}"),
        }
        for (operation, count) in house.ledger().counts() {
            assert!(count as usize <= 1 + deaths.len(), "{operation}: {count} after {deaths:?}");
        }
    }
}

#[tokio::test]
async fn a_run_whose_source_nobody_kept_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = kept(folder.path()).await;
    let library = library(&store);
    let stranger = definition("other", &MAIN.replace("\"main\"", "\"other\""));
    let seed = agentos_core::id::Seed(5);
    let start = stranger.run_started(run(), Value::Null, seed, Timestamp(0)).expect("a name");
    let refused = library.prepare(&start).await;
    assert!(matches!(refused, Err(LibraryError::Unknown { .. })), "{refused:?}");
    assert!(matches!(library.open(&start), Err(LibraryError::Unknown { .. })));
}

#[tokio::test]
async fn only_what_is_in_the_project_can_be_started_and_only_with_what_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(&kept(folder.path()).await);
    let gone = library.start(run(), "main", json!({ "n": 1 })).unwrap_err();
    assert_eq!(gone.message, "there is no workflow `main`");
    let main = Arc::new(definition("main", MAIN));
    library.offer(BTreeMap::from([("main".to_owned(), main)]));
    let wrong = library.start(run(), "main", json!({})).unwrap_err();
    assert!(wrong.message.contains("`input.n` is missing"), "{wrong:?}");
    let start = library.start(run(), "main", json!({ "n": 1 })).expect("a start");
    library.prepare(&start).await.expect("it is there");
    assert!(library.open(&start).is_ok());
}
