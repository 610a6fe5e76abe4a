//! Where `ctx` works: in the code of its own workflow, while that is polled, and nowhere else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use agentos_core::effect::Happening;
use agentos_core::entry::OperationResult;
use agentos_core::id::Try;
use agentos_core::time::Timestamp;
use agentos_sdk::{Ctx, Failure, Workflow};
use serde_json::json;

use crate::support::Bench;

const OUTSIDE: &str = "`ctx` was used outside of the code of its workflow";

#[test]
fn another_thread_can_do_nothing_with_ctx() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let theirs = ctx.clone();
        let tried = thread::spawn(move || {
            let slept = pollster::block_on(theirs.sleep(Duration::ZERO));
            theirs.log().info("lost");
            let tried: [Result<(), Failure>; 4] = [
                slept,
                theirs.set("x", 1),
                theirs.now().map(drop),
                theirs.get::<u32>("x").map(drop),
            ];
            tried.map(|tried| tried.unwrap_err().message)
        });
        Ok(tried.join().unwrap_or_default())
    });
    let driven = Bench::new(workflow).run();
    for message in driven.output().as_array().unwrap() {
        assert!(message.as_str().unwrap().starts_with(OUTSIDE), "{message}");
    }
    assert!(driven.lines.is_empty());
    assert_eq!(driven.kinds(), ["run.started", "run.ended"]);
}

#[test]
fn a_run_can_do_nothing_with_the_ctx_of_another() {
    let leaked = Arc::new(Mutex::new(None::<Ctx>));
    let keep = Arc::clone(&leaked);
    let leaks = Workflow::new("leaks", move |ctx: Ctx, (): ()| {
        *keep.lock().unwrap() = Some(ctx);
        async { Ok(()) }
    });
    Bench::new(leaks).run();
    let workflow = Workflow::new("build", move |_: Ctx, (): ()| {
        let theirs = leaked.lock().unwrap().clone();
        async move { Ok(theirs.map(|theirs| theirs.set("x", 1).unwrap_err().message)) }
    });
    let driven = Bench::new(workflow).run();
    assert!(driven.output().as_str().unwrap().starts_with(OUTSIDE), "{:?}", driven.output());
}

#[test]
fn a_run_that_is_executed_inside_of_another_has_its_own_stage() {
    let inner = Workflow::new("inner", |ctx: Ctx, (): ()| async move {
        ctx.set("who", "inner")?;
        ctx.shell("x").await?;
        Ok(ctx.get::<String>("who")?)
    });
    let workflow = Workflow::new("outer", move |ctx: Ctx, (): ()| {
        let inner = inner.clone();
        async move {
            ctx.set("who", "outer")?;
            let output = Bench::new(inner).run().output().clone();
            Ok((ctx.get::<String>("who")?, output))
        }
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(["outer", "inner"]));
}

#[test]
fn an_execution_goes_on_in_another_thread() {
    let bench = Bench::new(Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let first = ctx.shell("1").name("1").await?.stdout;
        let second = ctx.shell("2").name("2").await?.stdout;
        Ok((first, second))
    }));
    let (mut execution, _) = bench.replay(&bench.run_start());
    for name in ["1", "2"] {
        let result = OperationResult::Ok { value: json!({ "stdout": name, "exit_code": 0 }) };
        let operation = format!("/shell:{name}#1").parse().unwrap();
        let happening = Happening::Ended { operation, r#try: Try::FIRST, result };
        let moved = thread::spawn(move || {
            execution.advance(vec![happening], Timestamp(1)).unwrap();
            execution
        });
        execution = moved.join().unwrap();
    }
    assert!(execution.standing().is_ended());
}

#[test]
#[should_panic(expected = "the program goes with its log")]
fn a_workflow_that_does_something_else_the_second_time_is_stopped() {
    let calls = AtomicUsize::new(0);
    let workflow = Workflow::new("build", move |ctx: Ctx, (): ()| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move { Ok(ctx.shell(format!("echo {call}")).name("echo").await?.stdout) }
    });
    let bench = Bench::new(workflow);
    let log = bench.drive(bench.run_start()).log;
    bench.replay(&log[..2]);
}

#[test]
fn a_destructor_may_panic_and_finds_no_stage_when_its_run_is_put_away() {
    struct Loud(Ctx, Arc<Mutex<Vec<bool>>>);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0.set("dropped", true).is_ok());
            if !thread::panicking() {
                panic!("loud");
            }
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let saw = Arc::clone(&seen);
    let bench = Bench::new(Workflow::new("build", move |ctx: Ctx, (): ()| {
        let loud = Loud(ctx.clone(), Arc::clone(&saw));
        async move {
            ctx.sleep(Duration::from_secs(1)).await?;
            drop(loud);
            Ok(())
        }
    }));
    drop(bench.replay(&bench.run_start()));
    assert_eq!(*seen.lock().unwrap(), [false]);
    assert_eq!(
        bench.drive(bench.run_start()).failure().message,
        "the workflow's code panicked: loud"
    );
    assert_eq!(*seen.lock().unwrap(), [false, true]);
}
