//! What may follow on what, for every state and every entry: the transition function as a picture.

use std::fmt::Write as _;

use agentos_core::entry::{Entry, StepOutcome};
use agentos_core::journal::Illegal;

use crate::support::fact::*;
use crate::support::log::Log;

/// One row a state, one column an entry.
fn picture(states: Vec<(&str, Log)>, entries: &[(&str, Entry)]) -> String {
    let mut picture = format!("{:<26}", "");
    for (column, _) in entries {
        let _ = write!(picture, " {column:<11}");
    }
    for (row, log) in states {
        let _ = write!(picture, "\n{row:<26}");
        for (_, entry) in entries {
            let outcome = match log.journal().apply(log.next(entry.clone())) {
                Ok(()) => "yes",
                Err(error) => match error.reason {
                    Illegal::OutOfOrder { .. } => "-",
                    Illegal::WrongTry { .. } => "other try",
                    Illegal::TooEarly => "too early",
                    Illegal::WrongKind { .. } => "other kind",
                    Illegal::DeadScope { .. } => "dead scope",
                    reason => panic!("{row}: {reason}"),
                },
            };
            let _ = write!(picture, " {outcome:<11}");
        }
    }
    picture.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Everything that can be said of an ordered operation, about its first two tries.
fn progress(id: &str) -> Vec<(&'static str, Entry)> {
    vec![
        ("started 1", started(id, 1)),
        ("started 2", started(id, 2)),
        ("interr. 1", interrupted(id, 1)),
        ("interr. 2", interrupted(id, 2)),
        ("retried 2", retried(id, 2)),
        ("cancel", cancel_ordered(id)),
        ("ended", ended(id)),
        ("cancelled", ended_cancelled(id)),
        ("fired", fired(id)),
        ("consumed", consumed("k", id)),
    ]
}

#[test]
fn what_is_performed_has_tries_and_can_be_stopped() {
    let id = "/a#1@1/shell:go#1";
    let begin = Log::in_step().with(arrived("k", "go"));
    let ordered = begin.with(ordered(id));
    let started_log = ordered.clone().with(started(id, 1));
    let interrupted_log = ordered.clone().with(interrupted(id, 1));
    let retried_log = interrupted_log.clone().with(retried(id, 2));
    let states = vec![
        ("ordered", ordered.clone()),
        ("started", started_log.clone()),
        ("interrupted", interrupted_log.clone()),
        ("retried", retried_log.clone()),
        ("retried, started", retried_log.clone().with(started(id, 2))),
        ("ordered, cancelled", ordered.clone().with(cancel_ordered(id))),
        ("started, cancelled", started_log.with(cancel_ordered(id))),
        ("interrupted, cancelled", interrupted_log.with(cancel_ordered(id))),
        ("retried, cancelled", retried_log.with(cancel_ordered(id))),
        ("ended", ordered.clone().with(ended(id))),
        ("cancelled and ended", ordered.with(cancel_ordered(id)).with(ended_cancelled(id))),
    ];
    insta::assert_snapshot!(picture(states, &progress(id)), @"
                               started 1   started 2   interr. 1   interr. 2   retried 2   cancel      ended       cancelled   fired       consumed
    ordered                    yes         other try   yes         other try   -           yes         yes         yes         -           other kind
    started                    -           -           yes         other try   -           yes         yes         yes         -           other kind
    interrupted                -           -           -           -           yes         yes         yes         yes         -           other kind
    retried                    other try   yes         other try   yes         -           yes         yes         yes         -           other kind
    retried, started           -           -           other try   yes         -           yes         yes         yes         -           other kind
    ordered, cancelled         yes         other try   yes         other try   -           -           yes         yes         -           other kind
    started, cancelled         -           -           yes         other try   -           -           yes         yes         -           other kind
    interrupted, cancelled     -           -           -           -           -           -           yes         yes         -           other kind
    retried, cancelled         other try   yes         other try   yes         -           -           yes         yes         -           other kind
    ended                      -           -           -           -           -           -           -           -           -           other kind
    cancelled and ended        -           -           -           -           -           -           -           -           -           other kind
    ");
}

#[test]
fn what_is_performed_may_be_held_before_it_begins() {
    let id = "/a#1@1/shell:go#1";
    let ordered = Log::in_step().with(ordered(id));
    let held_log = ordered.clone().with(held(id, 1));
    let states = vec![
        ("ordered", ordered.clone()),
        ("started", ordered.clone().with(started(id, 1))),
        ("interrupted", ordered.clone().with(interrupted(id, 1))),
        ("held", held_log.clone()),
        ("released", held_log.clone().with(released(id))),
        ("held, cancelled", held_log.with(cancel_ordered(id))),
        ("ended", ordered.with(ended(id))),
    ];
    let entries = [
        ("held 1", held(id, 1)),
        ("held 2", held(id, 2)),
        ("released", released(id)),
        ("started 1", started(id, 1)),
        ("interr. 1", interrupted(id, 1)),
        ("retried 2", retried(id, 2)),
        ("cancel", cancel_ordered(id)),
        ("ended", ended(id)),
    ];
    insta::assert_snapshot!(picture(states, &entries), @"
                               held 1      held 2      released    started 1   interr. 1   retried 2   cancel      ended
    ordered                    yes         other try   -           yes         yes         -           yes         yes
    started                    yes         other try   -           -           yes         -           yes         yes
    interrupted                -           -           -           -           -           yes         yes         yes
    held                       -           -           yes         -           -           -           yes         yes
    released                   yes         other try   -           yes         yes         -           yes         yes
    held, cancelled            -           -           -           -           -           -           -           yes
    ended                      -           -           -           -           -           -           -           -
    ");
}

#[test]
fn a_sleep_is_answered_by_its_timer_or_cancelled() {
    let id = "/a#1@1/sleep:go#1";
    let ordered = Log::in_step().with(arrived("k", "go")).with(ordered_due(id, 100));
    let states = vec![
        ("ordered, before its time", ordered.clone().at(99)),
        ("ordered, at its time", ordered.clone().at(100)),
        ("fired", ordered.clone().at(100).with(fired(id))),
        ("cancelled", ordered.at(100).with(ended_cancelled(id))),
    ];
    insta::assert_snapshot!(picture(states, &progress(id)), @"
                               started 1   started 2   interr. 1   interr. 2   retried 2   cancel      ended       cancelled   fired       consumed
    ordered, before its time   -           -           -           -           -           -           -           yes         too early   other kind
    ordered, at its time       -           -           -           -           -           -           -           yes         yes         other kind
    fired                      -           -           -           -           -           -           -           -           -           other kind
    cancelled                  -           -           -           -           -           -           -           -           -           other kind
    ");
}

#[test]
fn a_wait_is_answered_by_a_signal_or_by_its_timeout_or_cancelled() {
    let id = "/a#1@1/wait:go#1";
    let begin = Log::in_step().with(arrived("k", "go"));
    let timed = begin.clone().with(ordered_due(id, 100)).at(100);
    let states = vec![
        ("without a timeout", begin.with(ordered(id)).at(100)),
        ("at its time", timed.clone()),
        ("fired", timed.clone().with(fired(id))),
        ("consumed", timed.clone().with(consumed("k", id))),
        ("fired, consumed", timed.clone().with(fired(id)).with(consumed("k", id))),
        ("cancelled", timed.with(ended_cancelled(id))),
    ];
    insta::assert_snapshot!(picture(states, &progress(id)), @"
                               started 1   started 2   interr. 1   interr. 2   retried 2   cancel      ended       cancelled   fired       consumed
    without a timeout          -           -           -           -           -           -           -           yes         too early   yes
    at its time                -           -           -           -           -           -           -           yes         yes         yes
    fired                      -           -           -           -           -           -           -           -           -           yes
    consumed                   -           -           -           -           -           -           -           -           -           -
    fired, consumed            -           -           -           -           -           -           -           -           -           -
    cancelled                  -           -           -           -           -           -           -           -           -           -
    ");
}

#[test]
fn a_step_is_attempted_as_often_as_its_policy_says() {
    let asked = Log::started().with(requested("/a#1", 1));
    let running = Log::in_step();
    let retrying = running.clone().with(attempt_failed("/a#1@1", 100));
    let again = retrying.clone().at(100).with(attempt("/a#1@2"));
    let last = again.clone().with(attempt_failed("/a#1@2", 200)).at(200).with(attempt("/a#1@3"));
    let states = vec![
        ("asked for", asked.clone()),
        ("running", running.clone()),
        ("retrying, before its time", retrying.clone().at(99)),
        ("retrying, at its time", retrying.at(100)),
        ("running again", again),
        ("running for the last time", last),
        ("ended", running.with(step_ended("/a#1", completed()))),
        ("cancelled", asked.with(step_ended("/a#1", StepOutcome::Cancelled {}))),
    ];
    let entries = [
        ("start 1", attempt("/a#1@1")),
        ("start 2", attempt("/a#1@2")),
        ("start 3", attempt("/a#1@3")),
        ("fail 1", attempt_failed("/a#1@1", 900)),
        ("fail 2", attempt_failed("/a#1@2", 900)),
        ("fail 3", attempt_failed("/a#1@3", 900)),
        ("complete", step_ended("/a#1", completed())),
        ("cancel", step_ended("/a#1", StepOutcome::Cancelled {})),
    ];
    insta::assert_snapshot!(picture(states, &entries), @"
                               start 1     start 2     start 3     fail 1      fail 2      fail 3      complete    cancel
    asked for                  yes         -           -           dead scope  dead scope  dead scope  -           yes
    running                    -           -           -           yes         dead scope  dead scope  yes         yes
    retrying, before its time  -           too early   -           dead scope  dead scope  dead scope  -           yes
    retrying, at its time      -           yes         -           dead scope  dead scope  dead scope  -           yes
    running again              -           -           -           dead scope  yes         dead scope  yes         yes
    running for the last time  -           -           -           dead scope  dead scope  -           yes         yes
    ended                      -           -           -           dead scope  dead scope  dead scope  -           -
    cancelled                  -           -           -           dead scope  dead scope  dead scope  -           -
    ");
}
