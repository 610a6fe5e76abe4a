//! State, time, randomness, comments and log lines: read where the code stands.

use std::time::Duration;

use agentos_core::entry::{CommentOn, Entry};
use agentos_sdk::{Ctx, Workflow};
use serde_json::json;

use crate::support::Bench;

#[test]
fn state_is_what_the_code_has_written_so_far() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let before: Option<u32> = ctx.get("count")?;
        ctx.set("count", 1)?;
        ctx.run("a", |ctx| async move {
            let count: u32 = ctx.get("count")?.unwrap_or_default();
            ctx.shell("x").await?;
            Ok(ctx.set("count", count + 1)?)
        })
        .await?;
        let after: Option<u32> = ctx.get("count")?;
        ctx.delete("count")?;
        Ok((before, after, ctx.has("count")?, ctx.get::<String>("count")?))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!([null, 2, false, null]));
}

#[test]
fn state_of_another_type_is_explained() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        ctx.set("count", "many")?;
        Ok(ctx.get::<u32>("count")?)
    });
    let message = Bench::new(workflow).run().failure().message.clone();
    assert!(message.starts_with("the state `count` is not what the workflow expects"), "{message}");
}

#[test]
fn time_and_chance_are_the_same_in_every_execution() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let mut seen = Vec::new();
        for nth in 0..4 {
            ctx.sleep(Duration::from_millis(10)).await?;
            // What is drawn is written down, so that another number would be a divergence.
            ctx.set(format!("drawn {nth}"), (ctx.random()?, ctx.random()?))?;
            seen.push(ctx.now()?.0);
        }
        Ok(seen)
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!([10, 20, 30, 40]));
}

#[test]
fn remarks_and_lines_are_kept_once() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        ctx.log().info("begin");
        ctx.comment("looks good", json!({ "stars": 5 }))?;
        ctx.sleep(Duration::from_millis(10)).await?;
        ctx.comment_execution("all of it", ())?;
        let log = ctx.log();
        log.trace("1");
        log.debug("2");
        log.warn("3");
        log.error("4");
        log.fatal("5");
        Ok(())
    });
    let bench = Bench::new(workflow);
    let driven = bench.run();
    assert_eq!(driven.lines, ["Info begin", "Trace 1", "Debug 2", "Warn 3", "Error 4", "Fatal 5"]);
    let remarks = driven.log.iter().filter_map(|record| match &record.entry {
        Entry::CommentAdded { on, message, .. } => Some((*on, message.as_str())),
        _ => None,
    });
    let remarks: Vec<_> = remarks.collect();
    assert_eq!(remarks, [(CommentOn::Step, "looks good"), (CommentOn::Run, "all of it")]);
}

#[test]
fn a_workflow_knows_its_run() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        Ok((ctx.run_id().to_owned(), ctx.info().workspace_path.clone(), ctx.attempt()))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(["build-abcdef", "/workspace", 1]));
}
