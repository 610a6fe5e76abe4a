//! Whole lives that the fold accepts.

use agentos_core::entry::{
    CloseCause, Entry, OperationResult, RunOutcome, RunStarted, StepOutcome,
};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::journal::Journal;
use agentos_core::time::{Millis, Timestamp};
use serde_json::{Value, json};

use crate::support::fact::*;
use crate::support::log::Log;

/// Folds the log and every beginning of it: a crash can leave any of them behind.
fn fold(log: &Log) -> Journal {
    let mut journal = Journal::default();
    for record in log.records() {
        assert_eq!(journal.apply(record.clone()), Ok(()), "{:?}", record.entry);
        assert_eq!((journal.len(), journal.last_at()), (record.seq.0 + 1, Some(record.at)));
    }
    journal
}

#[test]
fn an_empty_log_is_a_run_that_has_not_started() {
    let journal = Journal::fold([]).unwrap();
    assert!(journal.is_empty());
    assert_eq!((journal.start(), journal.end(), journal.last_at()), (None, None, None));
}

#[test]
fn a_run_starts_and_ends() {
    let journal = fold(&Log::started().at(3).with(run_ended()));
    assert!(!journal.is_empty());
    assert_eq!(journal.start().unwrap().input, json!({ "issue": 7 }));
    assert_eq!(journal.end(), Some(&RunOutcome::Completed { output: Value::Null }));
    assert_eq!(journal.last_at(), Some(Timestamp(3)));
}

