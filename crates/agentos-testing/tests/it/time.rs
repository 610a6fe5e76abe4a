//! Timeouts, deadlines and decisions: all of them are deliveries.

use agentos_core::entry::{Entry, RunOutcome};
use agentos_core::failure::FailureKind;
use agentos_testing::script::build::{
    all, approve, pure, seq, set, shell, sleep, step, throw, try_catch, try_finally, within,
};
use agentos_testing::simulation::{Driver, Fault, Plan, Scenario};

use crate::support::{completes, entries, kinds, outcome, position, saw, survives, worlds};

/// A night, in milliseconds.
const NIGHT: i64 = 12 * 60 * 60 * 1_000;

#[test]
fn an_attempt_that_takes_too_long_is_ended_and_tried_again() {
    let program = try_catch(within(5, "a", 2, sleep("long", 50)), set("late", 1), pure("p"));
    let report = survives(&Scenario::new(program));
    completes(&report);
    assert!(saw(&report, "body /a#1@2"));
    assert!(
        position(&report, "answer /a#1@1/sleep:long#1 ! cancelled")
            < position(&report, "body /a#1@2")
    );
    assert!(saw(&report, "answer /a#1 ! the attempt took too long"));
    assert_eq!(report.finished_at, 5 + 1 + 5);
}

#[test]
fn a_timeout_against_a_result_in_one_batch_is_taken_in_its_order() {
    let mut orders = [0, 0];
    for scenario in worlds(&Scenario::new(try_finally(within(3, "a", 1, sleep("s", 3)), pure("p"))))
    {
        let report = survives(&scenario);
        completes(&report);
        let timed_out = saw(&report, "answer /a#1 ! the attempt took too long");
        assert_eq!(saw(&report, "answer /a#1 null"), !timed_out);
        orders[usize::from(timed_out)] += 1;
    }
    assert!(orders[0] > 0 && orders[1] > 0, "only one order was tried: {orders:?}");
}

#[test]
fn a_body_that_ends_in_time_has_no_timeout_any_more() {
    let report = survives(&Scenario::new(seq([within(5, "a", 1, sleep("s", 2)), sleep("t", 20)])));
    completes(&report);
    assert!(!kinds(&report).contains(&"attempt.timed_out"));
}

#[test]
fn a_run_that_is_active_for_too_long_is_timed_out_and_cleans_up() {
    let program = try_catch(step("a", seq((0..30).map(|_| shell("x")))), throw(), sleep("tidy", 2));
    let mut timed_out = 0;
    for scenario in worlds(&Scenario { timeout: 3, ..Scenario::new(program) }) {
        let report = survives(&scenario);
        if let RunOutcome::TimedOut { failure } = outcome(&report) {
            assert_eq!(failure.kind, FailureKind::Timeout);
            assert!(saw(&report, "ask /sleep:tidy#1"), "{:#?}", report.trace);
            timed_out += 1;
        }
    }
    assert!(timed_out > 3, "only {timed_out} of 12 runs timed out");
}

#[test]
fn waiting_does_not_count_for_the_runs_timeout() {
    let program = seq([
        try_finally(shell("x"), pure("p")),
        sleep("s", 500),
        try_finally(shell("y"), pure("q")),
    ]);
    completes(&survives(&Scenario { timeout: 20, ..Scenario::new(program) }));
}

#[test]
fn an_approval_over_night_does_not_time_the_run_out() {
    let program = seq([
        try_finally(shell("x"), pure("p")),
        approve("ship", 0),
        try_finally(shell("y"), pure("q")),
    ]);
    let scenario = Scenario { timeout: 20, parks: true, ..Scenario::new(program) };
    let report = survives(&scenario.with_mail(NIGHT, "/approve:ship#1"));
    completes(&report);
    assert!(report.finished_at > NIGHT);
}

#[test]
fn a_deadline_counts_the_clock_whatever_the_run_does() {
    let report = survives(&Scenario { deadline: 7, ..Scenario::new(sleep("s", 50)) });
    assert!(matches!(outcome(&report), RunOutcome::TimedOut { .. }), "{:?}", report.ending);
    assert_eq!(report.finished_at, 7);
}

#[test]
fn a_run_resumed_after_a_day_has_not_been_active_for_that_day() {
    let tried = |name| try_finally(shell(name), pure("p"));
    let at_once = all([tried("u"), seq([pure("q"), pure("r"), pure("s")])]);
    let program = within(60_000, "a", 1, seq([tried("x"), at_once, tried("y")]));
    for turn_entries in [1, 3, 1_000] {
        let scenario =
            Scenario { timeout: 120_000, turn_entries, ..Scenario::new(program.clone()) };
        let points = Driver::new(&scenario, &Plan::quiet()).run().points;
        let mut away = 0;
        for point in 0..points {
            for fault in [Fault::CrashFor(2 * NIGHT), Fault::PowerCut(2 * NIGHT)] {
                let report = Driver::new(&scenario, &Plan::one(point, fault)).run();
                assert_eq!(report.violations, Vec::<String>::new());
                completes(&report);
                away += usize::from(kinds(&report).contains(&"run.resumed"));
            }
        }
        assert!(away > 5, "the day was noticed only {away} times");
    }
}

#[test]
fn a_decision_answers_its_question_and_no_other() {
    let program =
        seq([approve("a", 0), try_catch(approve("a", 5), set("unanswered", 1), pure("p"))]);
    let report =
        survives(&Scenario::new(program).with_mail(3, "/approve:a#1").with_mail(4, "/approve:a#1"));
    completes(&report);
    let consumed = entries(&report, |entry| match entry {
        Entry::SignalConsumed { operation, .. } => Some(operation.to_string()),
        _ => None,
    });
    assert_eq!(consumed, ["/approve:a#1"]);
    assert!(saw(&report, "set unanswered"));
}

#[test]
fn a_decision_that_comes_before_its_question_is_not_kept() {
    let program = seq([sleep("s", 5), try_catch(approve("a", 4), set("unanswered", 1), pure("p"))]);
    let report = survives(&Scenario::new(program).with_mail(2, "/approve:a#1"));
    assert!(saw(&report, "set unanswered"));
    assert_eq!(report.finished_at, 9);
}

#[test]
fn what_is_thrown_while_a_run_times_out_does_not_hide_the_timeout() {
    let program = try_catch(sleep("s", 50), throw(), pure("p"));
    let report = survives(&Scenario { deadline: 7, ..Scenario::new(program) });
    assert!(matches!(outcome(&report), RunOutcome::TimedOut { .. }), "{:?}", report.ending);
}

#[test]
fn being_parked_is_not_being_away() {
    let program = try_catch(within(100_000, "a", 1, approve("x", 0)), set("late", 1), pure("p"));
    let report = survives(&Scenario { parks: true, ..Scenario::new(program) });
    completes(&report);
    assert!(saw(&report, "answer /a#1 ! the attempt took too long"));
    assert_eq!(report.finished_at, 100_000);
    assert!(!kinds(&report).contains(&"run.resumed"));
}
