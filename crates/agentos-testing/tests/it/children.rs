//! Child runs: created once, cancelled with their parent, heard of even when nobody waits in memory.

use agentos_core::entry::{Entry, RunOutcome};
use agentos_testing::script::Node;
use agentos_testing::script::build::{
    all, invoke, pure, race, seq, set, sleep, step, throw, try_catch, try_finally,
};
use agentos_testing::simulation::{Driver, Fault, Plan, Report, Scenario};

use crate::support::{completes, outcome, position, saw, survives};

/// Executes a scenario with a crash at every point; the outcome of all runs must be that of the quiet one.
fn crashed_everywhere(scenario: &Scenario) -> Report {
    let quiet = survives(scenario);
    for point in 0..quiet.points {
        let report = Driver::new(scenario, &Plan::one(point, Fault::Crash)).run();
        assert_eq!(report.ending, quiet.ending, "crash at {point}");
        assert_eq!(report.starts, quiet.starts, "crash at {point}");
        assert_eq!(endings(&report), endings(&quiet), "crash at {point}");
    }
    quiet
}

fn endings(report: &Report) -> Vec<RunOutcome> {
    let ends = report.children.values().filter_map(|(_, log)| {
        match log.last().map(|record| &record.entry) {
            Some(Entry::RunEnded { outcome }) => Some(outcome.clone()),
            _ => None,
        }
    });
    ends.collect()
}

fn three_deep() -> Scenario {
    Scenario::new(seq([sleep("s", 1), step("a", invoke("child")), pure("p")]))
        .with_child("child", seq([sleep("s", 2), invoke("grandchild"), set("x", 1)]))
        .with_child("grandchild", seq([sleep("s", 3), invoke("great-grandchild")]))
        .with_child("great-grandchild", sleep("s", 4))
}

#[test]
fn children_three_deep_are_created_once_whatever_crashes() {
    let report = crashed_everywhere(&three_deep());
    completes(&report);
    assert_eq!(report.children.len(), 3);
    assert_eq!(report.finished_at, 1 + 2 + 3 + 4);
}

#[test]
fn a_child_that_ends_while_its_parent_is_parked_is_heard_of() {
    let report = crashed_everywhere(&Scenario { parks: true, ..three_deep() });
    completes(&report);
    assert_eq!(report.finished_at, 10);
}

#[test]
fn a_cancelled_parent_cancels_its_children_and_waits_for_their_cleanup() {
    let tidy = |then: Node| try_finally(then, sleep("tidy", 2));
    for parks in [false, true] {
        let scenario = Scenario::new(step("a", invoke("child")))
            .with_child("child", tidy(invoke("grandchild")))
            .with_child("grandchild", tidy(sleep("long", 500)))
            .with_mail(6, "cancel");
        let report = crashed_everywhere(&Scenario { parks, ..scenario });
        assert!(matches!(outcome(&report), RunOutcome::Cancelled { .. }), "{:?}", report.ending);
        assert_eq!(endings(&report).len(), 2);
        assert!(endings(&report).iter().all(|end| matches!(end, RunOutcome::Cancelled { .. })));
        assert_eq!(report.finished_at, 6 + 2 + 2, "each one tidies up, the innermost first");
    }
}

#[test]
fn a_child_that_lost_a_race_is_ended_before_its_step() {
    let scenario = Scenario::new(step("a", race([sleep("quick", 3), invoke("child")])));
    let report = crashed_everywhere(&scenario.with_child("child", sleep("long", 500)));
    completes(&report);
    assert!(
        position(&report, "answer /a#1@1/invoke:child#1 ! cancelled")
            < position(&report, "answer /a#1 ")
    );
}

#[test]
fn a_failed_child_fails_its_invocation() {
    let program = try_catch(invoke("child"), set("failed", 1), pure("p"));
    let report =
        crashed_everywhere(&Scenario::new(program).with_child("child", seq([pure("p"), throw()])));
    completes(&report);
    assert!(saw(&report, "answer /invoke:child#1 ! thrown") && saw(&report, "set failed"));
}

#[test]
fn a_child_that_was_never_created_needs_no_cancelling() {
    let scenario = Scenario::new(step("a", race([pure("p"), invoke("child")])));
    let report = crashed_everywhere(&scenario.with_child("child", sleep("long", 500)));
    completes(&report);
    assert!(report.children.is_empty());
}

#[test]
fn two_children_of_one_workflow_are_two_runs() {
    let scenario = Scenario::new(all([invoke("child"), seq([sleep("s", 1), invoke("child")])]));
    let report = crashed_everywhere(&scenario.with_child("child", sleep("s", 5)));
    completes(&report);
    assert_eq!(report.children.len(), 2);
}