#[test]
fn an_operation_is_interrupted_tried_again_and_stopped() {
    let id = "/shell:x#1";
    let log = Log::started().with_all([
        ordered_alone(id, 1),
        started(id, 1),
        interrupted(id, 1),
        retried(id, 2),
        // Whoever was to execute the second try died before it started.
        interrupted(id, 2),
        retried(id, 3),
        started(id, 3),
        cancel_ordered(id),
        ended(id),
        run_ended(),
    ]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn an_operation_that_is_to_be_stopped_ends_after_an_interruption_too() {
    let id = "/agent:x#1";
    let log = Log::started().with_all([
        ordered_alone(id, 1),
        cancel_ordered(id),
        started(id, 1),
        interrupted(id, 1),
        ended_cancelled(id),
        run_ended(),
    ]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn a_step_is_tried_until_it_works_each_time_in_a_scope_of_its_own() {
    let log = Log::in_step()
        .with_all([
            ordered("/a#1@1/shell:x#1"),
            ended("/a#1@1/shell:x#1"),
            attempt_failed("/a#1@1", 100),
        ])
        .at(100)
        .with_all([attempt("/a#1@2"), ordered("/a#1@2/shell:x#1"), ended("/a#1@2/shell:x#1")])
        .with(attempt_failed("/a#1@2", 200))
        .at(250)
        .with_all([attempt("/a#1@3"), step_ended("/a#1", completed()), run_ended()]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn a_step_ends_as_completed_failed_skipped_or_cancelled() {
    let failed = StepOutcome::Failed { failure: error("no luck") };
    let skipped = StepOutcome::Skipped { reason: "nothing to do".into() };
    for outcome in [completed(), failed, skipped, StepOutcome::Cancelled {}] {
        let log = Log::in_step().with(step_ended("/a#1", outcome)).with(run_ended());
        assert!(fold(&log).end().is_some());
    }
}

#[test]
fn a_step_that_does_not_run_can_be_cancelled() {
    let asked = Log::started().with(requested("/a#1", 1));
    let retrying = Log::in_step().with(attempt_failed("/a#1@1", 100));
    for log in [asked, retrying] {
        let log = log.with(step_ended("/a#1", StepOutcome::Cancelled {})).with(run_ended());
        assert!(fold(&log).end().is_some());
    }
}

#[test]
fn steps_and_lone_operations_share_one_row_of_numbers_and_phases_have_none() {
    let log = Log::started().with_all([
        requested("/a#1", 1),
        requested_phase("/~b#1"),
        attempt("/~b#1@1"),
        ordered_alone("/~b#1@1/shell:x#1", 2),
        requested("/~b#1@1/a#1", 3),
        ordered_alone("/shell:x#1", 4),
        requested("/a#2", 5),
    ]);
    assert_eq!(fold(&log).len(), 8);
}

#[test]
fn a_cancelled_run_closes_for_every_cause_and_ends() {
    let (shell, wait) = ("/a#1@1/shell:x#1", "/a#1@1/wait:go#1");
    let log = Log::in_step()
        .with_all([ordered(shell), ordered(wait), cancel("k"), cancel("l")])
        .with_all([
            closing_all("", CloseCause::Cancelled, &[shell, wait], &[]),
            cancel_ordered(shell),
            ended_cancelled(wait),
            closing("/a#1@1", CloseCause::Finished),
        ])
        .at(500)
        .with_all([
            grace_expired(""),
            closing_all("", CloseCause::Expired, &[], &["/a#1"]),
            grace_expired("/a#1@1"),
            closing("/a#1@1", CloseCause::Expired),
        ])
        .with_all([ended_cancelled(shell), step_ended("/a#1", StepOutcome::Cancelled {})])
        .with(run_ended());
    assert!(fold(&log).end().is_some());
}

#[test]
fn one_signal_answers_several_waits_and_a_kept_one_is_offered_to_later_ones() {
    let (first, second, third) = ("/a#1@1/wait:go#1", "/a#1@1/wait:go#2", "/a#1@1/wait:go#3");
    let log = Log::in_step()
        .with_all([ordered(first), ordered_due(second, 50), arrived("k", "go")])
        .with_all([consumed("k", first), consumed("k", second)])
        .with_all([arrived("l", "go"), ordered(third), offered("l", third), consumed("l", third)])
        .with_all([step_ended("/a#1", completed()), run_ended()]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn a_signal_that_came_first_wins_over_a_timeout_that_is_not_delivered_yet() {
    let wait = "/a#1@1/wait:go#1";
    let log = Log::in_step()
        .with(ordered_due(wait, 50))
        .at(50)
        .with_all([fired(wait), arrived("k", "go"), consumed("k", wait)])
        // Answered twice, it was open once: the step has nothing left.
        .with_all([step_ended("/a#1", completed()), run_ended()]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn a_child_run_is_invoked_and_answers_with_its_end() {
    let id = "/a#1@1/invoke:x#1";
    let log = Log::in_step().with_all([
        ordered_child(id),
        started(id, 1),
        cancel_ordered(id),
        child_ended(&run(8).farewell().0, id),
        // Nobody waits for it any more, or ever did: it is recorded all the same.
        child_ended("l", id),
        child_ended("m", "/invoke:unknown#1"),
        step_ended("/a#1", completed()),
        run_ended(),
    ]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn a_decision_answers_its_question() {
    let id = "/a#1@1/approve:x#1";
    let log = Log::in_step().with_all([
        ordered(id),
        approved("k", id),
        consumed("k", id),
        approved("l", id),
        approved("m", "/approve:unknown#1"),
        step_ended("/a#1", completed()),
        run_ended(),
    ]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn an_attempt_that_takes_too_long_fails() {
    let log = Log::started()
        .with_all([requested_within("/a#1", 1), attempt("/a#1@1")])
        .at(50)
        .with_all([timed_out("/a#1@1"), attempt_failed("/a#1@1", 150)]);
    assert_eq!(fold(&log).len(), 5);
}

#[test]
fn a_run_is_active_while_something_is_performed() {
    let shell = |nth: u32| format!("/shell:x#{nth}");
    let start = RunStarted { timeout_ms: Some(Millis::new(100)), ..start() };
    let idle = Log::empty().with(Entry::RunStarted(start)).at(10);
    assert_eq!((fold(&idle).is_active(), fold(&idle).timeout_due()), (false, None));
    let waiting = idle.clone().with(ordered_due("/wait:go#1", 500));
    assert_eq!((fold(&waiting).is_active(), fold(&waiting).timeout_due()), (false, None));
    let active = waiting.with(ordered_alone(&shell(1), 1)).at(30).with(ordered_alone(&shell(2), 2));
    assert_eq!(
        (fold(&active).is_active(), fold(&active).timeout_due()),
        (true, Some(Timestamp(110)))
    );
    let still = active.at(40).with(ended(&shell(1)));
    assert_eq!(fold(&still).timeout_due(), Some(Timestamp(110)));
    let rests = still.at(60).with(ended(&shell(2)));
    assert_eq!((fold(&rests).is_active(), fold(&rests).timeout_due()), (false, None));
    // Of the hundred it has used fifty, from 10 to 60.
    let again = rests.at(1_000).with(ordered_alone(&shell(3), 3));
    assert_eq!(fold(&again).timeout_due(), Some(Timestamp(1_050)));
    // Nobody drove it from 1,000 to 100,000.
    let resumed =
        again.clone().at(100_000).with(Entry::RunResumed { away_ms: Millis::new(99_000) });
    assert_eq!(fold(&resumed).timeout_due(), Some(Timestamp(100_050)));
    // A history that ends counts in the same way, unless nobody was missing.
    let missed = again.clone().at(100_000).with(rebased(99_000));
    assert_eq!(fold(&missed).timeout_due(), Some(Timestamp(100_050)));
    let moved = again.at(1_010).with(rebased(0));
    assert_eq!(fold(&moved).timeout_due(), Some(Timestamp(1_050)));
}

#[test]
fn another_source_begins_the_run_anew() {
    let log = Log::in_step()
        .at(100)
        .with_all([ordered("/a#1@1/shell:x#1"), switched(&["/a#1@1/shell:x#1"])])
        // Its log begins again, and its times with it.
        .at(0)
        .with_all([run_started(), kept("/wait:go#1", OperationResult::Ok { value: json!(1) })])
        .with_all([ordered_alone("/wait:go#1", 1), ended_ok("/wait:go#1", json!(1))])
        .with_all([abandoned_ended("/a#1@1/shell:x#1"), run_ended()]);
    let mut journal = Journal::default();
    for record in log.records() {
        assert_eq!(journal.apply(record.clone()), Ok(()), "{:?}", record.entry);
    }
    assert!(journal.end().is_some());
}

#[test]
fn timers_fire_when_their_time_has_come() {
    let (sleep, wait) = ("/a#1@1/sleep:x#1", "/a#1@1/wait:go#1");
    let log = Log::in_step()
        .with_all([ordered_due(sleep, 50), ordered_due(wait, 60)])
        .at(50)
        .with(fired(sleep))
        .at(70)
        .with_all([fired(wait), step_ended("/a#1", completed()), run_ended()]);
    assert!(fold(&log).end().is_some());
}

#[test]
fn notes_are_taken_from_a_closing_scope_too() {
    let log = Log::in_step().with_all([
        written("/set:x#1", json!(1)),
        closing("/a#1@1", CloseCause::Finished),
        written("/a#1@1/set:x#1", json!(null)),
        commented("/a#1@1/comment:comment#1"),
    ]);
    assert_eq!(fold(&log).len(), 7);
}

#[test]
fn a_run_that_can_not_go_on_says_so_and_ends() {
    let outcome = RunOutcome::Failed { failure: Failure::new(FailureKind::Stalled, "stalled") };
    let ended = Entry::RunEnded { outcome: outcome.clone() };
    assert_eq!(fold(&Log::started().with(failing()).with(ended)).end(), Some(&outcome));
}
