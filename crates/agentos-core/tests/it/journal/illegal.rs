//! Every way in which an entry can be illegal.

use std::collections::BTreeSet;

use agentos_core::bounds;
use agentos_core::entry::{CloseCause, Entry, Record, StepOutcome};
use agentos_core::id::{Seq, StepNumber, Try};
use agentos_core::journal::{Illegal, IllegalEntry, Journal};
use agentos_core::retry::RetryPolicy;
use agentos_core::time::Timestamp;
use serde_json::json;

use crate::support::fact::*;
use crate::support::log::Log;
use crate::support::variants;

variants!(
    Illegal: Gap, TimeBackwards, NotStarted, AfterEnd, Repeated, DeadScope, UnknownStep,
    UnknownOperation, UnknownSignal, WrongKind, OutOfOrder, WrongTry, WrongNumber, TooEarly,
    LeftOpen, TooDeep,
);

/// A log, what may not follow on it, and why.
struct Case {
    log: Log,
    refused: Record,
    reason: Illegal,
    /// What may follow, unless the run is over.
    rest: Option<Entry>,
}

impl Case {
    fn new(log: Log, refused: Entry, reason: Illegal) -> Self {
        let refused = log.next(refused);
        Self { log, refused, reason, rest: Some(arrived("the rest", "go")) }
    }

    fn repeated(log: Log, refused: Entry, what: &str) -> Self {
        Self::new(log, refused, Illegal::Repeated { what: what.to_owned() })
    }

    fn dead_scope(log: Log, refused: Entry, path: &str) -> Self {
        Self::new(log, refused, Illegal::DeadScope { scope: scope(path) })
    }

    fn wrong_kind(log: Log, refused: Entry, id: &str) -> Self {
        Self::new(log, refused, Illegal::WrongKind { operation: op(id) })
    }

    fn out_of_order(log: Log, refused: Entry, of: &str, state: &'static str) -> Self {
        Self::new(log, refused, Illegal::OutOfOrder { of: of.to_owned(), state })
    }

    fn wrong_number(log: Log, refused: Entry, expected: u32) -> Self {
        Self::new(log, refused, Illegal::WrongNumber { expected: StepNumber(expected) })
    }

    fn left_open(log: Log, refused: Entry, path: &str, open: u32) -> Self {
        Self::new(log, refused, Illegal::LeftOpen { scope: scope(path), open })
    }
}

fn misplaced() -> Vec<Case> {
    let log = Log::started().at(10).with(arrived("k", "go"));
    let skipped = Record { seq: Seq(3), ..log.next(arrived("l", "go")) };
    let again = Record { seq: Seq(1), ..log.next(arrived("l", "go")) };
    let older = Record { at: Timestamp(9), ..log.next(arrived("l", "go")) };
    let gap = || Case::new(log.clone(), failing(), Illegal::Gap { expected: Seq(2) });
    let backwards = Illegal::TimeBackwards { last: Timestamp(10) };
    let over = || Log::started().with(run_ended());
    vec![
        Case { refused: skipped, ..gap() },
        Case { refused: again, ..gap() },
        Case { refused: older, ..Case::new(log.clone(), failing(), backwards) },
        Case {
            rest: Some(run_started()),
            ..Case::new(Log::empty(), arrived("k", "go"), Illegal::NotStarted)
        },
        Case { rest: None, ..Case::new(over(), arrived("k", "go"), Illegal::AfterEnd) },
        Case { rest: None, ..Case::new(over(), run_started(), Illegal::AfterEnd) },
        Case { rest: None, ..Case::new(over(), run_ended(), Illegal::AfterEnd) },
    ]
}

