//! Waiting for several things: in order, and with losers that end with their scope.

use std::time::Duration;

use agentos_core::entry::Entry;
use agentos_sdk::{
    Ctx, Either, Result, Workflow, either, join, join_all, race, race_all, try_join, try_join_all,
};
use serde_json::json;

use crate::support::Bench;

const fn ms(length: u64) -> Duration {
    Duration::from_millis(length)
}

async fn after(ctx: Ctx, length: u64, name: &str) -> Result<String> {
    ctx.sleep(ms(length)).await?;
    Ok(name.to_owned())
}

#[test]
fn a_join_waits_for_all_and_keeps_their_order() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let broken = ctx.shell("break");
        let (a, b, c) =
            join((after(ctx.clone(), 30, "a"), after(ctx.clone(), 10, "b"), broken)).await;
        let all = join_all([3, 1, 2].map(|nth| after(ctx.clone(), nth, "x"))).await;
        Ok((a?, b?, c.unwrap_err().message, all.len(), ctx.now()?.0))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(["a", "b", "broken", 3, 33]));
}

#[test]
fn a_failure_ends_a_try_join_at_once() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let failed = try_join((ctx.sleep(ms(1_000)), ctx.shell("break"))).await.unwrap_err();
        let both = try_join((ctx.shell("x"), ctx.shell("y"))).await?;
        let list = ctx.all([ctx.shell("1").start(), ctx.shell("2").start()]).await?;
        let none = try_join_all([ctx.shell("1"), ctx.shell("break")]).await.is_err();
        Ok((failed.message, both.1.stdout, list.len(), none, ctx.now()?.0 < 1_000))
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!(["broken", "y", 2, true, true]));
}

#[test]
fn a_race_is_won_by_the_first_answer() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let first = race((after(ctx.clone(), 30, "slow"), after(ctx.clone(), 10, "fast"))).await?;
        let all = race_all([5, 4, 6].map(|nth| after(ctx.clone(), nth, "x"))).await?;
        Ok((first, all, ctx.now()?.0))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(["fast", "x", 14]));
}

#[test]
fn if_two_are_ready_the_first_argument_wins() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let (a, b) = (ctx.shell("a").start(), ctx.shell("b").start());
        ctx.sleep(ms(50)).await?;
        Ok(race((b, a)).await?.stdout)
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!("b"));
}

#[test]
fn work_can_be_raced_against_a_timer() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let slow = match either(ctx.shell("hang"), ctx.sleep(ms(20))).await {
            Either::Left(output) => output?.stdout,
            Either::Right(slept) => slept.map(|()| "too slow".to_owned())?,
        };
        let quick = matches!(either(ctx.shell("x"), ctx.sleep(ms(20))).await, Either::Left(Ok(_)));
        Ok((slow, quick))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(["too slow", true]));
}

#[test]
fn what_lost_a_race_ends_with_its_scope() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let race = ctx.run("race", |ctx| async move {
            let lost = ctx.run("lost", |ctx| async move { Ok(ctx.shell("hang").await?.stdout) });
            let won = ctx.run("won", |ctx| async move { Ok(ctx.shell("won").await?.stdout) });
            Ok(race((lost, won)).await?)
        });
        let won = race.await?;
        ctx.sleep(ms(10)).await?;
        Ok(won)
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!("won"));
    let closed = driven.log.iter().position(|record| record.entry.kind() == "scope.closing");
    let slept = driven.log.iter().position(|record| {
        matches!(&record.entry, Entry::OperationOrdered { operation, .. } if operation.as_str() == "/sleep:sleep#1")
    });
    assert!(closed.unwrap() < slept.unwrap());
}

#[test]
fn a_step_that_lost_a_race_goes_on_until_its_scope_closes() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let slow = ctx.run("slow", |ctx| async move {
            ctx.sleep(ms(10)).await?;
            ctx.set("slow", true)?;
            ctx.sleep(ms(1_000)).await?;
            ctx.set("never", true)?;
            Ok(())
        });
        race((slow, ctx.sleep(ms(5)))).await?;
        ctx.sleep(ms(10)).await?;
        Ok((ctx.has("slow")?, ctx.has("never")?))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!([true, false]));
}

#[test]
fn combinators_that_keep_no_waker_work_too() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let (a, b) = futures_util::join!(after(ctx.clone(), 2, "a"), after(ctx.clone(), 1, "b"));
        let mut sleep = ctx.sleep(ms(7));
        let seen = futures_util::FutureExt::now_or_never(&mut sleep).is_none();
        sleep.await?;
        Ok((a?, b?, seen))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(["a", "b", true]));
}

#[test]
fn ten_thousand_branches_are_joined() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let slept = join_all((0..10_000).map(|nth| ctx.sleep(ms(nth % 50)))).await;
        let nested = (0..100).map(|nth| {
            let ctx = ctx.clone();
            async move { join_all((0..10).map(|inner| after(ctx.clone(), nth + inner, "x"))).await }
        });
        let nested = join_all(nested).await.into_iter().flatten();
        Ok((slept.into_iter().filter(Result::is_ok).count(), nested.filter(Result::is_ok).count()))
    });
    let bench = Bench::new(workflow);
    let driven = bench.drive(bench.run_start());
    assert_eq!(*driven.output(), json!([10_000, 1_000]));
}

#[test]
fn a_join_that_was_not_looked_at_when_its_answer_came_finds_it_later() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let mut joined = Box::pin(join_all([5, 20].map(|length| ctx.sleep(ms(length)))));
        let open = futures_util::FutureExt::now_or_never(&mut joined).is_none();
        // Both of its answers come while the body waits for something else.
        ctx.sleep(ms(50)).await?;
        let slept = joined.await;
        Ok((open, slept.len(), ctx.now()?.0))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!([true, 2, 50]));
}
