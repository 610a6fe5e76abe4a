//! What a scope leaves behind, and what it may still do while it closes.

use agentos_core::effect::Effect;
use agentos_core::entry::{CloseCause, Entry, RunOutcome, ScopeClosing, StepOutcome};
use agentos_core::execution::Options;
use agentos_core::failure::Failure;
use agentos_core::id::Try;
use agentos_core::time::Timestamp;
use serde_json::json;

use crate::support::bench::{
    Bench, cancel, ended, grace_timer, interrupted, signal, stopped, timer,
};
use crate::support::fact::{error, op, run_started_with_grace, scope, step, step_ended, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, shell, sleep, wait, wait_for};

fn closings(bench: &Bench) -> Vec<&ScopeClosing> {
    let entries = bench.turn.chunk.entries.iter();
    entries
        .filter_map(|entry| match entry {
            Entry::ScopeClosing(closing) => Some(closing),
            _ => None,
        })
        .collect()
}

fn cancelled(failure: Option<Failure>) -> RunOutcome {
    RunOutcome::Cancelled { failure }
}

#[test]
fn what_a_run_leaves_open_is_cancelled_before_it_ends() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), sleep("x", 50));
        s.ask(s.run(), wait("go"));
        s.step(s.run(), "a", thrice());
        s.returns(s.run());
    });
    let mut bench = Bench::start(play);
    let expected = ScopeClosing {
        scope: scope(""),
        cause: CloseCause::Finished,
        operations: vec![op("/shell:x#1"), op("/sleep:x#1"), op("/wait:go#1")],
        steps: vec![step("/a#1")],
        grace_until: Some(Timestamp(1_000)),
    };
    assert_eq!(closings(&bench), [&expected]);
    // An effect that was ordered and taken back within one turn never happens.
    let stop = Effect::Stop { operation: op("/shell:x#1"), r#try: Try(1), child: None };
    assert_eq!(bench.turn.effects, [stop]);
    assert_eq!(bench.outcome(), None);
    bench.go(1, vec![stopped("/shell:x#1", 1)]);
    assert_eq!(bench.outcome(), Some(&RunOutcome::Completed { output: json!(null) }));
}

#[test]
fn what_was_to_be_stopped_and_is_interrupted_is_dead() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.returns(s.run());
    });
    let mut bench = Bench::start(play);
    bench.go(1, vec![interrupted("/shell:x#1", 1)]);
    assert_eq!(bench.kinds(), ["operation.interrupted", "operation.ended", "run.ended"]);
}