fn repeated() -> Vec<Case> {
    let started = Log::started;
    let in_step = Log::in_step;
    let noted = |entry: Entry| in_step().with(entry);
    let state = || written("/a#1@1/set:x#1", json!(1));
    let comment = || commented("/a#1@1/comment:comment#1");
    let closed = || closing("/a#1@1", CloseCause::Finished);
    let waiting = in_step().with(ordered_due("/a#1@1/wait:go#1", 900)).with(arrived("k", "go"));
    let offer = || offered("k", "/a#1@1/wait:go#1");
    vec![
        Case::repeated(started(), run_started(), "the run"),
        Case::repeated(started().with(cancel("k")), cancel("k"), "the cancellation"),
        Case::repeated(started().with(failing()), failing(), "the run's own failure"),
        Case::repeated(in_step(), requested("/a#1", 2), "/a#1"),
        Case::repeated(
            in_step().with(ordered("/a#1@1/shell:x#1")),
            ordered("/a#1@1/shell:x#1"),
            "/a#1@1/shell:x#1",
        ),
        Case::repeated(noted(state()), state(), "/a#1@1/set:x#1"),
        Case::repeated(noted(comment()), comment(), "/a#1@1/comment:comment#1"),
        Case::repeated(noted(closed()), closed(), "the closing of `/a#1@1`"),
        Case::repeated(
            in_step().with(closed()).at(500).with(grace_expired("/a#1@1")),
            grace_expired("/a#1@1"),
            "the end of the grace of `/a#1@1`",
        ),
        Case::repeated(started().with(arrived("k", "go")), arrived("k", "other"), "the signal `k`"),
        Case::repeated(waiting.with(offer()), offer(), "the offer to `/a#1@1/wait:go#1`"),
    ]
}

fn repeated_answers() -> Vec<Case> {
    let decided = Log::started().with(approved("k", "/approve:x#1"));
    let child = Log::started().with(child_ended("k", "/invoke:x#1"));
    let timed = Log::started().with(requested_within("/a#1", 1)).with(attempt("/a#1@1"));
    vec![
        Case::repeated(decided, approved("k", "/approve:y#1"), "the decision `k`"),
        Case::repeated(child, child_ended("k", "/invoke:y#1"), "the end of the child `k`"),
        Case::repeated(
            timed.with(timed_out("/a#1@1")),
            timed_out("/a#1@1"),
            "the timeout of `/a#1@1`",
        ),
    ]
}

/// Another source begins anew, but what was left behind stays so until it is dead.
fn after_a_switch() -> Vec<Case> {
    let switched = || Log::in_step().with(switched(&["/a#1@1/shell:x#1"]));
    let again = || switched().with(run_started());
    let left = "left behind and not proven dead";
    let unknown = || Illegal::UnknownOperation { operation: op("/a#1@1/shell:x#1") };
    let dead = again().with(abandoned_ended("/a#1@1/shell:x#1"));
    vec![
        Case {
            rest: Some(run_started()),
            ..Case::new(switched(), attempt("/a#1@2"), Illegal::NotStarted)
        },
        Case::out_of_order(again(), run_ended(), "/a#1@1/shell:x#1", left),
        Case::new(dead, abandoned_ended("/a#1@1/shell:x#1"), unknown()),
        Case::new(Log::in_step(), abandoned_ended("/a#1@1/shell:x#1"), unknown()),
        Case::dead_scope(again(), ordered("/a#1@1/shell:x#1"), "/a#1@1"),
    ]
}

fn of_an_earlier_life() -> Vec<Case> {
    let kept = || body_kept("/a#1", "/a#1@1/set:x#1");
    vec![
        Case::repeated(Log::started().with(rebased(0)), rebased(0), "the end of the history"),
        Case::repeated(Log::started().with(kept()), kept(), "/a#1"),
        Case::repeated(Log::in_step(), kept(), "/a#1"),
        Case::dead_scope(Log::started(), body_kept("/a#1", "/b#1@1/set:x#1"), "/b#1@1"),
        Case::dead_scope(Log::started(), body_kept("/a#1", "/a#11@1/set:x#1"), "/a#11@1"),
        Case::dead_scope(Log::started(), body_kept("/a#1", "/set:x#1"), ""),
    ]
}

fn in_dead_scopes() -> Vec<Case> {
    let never = "/a#1@2";
    let over = || Log::in_step().with(attempt_failed("/a#1@1", 100));
    vec![
        Case::dead_scope(Log::in_step(), ordered("/a#1@2/shell:x#1"), never),
        Case::dead_scope(Log::in_step(), requested("/a#1@2/b#1", 2), never),
        Case::dead_scope(Log::in_step(), written("/a#1@2/set:x#1", json!(1)), never),
        Case::dead_scope(Log::in_step(), closing("/a#1@2", CloseCause::Finished), never),
        Case::dead_scope(Log::in_step(), grace_expired("/a#1@2"), never),
        Case::dead_scope(Log::in_step(), attempt("/a#1@2/b#1@1"), never),
        Case::dead_scope(Log::in_step(), attempt_failed("/a#1@2", 100), never),
        Case::dead_scope(Log::in_step(), timed_out("/a#1@2"), never),
        Case::dead_scope(over(), ordered("/a#1@1/shell:x#1"), "/a#1@1"),
        Case::dead_scope(over(), commented("/a#1@1/comment:comment#1"), "/a#1@1"),
        Case::dead_scope(over(), closing("/a#1@1", CloseCause::Finished), "/a#1@1"),
        Case::dead_scope(over(), attempt_failed("/a#1@1", 100), "/a#1@1"),
        // The run is no step: it has no attempts that begin or fail.
        Case::dead_scope(Log::started(), attempt(""), ""),
        Case::dead_scope(Log::started(), attempt_failed("", 100), ""),
        Case::dead_scope(Log::started(), timed_out(""), ""),
    ]
}

