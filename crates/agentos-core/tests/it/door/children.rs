//! Child runs: created once, waited for without anybody, and heard of when they end.

use std::collections::HashSet;

use agentos_core::effect::Effect;
use agentos_core::entry::{Entry, Parent, RunOutcome, RunStarted};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::operation::OperationKind;
use agentos_core::standing::Standing;
use agentos_core::turn::Outgoing;
use serde_json::json;

use crate::support::bench::{Bench, cancel, child_ended, failed, interrupted, started};
use crate::support::fact::{error, key, op, run, start};
use crate::support::log::Log;
use crate::support::play::{Play, invoke, shell};

const BUILD: &str = "/invoke:build#1";

fn invokes() -> Play {
    Play::new(|s| s.ask(s.run(), invoke("build"))).then(|s| {
        s.note_delivery();
        s.returns(s.run());
    })
}

/// The child that the run of these tests creates.
fn child() -> RunId {
    run(7).child(&op(BUILD), Try(1))
}

#[test]
fn an_invocation_names_its_child_before_it_exists() {
    let perform = |started| Effect::Perform {
        operation: op(BUILD),
        kind: OperationKind::Invoke,
        r#try: Try(1),
        args: json!({}),
        child: Some(child()),
        started,
        granted: None,
    };
    let bench = Bench::start(invokes());
    assert_eq!(bench.turn.effects, [perform(None)]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
    // Whoever goes on after a crash creates the same one again, however late.
    let again = Bench::resume(bench.log.at(99_000), invokes());
    assert_eq!(again.turn.effects, [perform(None)]);
}

#[test]
fn children_have_ids_of_their_own() {
    let ids = [
        child(),
        run(7).child(&op("/invoke:build#2"), Try(1)),
        run(8).child(&op(BUILD), Try(1)),
        run(7).child(&op(BUILD), Try(2)),
    ];
    let distinct: HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
    assert_eq!(ids[0].0.get_version_num(), 7);
}

#[test]
fn a_run_that_waits_for_its_child_needs_nobody() {
    let mut bench = Bench::start(invokes());
    bench.go(1, vec![started(BUILD, 1, json!({ "run": "…" }))]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
    assert_eq!(bench.execution.performing().count(), 0);
    let again = Bench::resume(bench.log, invokes());
    assert_eq!(again.turn.standing, Standing::Parked { wake_at: None });
}

#[test]
fn the_end_of_a_child_answers_its_invocation() {
    for (outcome, answer) in [
        (RunOutcome::Completed { output: json!(5) }, " = 5"),
        (RunOutcome::Failed { failure: error("no luck") }, " ! Error: no luck"),
        (
            RunOutcome::TimedOut { failure: Failure::new(FailureKind::Timeout, "too long") },
            " ! Timeout: too long",
        ),
        (RunOutcome::Cancelled { failure: None }, " ! NonRetryable: the child run was cancelled"),
    ] {
        let mut bench = Bench::start(invokes());
        bench.go(1, vec![started(BUILD, 1, json!(1))]);
        bench.go(2, vec![child_ended(&child().farewell().0, BUILD, outcome)]);
        assert_eq!(bench.notes(), [format!("{BUILD}{answer}")]);
        assert_eq!(bench.turn.consumed, [child().farewell()]);
        assert_eq!(bench.kinds(), ["child.ended", "run.ended"]);
    }
}

#[test]
fn a_child_that_can_not_be_created_fails_its_invocation() {
    let mut bench = Bench::start(invokes());
    bench.go(1, vec![failed(BUILD, 1, error("no such workflow"))]);
    assert_eq!(bench.notes(), [format!("{BUILD} ! Error: no such workflow")]);
}

#[test]
fn a_child_is_not_interrupted() {
    let mut bench = Bench::start(invokes());
    assert!(bench.go(1, vec![interrupted(BUILD, 1)]).is_empty());
    assert_eq!(bench.execution.performing().count(), 1);
}

#[test]
fn a_child_of_a_cancelled_run_is_cancelled_and_waited_for() {
    let mut bench = Bench::start(invokes());
    bench.go(1, vec![started(BUILD, 1, json!(1))]);
    bench.go(2, vec![cancel("k")]);
    let stop = Effect::Stop { operation: op(BUILD), r#try: Try(1), child: Some(child()) };
    assert_eq!(bench.turn.effects, [stop]);
    assert!(matches!(bench.turn.standing, Standing::Working { .. }));
    bench.go(
        3,
        vec![child_ended(&child().farewell().0, BUILD, RunOutcome::Cancelled { failure: None })],
    );
    assert_eq!(bench.notes(), [format!("{BUILD} ! Cancelled: cancelled")]);
    assert!(bench.turn.standing.is_ended());
}

#[test]
fn the_end_of_a_child_that_nobody_waits_for_is_recorded_and_no_more() {
    let mut bench = Bench::start(Play::new(|s| s.ask(s.run(), shell("x"))));
    let outcome = RunOutcome::Completed { output: json!(1) };
    let strangers = vec![
        child_ended(&child().farewell().0, BUILD, outcome.clone()),
        child_ended("l", "/shell:x#1", outcome.clone()),
        child_ended(&child().farewell().0, BUILD, outcome),
    ];
    bench.go(1, strangers);
    assert_eq!(bench.kinds(), ["child.ended"; 2]);
    assert_eq!(bench.execution.performing().count(), 1);
}

#[test]
fn a_child_tells_its_parent_with_its_last_commit() {
    let parent = Parent { run: run(1), operation: op("/invoke:me#3") };
    let first = Entry::RunStarted(RunStarted { parent: Some(parent), ..start() });
    let play = Play::new(|s| s.returns(s.run()));
    let mut bench = Bench::resume(Log::empty().with(first), play);
    let body = MessageBody::ChildEnded {
        operation: op("/invoke:me#3"),
        outcome: RunOutcome::Completed { output: json!(null) },
    };
    let message = Message { key: key(&format!("child:{}", run(7))), body };
    assert_eq!(bench.turn.outgoing, [Outgoing { to: run(1), message }]);
    // Once.
    assert!(bench.go(2, vec![cancel("k")]).outgoing.is_empty());
}

#[test]
fn a_child_that_is_to_be_stopped_is_waited_for_even_if_it_has_just_begun() {
    let mut bench = Bench::start(invokes());
    bench.go(1, vec![cancel("k")]);
    bench.go(2, vec![started(BUILD, 1, json!({ "run": "…" }))]);
    assert!(matches!(bench.turn.standing, Standing::Working { .. }), "{:?}", bench.turn.standing);
}

#[test]
fn the_end_of_another_run_answers_no_invocation() {
    let mut bench = Bench::start(invokes());
    let outcome = RunOutcome::Completed { output: json!(1) };
    bench.go(1, vec![child_ended("child:another", BUILD, outcome)]);
    assert_eq!(bench.kinds(), ["child.ended"]);
    assert_eq!(bench.notes(), Vec::<&str>::new());
}