#[test]
fn what_was_to_be_stopped_may_still_have_worked() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.returns(s.run());
    })
    .then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    bench.go(1, vec![ended("/shell:x#1", 1, json!("done"))]);
    assert_eq!(bench.notes(), [r#"/shell:x#1 = "done""#]);
}

#[test]
fn cleanup_may_ask_for_more_until_its_grace_is_over() {
    let play = Play::new(|s| s.ask(s.run(), wait("go")))
        .then(|s| s.ask(s.run(), shell("clean")))
        .then(|s| s.ask(s.run(), shell("more")));
    let mut bench = Bench::start(play);
    bench.go(10, vec![cancel("k")]);
    assert_eq!(closings(&bench)[0].grace_until, Some(Timestamp(1_010)));
    assert_eq!(bench.execution.performing().count(), 1);
    assert!(bench.go(1_009, vec![grace_timer("")]).is_empty());
    bench.go(1_010, vec![grace_timer("")]);
    assert_eq!(bench.kinds(), ["scope.grace_expired", "scope.closing", "operation.cancel_ordered"]);
    bench.go(1_020, vec![stopped("/shell:clean#1", 1)]);
    assert_eq!(bench.notes(), ["refused Cancelled: cancelled"]);
    assert_eq!(bench.outcome(), Some(&cancelled(None)));
}

#[test]
fn cleanup_that_ends_in_time_needs_no_grace_timer() {
    let play = Play::new(|s| s.ask(s.run(), wait("go")))
        .then(|s| s.ask(s.run(), shell("clean")))
        .then(|s| s.throws(s.run(), Failure::cancelled()));
    let mut bench = Bench::start(play);
    bench.go(10, vec![cancel("k")]);
    bench.go(20, vec![ended("/shell:clean#1", 1, json!(1))]);
    assert_eq!(bench.outcome(), Some(&cancelled(None)));
    assert_eq!(bench.execution.timers().count(), 0);
    assert!(bench.go(2_000, vec![grace_timer("")]).is_empty());
}

#[test]
fn without_grace_cleanup_is_refused_at_once() {
    let play = Play::new(|s| {
        s.step(s.run(), "a", thrice());
        s.ask(s.run(), wait("go"));
    })
    .then(|s| s.ask(s.body(), wait("go")))
    .then(|s| {
        s.ask(s.run(), shell("clean"));
        s.step(s.run(), "b", thrice());
    })
    .then(|s| {
        s.ask(s.body(), shell("clean"));
        s.throws(s.body(), Failure::cancelled());
    })
    .then(|s| s.throws(s.run(), Failure::cancelled()));
    let mut bench = Bench::resume(Log::empty().with(run_started_with_grace(0)), play);
    bench.go(10, vec![cancel("k")]);
    let refused = "refused Cancelled: cancelled";
    assert_eq!(bench.notes(), [refused, refused, refused]);
    assert_eq!(closings(&bench)[0].grace_until, None);
    assert_eq!(bench.outcome(), Some(&cancelled(None)));
}

#[test]
fn a_kept_signal_is_not_offered_to_a_wait_in_a_closing_scope() {
    let play = Play::new(|s| s.ask(s.run(), shell("x")))
        .then(|s| s.ask(s.run(), wait_for("go", 100)))
        .then(|s| {
            s.note_delivery();
            s.returns(s.run());
        });
    let mut bench = Bench::start(play);
    bench.go(1, vec![signal("k", "go", json!("kept"))]);
    bench.go(2, vec![cancel("c")]);
    bench.go(3, vec![stopped("/shell:x#1", 1)]);
    assert_eq!(bench.kinds(), ["operation.ended", "operation.ordered"], "nothing is offered");
    bench.go(103, vec![timer("/wait:go#1")]);
    let timeout = "/wait:go#1 ! Timeout: no signal came in time for `/wait:go#1`";
    assert_eq!(bench.notes(), [timeout]);
    assert_eq!(bench.outcome(), Some(&cancelled(None)));
}

#[test]
fn a_signal_passes_by_a_wait_in_a_closing_scope() {
    let play = Play::new(|s| s.ask(s.run(), wait("go")))
        .then(|s| s.ask(s.run(), wait_for("go", 100)))
        .then(|s| {
            s.note_delivery();
            s.returns(s.run());
        });
    let mut bench = Bench::start(play);
    bench.go(10, vec![cancel("k")]);
    bench.go(20, vec![signal("l", "go", json!(1))]);
    assert_eq!(bench.kinds(), ["signal.arrived"]);
    bench.go(110, vec![timer("/wait:go#2")]);
    assert_eq!(bench.notes(), ["/wait:go#2 ! Timeout: no signal came in time for `/wait:go#2`"]);
}

#[test]
fn a_wait_that_is_cancelled_while_its_signal_is_being_handed_out_gets_nothing() {
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| {
            s.ask(s.body(), wait("go"));
            s.ask(s.body(), wait("go"));
        })
        .then(|s| {
            s.note_delivery();
            s.returns(s.body());
        })
        .then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    bench.go(1, vec![signal("k", "go", json!(1))]);
    assert_eq!(bench.notes(), ["/a#1@1/wait:go#1 = 1", "/a#1@1/wait:go#2 ! Cancelled: cancelled"]);
    assert_eq!(bench.kinds().iter().filter(|kind| **kind == "signal.consumed").count(), 1);
}

#[test]
fn a_signal_that_a_closing_scope_was_offered_is_kept_for_the_next_wait() {
    let play = Play::new(|s| s.ask(s.run(), shell("x")))
        .then(|s| s.step(s.run(), "a", thrice()))
        .then(|s| {
            s.ask(s.body(), wait("go"));
            s.returns(s.body());
        })
        .then(|s| s.note_delivery())
        .then(|s| s.ask(s.run(), wait("go")))
        .then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    bench.go(1, vec![signal("k", "go", json!(1))]);
    bench.go(2, vec![ended("/shell:x#1", 1, json!(1))]);
    assert_eq!(bench.notes(), ["/a#1@1/wait:go#1 ! Cancelled: cancelled", "/wait:go#1 = 1"]);
    assert_eq!(bench.kinds().iter().filter(|kind| **kind == "signal.offered").count(), 2);
}