fn of_unknown_things() -> Vec<Case> {
    let unknown_step = || Illegal::UnknownStep { step: step("/b#1") };
    let unknown = |id| Illegal::UnknownOperation { operation: op(id) };
    let unknown_signal = || Illegal::UnknownSignal { key: key("l") };
    let signalled = || Log::started().with(arrived("k", "go"));
    let finished = CloseCause::Finished;
    vec![
        Case::new(Log::in_step(), attempt("/b#1@1"), unknown_step()),
        Case::new(Log::in_step(), step_ended("/b#1", completed()), unknown_step()),
        Case::new(
            Log::in_step(),
            closing_all("", finished, &[], &["/a#1", "/b#1"]),
            unknown_step(),
        ),
        Case::new(Log::in_step(), started("/shell:x#1", 1), unknown("/shell:x#1")),
        Case::new(Log::in_step(), fired("/sleep:x#1"), unknown("/sleep:x#1")),
        Case::new(
            Log::in_step().with(ordered("/a#1@1/shell:x#1")),
            closing_all("", finished, &["/a#1@1/shell:x#1", "/a#1@1/shell:x#2"], &[]),
            unknown("/a#1@1/shell:x#2"),
        ),
        Case::new(signalled(), offered("k", "/wait:go#1"), unknown("/wait:go#1")),
        Case::new(signalled(), consumed("k", "/wait:go#1"), unknown("/wait:go#1")),
        Case::new(signalled(), offered("l", "/wait:go#1"), unknown_signal()),
        Case::new(signalled(), consumed("l", "/wait:go#1"), unknown_signal()),
    ]
}

fn of_the_wrong_kind() -> Vec<Case> {
    let (shell, sleep, wait) = ("/a#1@1/shell:x#1", "/a#1@1/sleep:x#1", "/a#1@1/wait:go#1");
    let (set, comment) = ("/a#1@1/set:x#1", "/a#1@1/comment:comment#1");
    let open = || {
        let performed = Log::in_step().with(ordered(shell)).with(ordered_due(sleep, 100));
        performed.with(ordered(wait)).with(arrived("k", "other"))
    };
    vec![
        Case::wrong_kind(Log::in_step(), ordered_due(shell, 100), shell),
        Case::wrong_kind(Log::in_step(), ordered(sleep), sleep),
        Case::wrong_kind(Log::in_step(), ordered(set), set),
        Case::wrong_kind(Log::in_step(), ordered_due(comment, 100), comment),
        Case::wrong_kind(Log::in_step(), written(comment, json!(1)), comment),
        Case::wrong_kind(Log::in_step(), commented(set), set),
        Case::wrong_kind(open(), offered("k", shell), shell),
        Case::wrong_kind(open(), offered("k", wait), wait),
        Case::wrong_kind(open(), consumed("k", sleep), sleep),
        Case::wrong_kind(open(), consumed("k", wait), wait),
    ]
}

/// A child goes with an invocation, a decision with its question.
fn of_the_wrong_kind_for_an_answer() -> Vec<Case> {
    let (shell, invoke) = ("/a#1@1/shell:x#1", "/a#1@1/invoke:x#1");
    let (asked, other) = ("/a#1@1/approve:x#1", "/a#1@1/approve:y#1");
    let decided = || {
        let asked = Log::in_step().with(ordered(asked)).with(ordered(other));
        asked.with(approved("k", "/a#1@1/approve:x#1"))
    };
    vec![
        Case::wrong_kind(Log::in_step(), ordered_child(shell), shell),
        Case::wrong_kind(Log::in_step(), ordered(invoke), invoke),
        Case::wrong_kind(Log::in_step(), ordered_due(invoke, 100), invoke),
        Case::wrong_kind(decided(), consumed("k", other), other),
        Case::wrong_kind(decided(), offered("k", other), other),
    ]
}

