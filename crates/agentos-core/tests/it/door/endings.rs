//! How bodies end, and what becomes of their scopes, steps and runs.

use agentos_core::bounds::KEPT_SIGNALS;
use agentos_core::entry::{Entry, RunOutcome, RunStarted, StepOutcome};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::program::BodyOutcome;
use agentos_core::retry::{Backoff, RetryPolicy};
use agentos_core::time::{Millis, Timestamp};
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{Bench, cancel, ended, retry_timer, signal, stopped};
use crate::support::fact::{error, start, step_ended, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, shell, sleep, wait};

fn of_kind(kind: FailureKind) -> Failure {
    Failure::new(kind, "no luck")
}

/// A step with three attempts whose first body does this; then the run returns.
fn step_that(body: impl FnOnce(&mut Stage<'_, '_>) + 'static) -> Bench {
    let play = Play::new(|s| s.step(s.run(), "a", thrice())).then(body).then(|s| {
        s.note_delivery();
        s.returns(s.run());
    });
    Bench::start(play)
}

/// How the step of a run ended.
fn step_outcome(bench: &Bench) -> Option<StepOutcome> {
    bench.log.entries().into_iter().find_map(|entry| match entry {
        Entry::StepEnded { outcome, .. } => Some(outcome.clone()),
        _ => None,
    })
}

#[test]
fn a_run_ends_with_what_its_body_returns() {
    let bench =
        Bench::start(Play::new(|s| s.door.finish(s.run(), BodyOutcome::Returned(json!([1])))));
    assert_eq!(bench.outcome(), Some(&RunOutcome::Completed { output: json!([1]) }));
}

#[test]
fn a_run_that_skips_itself_is_completed_without_an_output() {
    let skips = |s: &mut Stage<'_, '_>| {
        s.door.finish(s.run(), BodyOutcome::Skipped("nothing to do".to_owned()));
    };
    let bench = Bench::start(Play::new(skips));
    assert_eq!(bench.outcome(), Some(&RunOutcome::Completed { output: Value::Null }));
}

#[test]
fn a_step_that_skips_itself_is_answered_with_null() {
    let bench = step_that(|s| s.door.finish(s.body(), BodyOutcome::Skipped("nothing".to_owned())));
    assert_eq!(bench.notes(), ["/a#1 = null"]);
    let skipped = StepOutcome::Skipped { reason: "nothing".to_owned() };
    assert_eq!(step_outcome(&bench), Some(skipped));
}

#[test]
fn failures_that_another_attempt_could_not_help_are_not_retried() {
    use FailureKind::*;
    for kind in [NonRetryable, Closed, Limit, Stalled] {
        let bench = step_that(move |s| s.throws(s.body(), of_kind(kind)));
        assert_eq!(bench.notes(), [format!("/a#1 ! {kind:?}: no luck")]);
        assert_eq!(step_outcome(&bench), Some(StepOutcome::Failed { failure: of_kind(kind) }));
    }
    let bench = step_that(|s| s.throws(s.body(), Failure::cancelled()));
    assert_eq!(bench.notes(), ["/a#1 ! Cancelled: cancelled"]);
    assert_eq!(step_outcome(&bench), Some(StepOutcome::Cancelled {}));
}

#[test]
fn failures_that_another_attempt_may_help_are_retried() {
    use FailureKind::*;
    for kind in [Error, Timeout, Interrupted] {
        let bench = step_that(move |s| s.throws(s.body(), of_kind(kind)));
        assert_eq!(
            bench.kinds(),
            ["step.requested", "attempt.started", "attempt.failed"],
            "{kind:?}"
        );
    }
}

#[test]
fn the_last_attempt_fails_the_step() {
    let fails = |s: &mut Stage<'_, '_>| {
        s.note_delivery();
        s.throws(s.body(), error("no luck"));
    };
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(fails)
        .then(fails)
        .then(fails)
        .then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    let timers: Vec<_> = bench.execution.timers().map(|(due, _)| due).collect();
    assert_eq!(timers, [Timestamp(100)]);
    // Too early, then in time, then late.
    assert!(bench.go(99, vec![retry_timer("/a#1@1")]).is_empty());
    bench.go(100, vec![retry_timer("/a#1@1")]);
    assert!(bench.go(150, vec![retry_timer("/a#1@1")]).is_empty());
    bench.go(900, vec![retry_timer("/a#1@2")]);
    assert_eq!(
        bench.notes(),
        ["body /a#1@1", "body /a#1@2", "body /a#1@3", "/a#1 ! Error: no luck"]
    );
}

