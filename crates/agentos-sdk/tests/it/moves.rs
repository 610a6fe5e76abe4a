//! Runs of Rust workflows, moved to another version.

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Record};
use agentos_core::rebase::switch;
use agentos_core::time::Timestamp;
use agentos_sdk::{Ctx, RunInfo, Workflow};
use serde_json::json;

use crate::support::Bench;

fn version(extra: bool) -> Workflow {
    Workflow::new("build", move |ctx: Ctx, (): ()| async move {
        let plan = ctx.run("plan", |ctx| async move {
            Ok(ctx.effect("think", || async { Ok("a plan".to_owned()) }).await?)
        });
        let plan = plan.await?;
        let go: bool = ctx.wait_for("go").await?;
        if extra {
            ctx.run("extra", |ctx| async move { Ok(ctx.shell("extra").await?.stdout) }).await?;
        }
        Ok((plan, go))
    })
}

#[test]
fn a_run_is_moved_to_another_version_with_its_finished_work() {
    let waiting = Bench::new(version(false)).run().log;
    let rebased = switch(&waiting, "next".to_owned(), Timestamp(100), || {
        version(true).program(RunInfo::default())
    });
    let chunks = rebased.expect("the run can be moved").chunks;
    let moved: Vec<Record> =
        waiting.into_iter().chain(chunks.into_iter().flat_map(Chunk::into_records)).collect();
    let driven = Bench::new(version(true)).signal(200, "go", json!(true)).drive(moved);
    assert_eq!(*driven.output(), json!(["a plan", true]));
    assert_eq!(driven.performed.len(), 1, "{:?}", driven.performed);
    assert!(driven.performed[0].starts_with("/extra#1@1/"), "{:?}", driven.performed);
}

#[test]
fn the_same_version_changes_nothing() {
    let waiting = Bench::new(version(false)).run().log;
    let rebased = switch(&waiting, "same".to_owned(), Timestamp(100), || {
        version(false).program(RunInfo::default())
    });
    let entries = rebased.expect("the run can be moved").chunks.into_iter();
    let entries: Vec<_> = entries.flat_map(|chunk| chunk.entries).collect();
    let kept =
        |entry: &&Entry| !matches!(entry.kind(), "source.switched" | "run.rebased" | "run.started");
    let (old, new): (Vec<_>, Vec<_>) = (
        waiting.iter().map(|record| &record.entry).filter(kept).collect(),
        entries.iter().filter(kept).collect(),
    );
    assert_eq!(old, new);
}