fn operations_out_of_order() -> Vec<Case> {
    let id = "/a#1@1/shell:x#1";
    let ordered = || Log::in_step().with(ordered(id));
    vec![
        Case::out_of_order(ordered(), retried(id, 2), id, "ordered"),
        Case::out_of_order(ordered().with(started(id, 1)), started(id, 1), id, "started"),
        Case::out_of_order(
            ordered().with(interrupted(id, 1)),
            interrupted(id, 1),
            id,
            "interrupted",
        ),
        Case::out_of_order(ordered().with(ended(id)), ended(id), id, "ended"),
    ]
}

fn steps_out_of_order() -> Vec<Case> {
    let asked = || Log::started().with(requested("/a#1", 1));
    let retrying = || Log::in_step().with(attempt_failed("/a#1@1", 100)).at(100);
    let over = || Log::in_step().with(step_ended("/a#1", completed()));
    let skipped = StepOutcome::Skipped { reason: "nothing to do".into() };
    let once = requested_with("/a#1", Some(1), RetryPolicy::once());
    let last = Log::started().with(once).with(attempt("/a#1@1"));
    vec![
        Case::out_of_order(asked(), attempt("/a#1@2"), "/a#1", "asked for"),
        Case::out_of_order(asked(), step_ended("/a#1", completed()), "/a#1", "asked for"),
        Case::out_of_order(Log::in_step(), attempt("/a#1@1"), "/a#1", "running"),
        Case::out_of_order(last, attempt_failed("/a#1@1", 100), "/a#1", "running"),
        Case::out_of_order(retrying(), attempt("/a#1@3"), "/a#1", "about to be tried again"),
        Case::out_of_order(
            retrying(),
            step_ended("/a#1", skipped),
            "/a#1",
            "about to be tried again",
        ),
        Case::out_of_order(over(), attempt("/a#1@2"), "/a#1", "ended"),
        Case::out_of_order(over(), step_ended("/a#1", StepOutcome::Cancelled {}), "/a#1", "ended"),
    ]
}

fn miscounted() -> Vec<Case> {
    let id = "/a#1@1/shell:x#1";
    let ordered = || Log::in_step().with(ordered(id));
    let wrong_try = |expected| Illegal::WrongTry { expected: Try(expected) };
    let unnumbered = requested_with("/b#1", None, RetryPolicy::once());
    vec![
        Case::new(ordered(), started(id, 2), wrong_try(1)),
        Case::new(ordered(), interrupted(id, 0), wrong_try(1)),
        Case::new(ordered().with(interrupted(id, 1)), retried(id, 1), wrong_try(2)),
        Case::new(ordered().with(interrupted(id, 1)), retried(id, 3), wrong_try(2)),
        Case::wrong_number(Log::in_step(), requested("/b#1", 1), 2),
        Case::wrong_number(Log::in_step(), requested("/b#1", 3), 2),
        Case::wrong_number(Log::in_step(), unnumbered, 2),
        Case::wrong_number(Log::in_step(), requested("/~b#1", 2), 2),
        Case::wrong_number(Log::in_step(), ordered_alone("/shell:x#1", 3), 2),
    ]
}

fn too_early() -> Vec<Case> {
    let (sleep, wait) = ("/a#1@1/sleep:x#1", "/a#1@1/wait:go#1");
    let timed = |id, due| Log::in_step().with(ordered_due(id, due)).at(99);
    let endless = Log::in_step().with(ordered(wait)).at(i64::MAX);
    let closed = || Log::in_step().with(closing("/a#1@1", CloseCause::Finished));
    let retrying = || Log::in_step().with(attempt_failed("/a#1@1", 100));
    vec![
        Case::new(timed(sleep, 100), fired(sleep), Illegal::TooEarly),
        Case::new(timed(wait, 100), fired(wait), Illegal::TooEarly),
        Case::new(endless, fired(wait), Illegal::TooEarly),
        Case::new(retrying().at(99), attempt("/a#1@2"), Illegal::TooEarly),
        Case::new(closed().at(499), grace_expired("/a#1@1"), Illegal::TooEarly),
        Case::new(Log::in_step().at(500), grace_expired("/a#1@1"), Illegal::TooEarly),
        // It has no timeout.
        Case::new(Log::in_step().at(500), timed_out("/a#1@1"), Illegal::TooEarly),
    ]
}