#[test]
fn the_delay_between_attempts_is_drawn_once_and_recorded() {
    let retry = RetryPolicy {
        max_attempts: 2,
        backoff: Backoff::Exponential,
        delay_ms: Millis::new(1_000),
        max_delay_ms: Millis::new(5_000),
        jitter: true,
    };
    let play = || {
        Play::new(move |s| s.step(s.run(), "a", retry))
            .then(|s| s.throws(s.body(), error("no luck")))
    };
    let bench = Bench::start(play());
    let due: Vec<Timestamp> = bench.execution.timers().map(|(due, _)| due).collect();
    assert!((500..=1_000).contains(&due[0].0), "{due:?}");
    let again = Bench::resume(bench.log, play());
    assert!(again.turn.is_empty());
    assert_eq!(again.execution.timers().map(|(due, _)| due).collect::<Vec<_>>(), due);
}

#[test]
fn a_rejection_that_nobody_handles_fails_its_step() {
    let bench = step_that(|s| {
        s.leave_unhandled(s.body(), of_kind(FailureKind::NonRetryable));
        s.returns(s.body());
    });
    assert_eq!(bench.notes(), ["/a#1 ! NonRetryable: no luck"]);
}

#[test]
fn a_rejection_that_nobody_handles_fails_the_run() {
    let bench = Bench::start(Play::new(|s| {
        s.leave_unhandled(s.run(), error("no luck"));
        s.returns(s.run());
    }));
    assert_eq!(*bench.failure(), error("no luck"));
}

#[test]
fn a_rejection_that_a_cancellation_caused_fails_nothing() {
    let bench = step_that(|s| {
        s.leave_unhandled(s.body(), Failure::cancelled());
        s.returns(s.body());
    });
    assert_eq!(bench.notes(), ["/a#1 = null"]);
}

#[test]
fn what_a_body_throws_counts_more_than_what_nobody_handled() {
    let bench = step_that(|s| {
        s.leave_unhandled(s.body(), of_kind(FailureKind::NonRetryable));
        s.throws(s.body(), of_kind(FailureKind::Limit));
    });
    assert_eq!(bench.notes(), ["/a#1 ! Limit: no luck"]);
}

#[test]
fn a_skipped_step_stays_skipped_whatever_nobody_handled() {
    let bench = step_that(|s| {
        s.leave_unhandled(s.body(), error("no luck"));
        s.door.finish(s.body(), BodyOutcome::Skipped("nothing".to_owned()));
    });
    assert_eq!(bench.notes(), ["/a#1 = null"]);
}

#[test]
fn only_the_first_end_of_a_body_counts() {
    let bench = step_that(|s| {
        s.door.finish(s.body(), BodyOutcome::Returned(json!(1)));
        s.throws(s.body(), error("too late"));
    });
    assert_eq!(bench.notes(), ["/a#1 = 1"]);
    // Later, and when the scope is long over, too.
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.door.finish(s.body(), BodyOutcome::Returned(json!(1))))
        .then(|s| {
            s.throws(s.body(), error("too late"));
            s.returns(s.run());
        });
    let bench = Bench::start(play);
    assert_eq!(bench.outcome(), Some(&RunOutcome::Completed { output: Value::Null }));
}

#[test]
fn a_run_that_waits_for_nothing_fails_and_says_who_waits() {
    let play = Play::new(|s| {
        s.step(s.run(), "a", thrice());
        s.phase(s.run(), "b");
    });
    let bench = Bench::start(play);
    let message = "waits for nothing that could ever happen: the run, /a#1@1, /~b#1@1";
    assert_eq!(*bench.failure(), Failure::new(FailureKind::Stalled, message));
    assert!(bench.kinds().contains(&"run.failing"));
    assert!(bench.log.entries().contains(&&step_ended("/a#1", StepOutcome::Cancelled {})));
}

#[test]
fn a_cancelled_run_ends_as_cancelled_whatever_its_body_returns() {
    for outcome in [
        BodyOutcome::Returned(json!(1)),
        BodyOutcome::Skipped("nothing".to_owned()),
        BodyOutcome::Threw(Failure::cancelled()),
    ] {
        let play = Play::new(|s| s.ask(s.run(), wait("go"))).then(move |s| {
            s.note_delivery();
            s.door.finish(s.run(), outcome);
        });
        let mut bench = Bench::start(play);
        bench.go(1, vec![cancel("k")]);
        assert_eq!(bench.notes(), ["/wait:go#1 ! Cancelled: cancelled"]);
        assert_eq!(bench.outcome(), Some(&RunOutcome::Cancelled { failure: None }));
    }
}

