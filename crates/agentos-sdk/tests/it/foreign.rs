//! Waiting for something that is not in the log: noticed at once, and explained.

use std::future::pending;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use agentos_core::entry::{Entry, StepOutcome};
use agentos_core::time::Timestamp;
use agentos_sdk::{Ctx, Failure, FailureKind, Result, Workflow, either, join, race};
use futures_channel::oneshot;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::json;

use crate::support::Bench;

const HOUR: Duration = Duration::from_secs(3_600);

/// How a workflow of this body fails.
fn explained<Fut>(body: impl Fn(Ctx) -> Fut + Send + Sync + 'static) -> Failure
where
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    let driven = Bench::new(Workflow::new("build", move |ctx: Ctx, (): ()| body(ctx))).run();
    let failure = driven.failure().clone();
    assert_eq!(failure.kind, FailureKind::NonRetryable);
    let detail = failure.detail.as_ref().unwrap_or(&json!({}))["reason"].clone();
    assert_eq!(detail, json!("foreign_await"), "{failure}");
    // At once: not only when what it awaits beside that has come.
    assert_eq!(driven.log.last().map(|last| last.at), Some(Timestamp(0)));
    for remedy in ["ctx.sleep", "ctx.effect", "ctx.wait_for"] {
        assert!(failure.message.contains(remedy), "{failure}");
    }
    failure
}

#[test]
fn waiting_for_nothing_of_ours_is_explained() {
    let failure = explained(|_| pending());
    assert!(failure.message.starts_with("the workflow awaits something"), "{failure}");
}

#[test]
fn the_step_is_named() {
    let failure =
        explained(|ctx| async move { Ok(ctx.run("fetch", |_| pending::<Result<()>>()).await?) });
    assert!(failure.message.starts_with("the step `/fetch#1@1` awaits"), "{failure}");
}

#[test]
fn a_channel_is_explained_although_ctx_is_awaited_beside_it() {
    explained(|ctx| async move {
        let (sender, receiver) = oneshot::channel::<()>();
        let _ = join((receiver, ctx.sleep(HOUR))).await;
        drop(sender);
        Ok(())
    });
    explained(|ctx| async move {
        let (_sender, receiver) = oneshot::channel::<()>();
        let _ =
            race((async { receiver.await.is_ok() }, async { ctx.sleep(HOUR).await.is_ok() })).await;
        Ok(())
    });
    explained(|ctx| async move {
        let (_sender, receiver) = oneshot::channel::<()>();
        let _ = either(ctx.sleep(HOUR), receiver).await;
        Ok(())
    });
}

#[test]
fn a_future_that_wakes_itself_is_explained() {
    explained(|ctx| async move {
        let mut sleep = ctx.sleep(HOUR);
        std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            let _ = Future::poll(pin!(&mut sleep), cx);
            Poll::Pending
        })
        .await
    });
}

#[test]
fn a_thread_is_explained_even_if_it_is_done_before_the_poll_is() {
    explained(|ctx| async move {
        let mut sleep = ctx.sleep(HOUR);
        std::future::poll_fn(|cx| {
            let waker = cx.waker().clone();
            let woken = std::thread::spawn(move || waker.wake()).join();
            let _ = (woken, Future::poll(pin!(&mut sleep), cx));
            Poll::Pending
        })
        .await
    });
}

#[test]
fn a_combinator_with_wakers_of_its_own_is_explained() {
    explained(|ctx| async move {
        let mut sleeps: FuturesUnordered<_> = (1..4).map(|nth| ctx.sleep(HOUR * nth)).collect();
        while sleeps.next().await.is_some() {}
        Ok(())
    });
}

#[test]
fn what_the_step_had_open_is_ended_first() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let step = ctx.run("a", |ctx| async move {
            let hanging = ctx.shell("hang").start();
            pending::<()>().await;
            Ok(hanging.await?.stdout)
        });
        Ok(step.await.is_err())
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!(true));
    assert_eq!(driven.count("scope.closing"), 1);
    assert!(driven.log.iter().any(|record| matches!(
        &record.entry,
        Entry::StepEnded { outcome: StepOutcome::Failed { .. }, .. }
    )));
}