fn left_open() -> Vec<Case> {
    let one = || Log::in_step().with(ordered("/a#1@1/shell:x#1"));
    let two = || one().with(requested_phase("/a#1@1/~b#1"));
    vec![
        Case::left_open(one(), step_ended("/a#1", completed()), "/a#1@1", 1),
        Case::left_open(two(), step_ended("/a#1", StepOutcome::Cancelled {}), "/a#1@1", 2),
        Case::left_open(two(), attempt_failed("/a#1@1", 100), "/a#1@1", 2),
        Case::left_open(one(), run_ended(), "", 1),
    ]
}

fn too_deep() -> Vec<Case> {
    let mut log = Log::started();
    let mut path = String::new();
    for _ in 0..bounds::SCOPE_DEPTH {
        path.push_str("/~p#1");
        log = log.with(requested_phase(&path));
        path.push_str("@1");
        log = log.with(attempt(&path));
    }
    vec![Case::new(log, requested_phase(&format!("{path}/~p#1")), Illegal::TooDeep)]
}

fn cases() -> Vec<Case> {
    let groups = [
        misplaced(),
        repeated(),
        repeated_answers(),
        in_dead_scopes(),
        of_unknown_things(),
        of_the_wrong_kind(),
        of_the_wrong_kind_for_an_answer(),
        operations_out_of_order(),
        steps_out_of_order(),
        miscounted(),
        too_early(),
        left_open(),
        too_deep(),
        after_a_switch(),
        of_an_earlier_life(),
    ];
    groups.into_iter().flatten().collect()
}

#[test]
fn an_illegal_entry_is_refused_with_its_place_its_kind_and_the_reason() {
    for Case { log, refused, reason, .. } in cases() {
        let expected = IllegalEntry { seq: refused.seq, kind: refused.entry.kind(), reason };
        let records = log.records().iter().cloned().chain([refused]);
        assert_eq!(Journal::fold(records).unwrap_err(), expected);
    }
}

#[test]
fn an_illegal_entry_changes_nothing() {
    for Case { log, refused, rest, .. } in cases() {
        let mut journal = log.journal();
        let before = format!("{journal:?}");
        let error = journal.apply(refused).unwrap_err();
        assert_eq!(format!("{journal:?}"), before, "{error}");
        if let Some(rest) = rest {
            assert_eq!(journal.apply(log.next(rest)), Ok(()), "{error}");
            assert_eq!(journal.len(), log.records().len() as u64 + 1);
        }
    }
}

#[test]
fn every_reason_has_a_case() {
    let seen: BTreeSet<&str> = cases().iter().map(|case| variant(&case.reason)).collect();
    assert_eq!(seen, VARIANTS.iter().copied().collect());
}

#[test]
fn every_reason_is_said_in_a_sentence() {
    let mut seen = BTreeSet::new();
    let cases = cases().into_iter().filter(|case| seen.insert(variant(&case.reason)));
    let said: Vec<String> = cases
        .map(|Case { refused, reason, .. }| {
            IllegalEntry { seq: refused.seq, kind: refused.entry.kind(), reason }.to_string()
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    log entry 3 (`signal.arrived`) is illegal: position 2 was expected
    log entry 2 (`signal.arrived`) is illegal: it is older than the entry before it, which is of 10 ms
    log entry 0 (`signal.arrived`) is illegal: the run has not started
    log entry 2 (`signal.arrived`) is illegal: the run has ended
    log entry 1 (`run.started`) is illegal: the run is recorded already
    log entry 3 (`operation.ordered`) is illegal: the scope `/a#1@2` is not alive
    log entry 3 (`attempt.started`) is illegal: the step `/b#1` is not known
    log entry 3 (`operation.started`) is illegal: the operation `/shell:x#1` is not known
    log entry 2 (`signal.offered`) is illegal: the signal `l` is not known
    log entry 3 (`operation.ordered`) is illegal: it does not go with an operation such as `/a#1@1/shell:x#1`
    log entry 4 (`operation.retried`) is illegal: it can't follow on `/a#1@1/shell:x#1` being ordered
    log entry 4 (`operation.started`) is illegal: try 1 was expected
    log entry 3 (`step.requested`) is illegal: step number 2 was expected
    log entry 4 (`timer.fired`) is illegal: its time has not come
    log entry 4 (`step.ended`) is illegal: 1 operations or steps of `/a#1@1` are still open
    log entry 65 (`step.requested`) is illegal: steps are nested too deep
    ");
}
