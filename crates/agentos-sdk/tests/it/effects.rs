//! Effects: I/O of the workflow's own, begun after the commit and never again once it has its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentos_core::entry::Entry;
use agentos_sdk::{Ctx, Error, FailureKind, RetryPolicy, Workflow};
use serde_json::json;

use crate::support::Bench;

/// Counts how often its effects are really done.
fn counting(done: &Arc<AtomicUsize>) -> Workflow {
    let done = Arc::clone(done);
    Workflow::new("build", move |ctx: Ctx, (): ()| {
        let done = Arc::clone(&done);
        async move {
            let mut seen = Vec::new();
            for _ in 0..3 {
                let done = Arc::clone(&done);
                let count =
                    ctx.effect(
                        "count",
                        move || async move { Ok(done.fetch_add(1, Ordering::SeqCst)) },
                    );
                seen.push(count.await?);
            }
            Ok(seen)
        }
    })
}

#[test]
fn an_effect_is_done_once_if_nothing_crashes() {
    let done = Arc::default();
    let bench = Bench::new(counting(&done));
    let log = bench.drive(bench.run_start());
    assert_eq!(*log.output(), json!([0, 1, 2]));
    assert_eq!(log.performed, ["/effect:count#1", "/effect:count#2", "/effect:count#3"]);
}

#[test]
fn a_replay_drops_the_work_of_answered_effects_undone() {
    let done = Arc::default();
    let bench = Bench::new(counting(&done));
    let whole = bench.drive(bench.run_start());
    for cut in &whole.commits {
        let log = &whole.log[..*cut];
        let (execution, _) = bench.replay(log);
        let ordered = log.iter().filter_map(|record| match &record.entry {
            Entry::OperationOrdered { operation, .. } => Some(operation),
            _ => None,
        });
        let answered = |id| {
            log.iter().any(|record| {
                matches!(&record.entry, Entry::OperationEnded { operation, .. } if operation == id)
            })
        };
        for operation in ordered {
            assert_eq!(execution.program().actions().has(operation), !answered(operation));
        }
    }
    assert_eq!(done.load(Ordering::SeqCst), 3);
}

#[test]
fn work_can_be_taken_once() {
    let bench = Bench::new(counting(&Arc::default()));
    let (execution, turn) = bench.replay(&bench.run_start());
    let operation = turn.effects[0].operation();
    let actions = execution.program().actions();
    assert!(actions.take(operation).is_some());
    assert!(actions.take(operation).is_none());
}

#[test]
fn an_effect_that_fails_panics_or_misuses_ctx_fails_its_step() {
    let workflow = Workflow::new("build", |ctx: Ctx, which: String| async move {
        let outer = ctx.clone();
        let step = ctx.step("a").retry(RetryPolicy::once()).run(move |ctx| {
            let (which, outer) = (which.clone(), outer.clone());
            async move {
                let work = ctx.effect("work", move || async move {
                    match which.as_str() {
                        "fail" => Err(std::io::Error::other("no network"))?,
                        "panic" => panic!("oh no"),
                        "skip" => return Err(outer.skip("why not")),
                        _ => outer.set("x", 1)?,
                    }
                    Ok(())
                });
                Ok(work.await?)
            }
        });
        Ok(step.await?)
    });
    for (which, message) in [
        ("fail", "no network"),
        ("panic", "the workflow's code panicked: oh no"),
        ("skip", "an effect can't be skipped"),
        ("ctx", "`ctx` was used outside of the code of its workflow"),
    ] {
        let driven = Bench::new(workflow.clone()).input(json!(which)).run();
        assert!(driven.failure().message.starts_with(message), "{:?}", driven.failure());
    }
}

#[test]
fn an_effect_whose_result_is_no_json_fails() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let work =
            ctx.effect("work", || async { Ok(std::collections::BTreeMap::from([((1, 2), 3)])) });
        work.await.map_err(Error::from)?;
        Ok(())
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(driven.failure().kind, FailureKind::NonRetryable);
    assert!(
        driven.failure().message.contains("can't be written as JSON"),
        "{:?}",
        driven.failure()
    );
}
