//! What goes wrong in workflow code ends a step or run with a sentence.

use std::collections::BTreeMap;
use std::time::Duration;

use agentos_sdk::{
    Ctx, Either, Error, Failure, FailureKind, Result, RetryPolicy, Workflow, either, race,
    race_all, try_join, try_join_all,
};
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Bench, failure};

#[test]
fn an_input_that_does_not_fit_is_refused() {
    #[derive(Deserialize)]
    struct Input {
        #[expect(dead_code, reason = "only its type matters")]
        issue: u32,
    }
    let workflow = Workflow::new("build", |_: Ctx, _: Input| async { Ok(()) });
    let driven = Bench::new(workflow).input(json!({ "issue": "seven" })).run();
    assert_eq!(driven.failure().kind, FailureKind::NonRetryable);
    let message = &driven.failure().message;
    assert!(message.starts_with("the input is not what the workflow expects"), "{message}");
    assert!(message.contains("\"seven\""), "{message}");
}

#[test]
fn a_result_that_is_no_json_fails_its_step_or_run() {
    let wrong = || BTreeMap::from([((1, 2), 3)]);
    let workflow = Workflow::new("build", move |_: Ctx, (): ()| async move { Ok(wrong()) });
    let message = Bench::new(workflow).run().failure().message.clone();
    assert!(message.starts_with("the result can't be written as JSON"), "{message}");
    let workflow = Workflow::new("build", move |ctx: Ctx, (): ()| async move {
        ctx.run("a", move |_| async move { Ok(wrong()) }).await?;
        Ok(())
    });
    assert_eq!(Bench::new(workflow).run().failure().message, message);
}

#[test]
fn a_panic_is_a_failure() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        ctx.sleep(Duration::ZERO).await?;
        if ctx.attempt() == 1 {
            panic!("index {} is wrong", 7);
        }
        Ok(())
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(driven.failure().message, "the workflow's code panicked: index 7 is wrong");
    let workflow = Workflow::new("build", |_: Ctx, (): ()| -> std::future::Ready<Result<()>> {
        panic!("before the first poll")
    });
    assert!(Bench::new(workflow).run().failure().message.ends_with("before the first poll"));
}

#[test]
fn a_step_that_panics_is_retried_and_others_go_on() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let other = ctx.run("other", |ctx| async move { Ok(ctx.shell("x").await?.stdout) });
        let panics = ctx.run("panics", |ctx| async move {
            assert!(ctx.attempt() > 1, "not yet");
            Ok(ctx.attempt())
        });
        Ok((panics.await?, other.await?))
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!([2, "x"]));
}

#[test]
fn errors_keep_their_kind_and_name_their_causes() {
    #[derive(Debug, thiserror::Error)]
    #[error("the plan is no good")]
    struct Bad(#[source] std::num::ParseIntError);
    let workflow = Workflow::new("build", |_: Ctx, (): ()| async {
        let number: u32 = "x".parse().map_err(Bad)?;
        Ok(number)
    });
    let message = Bench::new(workflow).run().failure().message.clone();
    assert_eq!(message, "the plan is no good: invalid digit found in string");
    let limit = Failure::new(FailureKind::Limit, "full");
    assert_eq!(Error::from(limit.clone()).failure(), Some(&limit));
}

#[test]
fn a_failure_that_nobody_waited_for_fails_the_scope_unless_it_is_ignored() {
    let workflow = Workflow::new("build", |ctx: Ctx, ignored: bool| async move {
        let step = ctx.step("a").retry(RetryPolicy::once()).run(move |ctx| async move {
            let broken = ctx.shell("break").start();
            if ignored {
                broken.ignore();
            } else {
                drop(broken);
            }
            ctx.sleep(Duration::from_millis(10)).await?;
            Ok("done".to_owned())
        });
        Ok(step.await?)
    });
    let driven = Bench::new(workflow.clone()).input(json!(false)).run();
    assert_eq!(driven.failure().message, "broken");
    assert_eq!(*Bench::new(workflow).input(json!(true)).run().output(), json!("done"));
}

#[test]
fn an_answer_of_another_shape_is_explained() {
    #[derive(Serialize, Deserialize)]
    struct Wanted {
        title: String,
    }
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let wanted: Wanted = ctx.wait_for("go").await?;
        Ok(wanted.title)
    });
    let driven = Bench::new(workflow).signal(5, "go", json!({ "name": 1 })).run();
    let message = &driven.failure().message;
    assert!(message.contains("`/wait:go#1`") && message.contains("title"), "{message}");
}

#[test]
fn a_name_that_is_none_is_refused_at_the_call() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let long = "x".repeat(300);
        let refused = [
            ctx.run("", |_| async { Ok(()) }).await.unwrap_err().message,
            ctx.wait_for::<()>(&long).await.unwrap_err().message,
            ctx.set("", 1).unwrap_err().message,
        ];
        Ok(refused)
    });
    let output = Bench::new(workflow).run().output().clone();
    assert_eq!(output[0], json!("`` can't be a name: a name must not be empty"));
    assert!(output[1].as_str().unwrap().ends_with("this one has 300"), "{output}");
}

#[test]
fn what_lost_a_race_or_was_left_by_a_join_may_fail() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let ready = || async { Ok::<_, Failure>(None) };
        let failed = || async { Err(failure("at once")) };
        let broken = || {
            let broken = ctx.shell("break").start();
            async move { Ok(Some(broken.await?)) }
        };
        let mut seen = Vec::new();
        seen.push(race((ready(), broken())).await.is_ok());
        seen.push(race_all([ready().boxed(), broken().boxed()]).await.is_ok());
        seen.push(matches!(either(ready(), broken()).await, Either::Left(Ok(None))));
        seen.push(
            try_join((failed(), broken())).await.is_err_and(|e: Failure| e.message == "at once"),
        );
        seen.push(try_join_all([failed().boxed(), broken().boxed()]).await.is_err());
        ctx.sleep(Duration::from_millis(50)).await?;
        Ok(seen)
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(vec![true; 5]));
}

#[test]
fn an_answer_is_handed_out_once() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let mut answer = ctx.shell("x").start();
        let first = (&mut answer).await?;
        Ok((first.stdout, answer.await.unwrap_err().message))
    });
    let twice = "the same answer was awaited twice";
    assert_eq!(*Bench::new(workflow).run().output(), json!(["x", twice]));
}
