//! Steps: in sequence, at once, nested, retried, timed, skipped.

use std::time::Duration;

use agentos_core::entry::{Entry, StepOutcome};
use agentos_sdk::{
    Backoff, Ctx, Error, FailureKind, Millis, Result, RetryPolicy, Workflow, try_join,
};
use serde_json::json;

use crate::support::Bench;

fn thrice() -> RetryPolicy {
    RetryPolicy {
        max_attempts: 3,
        backoff: Backoff::Fixed,
        delay_ms: Millis::new(100),
        max_delay_ms: Millis::new(100),
        jitter: false,
    }
}

async fn echo(ctx: Ctx, text: &str) -> Result<String> {
    Ok(ctx.shell(text).await?.stdout)
}

#[test]
fn steps_run_one_after_the_other() {
    let workflow = Workflow::new("build", |ctx: Ctx, issue: u32| async move {
        let plan =
            ctx.run("plan", move |ctx| async move { echo(ctx, &format!("plan {issue}")).await });
        let plan = plan.await?;
        let review = ctx.run("review", move |ctx| {
            let plan = plan.clone();
            async move { echo(ctx, &format!("review of {plan}")).await }
        });
        Ok(review.await?)
    });
    let driven = Bench::new(workflow).input(json!(7)).run();
    assert_eq!(*driven.output(), json!("review of plan 7"));
    assert_eq!(
        driven.kinds(),
        [
            "run.started",
            "step.requested",
            "attempt.started",
            "operation.ordered",
            "operation.ended",
            "step.ended",
            "step.requested",
            "attempt.started",
            "operation.ordered",
            "operation.ended",
            "step.ended",
            "run.ended",
        ]
    );
}

#[test]
fn steps_that_are_asked_for_before_the_first_is_awaited_run_at_once() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let first = ctx.run("first", |ctx| echo(ctx, "1"));
        let second = ctx.run("second", |ctx| echo(ctx, "2"));
        Ok((second.await?, first.await?))
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!(["2", "1"]));
    assert_eq!(
        driven.kinds()[..5],
        ["run.started", "step.requested", "attempt.started", "step.requested", "attempt.started"]
    );
}

#[test]
fn steps_nest_and_may_have_one_name() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let mut all = Vec::new();
        for number in 0..3 {
            let round = ctx.phase("round", move |ctx| async move {
                let outer = ctx.run("outer", move |ctx| async move {
                    let inner = ctx.run("inner", move |_| async move { Ok(number * 10) });
                    Ok(inner.await? + 1)
                });
                Ok(outer.await?)
            });
            all.push(round.await?);
        }
        Ok(all)
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!([1, 11, 21]));
    let mut steps = driven.log.iter().filter_map(|record| match &record.entry {
        Entry::StepRequested { step, .. } => Some(step.to_string()),
        _ => None,
    });
    assert_eq!(steps.next_back().as_deref(), Some("/~round#3@1/outer#1@1/inner#1"));
}

#[test]
fn a_step_that_fails_is_retried_by_its_policy() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let step = ctx.step("flaky").retry(thrice()).run(|ctx| async move {
            ctx.shell("x").await?;
            if ctx.attempt() < 3 {
                return Err(Error::new(format!("attempt {}", ctx.attempt())));
            }
            Ok(ctx.now()?.0)
        });
        Ok(step.await?)
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!(203));
    assert_eq!(driven.count("attempt.failed"), 2);
    assert_eq!(
        driven.performed,
        [
            "/flaky#1@1/shell:60e593e15a57e705#1",
            "/flaky#1@2/shell:60e593e15a57e705#1",
            "/flaky#1@3/shell:60e593e15a57e705#1"
        ]
    );
}

#[test]
fn the_workflows_config_says_how_its_steps_are_retried() {
    let once = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        Ok(ctx.run("a", |_| async { Err::<(), _>(Error::new("no luck")) }).await?)
    });
    let driven = Bench::new(once.retry(RetryPolicy::once())).run();
    assert_eq!(driven.failure().message, "no luck");
    assert_eq!(driven.count("attempt.failed"), 0);
}

#[test]
fn a_failure_that_says_so_is_not_retried() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let step = ctx.step("a").retry(thrice());
        Ok(step.run(|_| async { Err::<(), _>(Error::non_retryable("never")) }).await?)
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(
        (driven.failure().kind, driven.count("attempt.failed")),
        (FailureKind::NonRetryable, 0)
    );
}

#[test]
fn an_attempt_that_takes_too_long_fails() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let step = ctx.step("slow").retry(RetryPolicy::once()).timeout(Duration::from_millis(50));
        let answer = step.run(|ctx| async move { Ok(ctx.shell("hang").await?.stdout) }).await;
        Ok(answer.unwrap_err().kind == FailureKind::Timeout)
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(true));
}

#[test]
fn a_skipped_step_gives_nothing() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let skipped = ctx.run("maybe", |ctx| async move {
            if ctx.attempt() == 1 {
                return Err(ctx.skip("nothing to do"));
            }
            Ok(Some(1))
        });
        Ok(skipped.await?.is_none())
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!(true));
    let skipped = StepOutcome::Skipped { reason: "nothing to do".to_owned() };
    assert!(driven.log.iter().any(
        |record| matches!(&record.entry, Entry::StepEnded { outcome, .. } if *outcome == skipped)
    ));
}

#[test]
fn a_skipped_step_whose_result_is_no_option_is_explained() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let skipped = ctx.run("maybe", |ctx| async move {
            if ctx.attempt() == 1 {
                return Err(ctx.skip("nothing to do"));
            }
            Ok(1)
        });
        Ok(skipped.await?)
    });
    let message = &Bench::new(workflow).run().failure().message.clone();
    assert!(
        message.contains("the answer of `/maybe#1`") && message.contains("Option"),
        "{message}"
    );
}

#[test]
fn the_log_knows_the_line_that_asked() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        ctx.run("a", |ctx| async move {
            let (_, _) = try_join((ctx.shell("x"), ctx.sleep(Duration::ZERO))).await?;
            Ok(())
        })
        .await?;
        Ok(())
    });
    let driven = Bench::new(workflow).run();
    let sites = driven.log.iter().filter_map(|record| match &record.entry {
        Entry::StepRequested { site, .. } | Entry::OperationOrdered { site, .. } => site.clone(),
        _ => None,
    });
    let sites: Vec<_> = sites.map(|site| site.to_string()).collect();
    assert_eq!(sites.len(), 3);
    assert!(sites.iter().all(|site| site.contains("tests/it/steps.rs:")), "{sites:?}");
}

#[test]
fn before_another_attempt_the_step_hears_how_the_last_one_failed() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let outer = ctx.clone();
        let step = ctx.step("flaky").retry(thrice()).on_retry(move |failure, attempt| {
            let said = failure.map_or("nothing", |failure| failure.message.as_str());
            outer.log().warn(format!("attempt {attempt} after: {said}"));
        });
        let step = step.run(|ctx| async move {
            match ctx.attempt() {
                3 => Ok(3),
                attempt => Err(Error::new(format!("broken {attempt}"))),
            }
        });
        Ok(step.await?)
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!(3));
    assert_eq!(driven.lines, ["Warn attempt 2 after: broken 1", "Warn attempt 3 after: broken 2"]);
}