#[test]
fn a_cancelled_run_keeps_what_its_cleanup_threw() {
    let play = Play::new(|s| s.ask(s.run(), wait("go")))
        .then(|s| s.throws(s.run(), error("the cleanup failed")));
    let mut bench = Bench::start(play);
    bench.go(1, vec![cancel("k")]);
    let failure = Some(error("the cleanup failed"));
    assert_eq!(bench.outcome(), Some(&RunOutcome::Cancelled { failure }));
}

#[test]
fn a_run_that_throws_a_cancellation_without_being_cancelled_fails() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.throws(s.run(), Failure::cancelled());
    });
    let mut bench = Bench::start(play);
    // As soon as what it left open is over.
    assert_eq!(bench.execution.failures(), [(None, Failure::cancelled())]);
    bench.go(1, vec![stopped("/shell:x#1", 1)]);
    assert_eq!(bench.failure(), &Failure::cancelled());
}

#[test]
fn a_cancelled_step_is_not_tried_again() {
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.throws(s.body(), error("no luck")))
        .then(|s| {
            s.note_delivery();
            s.returns(s.run());
        });
    let mut bench = Bench::start(play);
    bench.go(1, vec![cancel("k")]);
    bench.go(2, vec![stopped("/a#1@1/shell:x#1", 1)]);
    assert_eq!(bench.notes(), ["/a#1 ! Error: no luck"]);
    assert_eq!(bench.outcome(), Some(&RunOutcome::Cancelled { failure: None }));
}

#[test]
fn a_step_that_waits_for_its_next_attempt_is_cancelled_at_once() {
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.throws(s.body(), error("no luck")))
        .then(|s| {
            s.note_delivery();
            s.returns(s.run());
        });
    let mut bench = Bench::start(play);
    bench.go(1, vec![cancel("k")]);
    assert_eq!(bench.notes(), ["/a#1 ! Cancelled: cancelled"]);
    assert_eq!(bench.outcome(), Some(&RunOutcome::Cancelled { failure: None }));
    assert_eq!(bench.execution.timers().count(), 0);
}

#[test]
fn a_step_that_was_cancelled_before_it_began_does_not_begin() {
    let play = Play::new(|s| {
        s.step(s.run(), "a", thrice());
        s.returns(s.run());
    })
    .then(|s| s.note_delivery());
    let bench = Bench::start(play);
    assert_eq!(bench.notes(), ["/a#1 ! Cancelled: cancelled"]);
    assert!(bench.turn.standing.is_ended());
}

/// Even if the body has returned by then: a run whose log says that it fails does not end as completed.
#[test]
fn a_run_that_is_recorded_as_failing_fails() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.returns(s.run());
    });
    let mut bench = Bench::start(play);
    let signals = (0..=KEPT_SIGNALS).map(|nth| signal(&nth.to_string(), "go", Value::Null));
    bench.go(1, signals.collect());
    bench.finish_turn();
    bench.go(2, vec![ended("/shell:x#1", 1, Value::Null)]);
    let failing = bench.log.entries().iter().any(|entry| entry.kind() == "run.failing");
    let completed = matches!(bench.outcome(), Some(RunOutcome::Completed { .. }));
    assert!(!(failing && completed), "{:?}", bench.outcome());
}

#[test]
fn a_sleep_of_no_length_is_answered_within_the_turn() {
    let play = Play::new(|s| s.ask(s.run(), sleep("x", 0))).then(|s| {
        s.note_delivery();
        s.returns(s.run());
    });
    let bench = Bench::start(play);
    assert_eq!(bench.notes(), ["/sleep:x#1 = null"]);
    assert!(bench.turn.standing.is_ended());
}

#[test]
fn a_run_that_waits_for_nothing_does_not_wait_for_its_deadline() {
    let first = RunStarted { deadline: Some(Timestamp(9_000)), ..start() };
    let play = Play::new(|s| s.step(s.run(), "a", thrice())).then(|s| s.returns(s.body()));
    let bench = Bench::resume(Log::empty().with(Entry::RunStarted(first)), play);
    let message = "waits for nothing that could ever happen: the run";
    assert_eq!(bench.failure(), &Failure::new(FailureKind::Stalled, message));
}
