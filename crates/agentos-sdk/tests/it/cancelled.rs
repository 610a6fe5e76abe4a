//! A cancelled run: pending calls fail, `?` hands that on, and cleanup is done.

use std::time::Duration;

use agentos_core::entry::RunOutcome;
use agentos_sdk::{Ctx, Result, Workflow};

use crate::support::Bench;

async fn work(ctx: &Ctx) -> Result<()> {
    ctx.run("work", |ctx| async move { Ok(ctx.shell("hang").await?.stdout) }).await?;
    ctx.shell("never").name("never").await?;
    Ok(())
}

#[test]
fn cleanup_runs_and_the_cancellation_is_handed_on() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let worked = work(&ctx).await;
        ctx.shell("clean").name("clean").await?;
        ctx.set("cancelled", worked.as_ref().is_err_and(agentos_sdk::Error::is_cancelled))?;
        worked
    });
    let driven = Bench::new(workflow).cancel(20).run();
    assert_eq!(driven.outcome, Some(RunOutcome::Cancelled { failure: None }));
    assert!(driven.performed.contains(&"/shell:clean#1".to_owned()), "{:?}", driven.performed);
    assert!(!driven.performed.contains(&"/shell:never#1".to_owned()), "{:?}", driven.performed);
    assert_eq!(driven.count("state.written"), 1);
}

#[test]
fn a_loop_that_ignores_the_cancellation_is_ended_after_the_grace() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        loop {
            let _ = ctx.sleep(Duration::from_secs(10)).await;
            if ctx.now()?.0 < 0 {
                return Ok(());
            }
        }
    });
    let driven = Bench::new(workflow).cancel(20).run();
    assert_eq!(driven.outcome, Some(RunOutcome::Cancelled { failure: None }));
}