#[test]
fn a_grace_that_is_over_when_its_scope_is_changes_nothing() {
    let play = Play::new(|s| s.phase(s.run(), "p"))
        .then(|s| {
            s.ask(s.body(), shell("x"));
            s.returns(s.body());
        })
        .then(|_| {})
        .then(|s| s.ask(s.run(), shell("y")));
    let mut bench = Bench::start(play);
    bench.go(1_000, vec![stopped("/~p#1@1/shell:x#1", 1), grace_timer("/~p#1@1")]);
    assert_eq!(
        bench.kinds(),
        ["operation.ended", "scope.grace_expired", "step.ended", "operation.ordered"]
    );
}

#[test]
fn a_step_whose_grace_is_over_ends_as_cancelled_whatever_its_body_does() {
    // The body returns and leaves a step open, whose own cleanup goes on for ever.
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.ask(s.body(), shell("clean")))
        .then(|s| s.ask(s.body(), shell("more")))
        .then(|s| {
            s.note_delivery();
            s.returns(s.run());
        });
    let mut bench = Bench::start(play);
    bench.go(10, vec![cancel("k")]);
    bench.go(20, vec![stopped("/a#1@1/shell:x#1", 1)]);
    bench.go(1_010, vec![grace_timer("")]);
    let closing = closings(&bench)[0];
    assert_eq!((closing.cause, &closing.steps[..]), (CloseCause::Expired, &[step("/a#1")][..]));
    bench.go(1_020, vec![stopped("/a#1@1/shell:clean#1", 1)]);
    assert_eq!(bench.notes(), ["refused Cancelled: cancelled", "/a#1 ! Cancelled: cancelled"]);
    assert!(bench.log.entries().contains(&&step_ended("/a#1", StepOutcome::Cancelled {})));
}

#[test]
fn a_closing_step_has_a_grace_of_its_own() {
    // The body is over; what it left open cleans up in a scope that is closing.
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| {
            s.ask(s.body(), shell("x"));
            s.throws(s.body(), error("no luck"));
        })
        .then(|s| s.ask(s.body(), shell("clean")))
        .then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    assert_eq!(closings(&bench)[0].scope, scope("/a#1@1"));
    bench.go(10, vec![stopped("/a#1@1/shell:x#1", 1)]);
    assert_eq!(bench.execution.performing().count(), 1);
    bench.go(1_000, vec![grace_timer("/a#1@1")]);
    bench.go(1_010, vec![stopped("/a#1@1/shell:clean#1", 1)]);
    assert_eq!(bench.kinds(), ["operation.ended", "attempt.failed"]);
    assert_eq!(bench.notes(), ["/a#1@1/shell:clean#1 ! Cancelled: cancelled"]);
}

#[test]
fn a_closing_is_executed_again_from_its_list() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), sleep("x", 50));
            s.step(s.run(), "a", thrice());
            s.returns(s.run());
        })
    };
    // Committed in as many pieces as can be.
    let options = Options { turn_entries: 1, ..Options::default() };
    let mut bench = Bench::try_resume(Log::started(), play(), options).unwrap();
    let mut commits = vec![bench.log.records().len()];
    while bench.turn.more {
        bench.go(0, Vec::new());
        commits.push(bench.log.records().len());
    }
    bench.go(1, vec![stopped("/shell:x#1", 1)]);
    bench.finish_turn();
    assert!(commits.len() > 1 && bench.outcome().is_some());
    // Whichever was the last before a crash, the run goes on to the same end.
    for commit in commits {
        let mut again = Bench::resume(bench.log.clone().cut(commit), play());
        again.go(1, vec![stopped("/shell:x#1", 1)]);
        assert_eq!(again.log.entries(), bench.log.entries(), "from {commit}");
    }
}
