//! What a fold tells about a run: its questions, what is open or held, whose step something is, whether it is ending.

use agentos_core::entry::{Entry, Hold, HoldKind, RunStarted};
use agentos_core::id::{StepNumber, Try};
use agentos_core::journal::Journal;
use agentos_core::path::OperationId;
use agentos_core::time::{Millis, Timestamp};
use serde_json::{Value, json};

use crate::support::fact::*;
use crate::support::log::Log;

const ASKED: &str = "/approve:asked#1";
const DECIDED: &str = "/approve:decided#1";
const SHELL: &str = "/shell:x#1";

fn held_for(kind: HoldKind, id: &str) -> Entry {
    let hold =
        Hold { kind, message: "not yet".to_owned(), subject: None, until: None, limit: None };
    Entry::OperationHeld { operation: op(id), r#try: Try(1), hold }
}

fn texts<'a>(ids: impl Iterator<Item = &'a OperationId>) -> Vec<&'a str> {
    let mut texts: Vec<&str> = ids.map(OperationId::as_str).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn questions_that_nobody_has_answered_are_open_with_what_they_were_asked_with() {
    let log = Log::started()
        .with(ordered_with(ASKED, 1, json!("ship it?")))
        .with(ordered_alone(DECIDED, 2))
        .with(ordered_alone(SHELL, 3))
        .with_all([approved("k", DECIDED), consumed("k", DECIDED)]);
    let journal = log.journal();
    let open: Vec<_> = journal.open_questions().collect();
    assert_eq!(open, [(&op(ASKED), &json!("ship it?"))]);
}

#[test]
fn what_has_no_answer_is_open_with_its_latest_try() {
    let log = Log::started()
        .with(ordered_with(SHELL, 1, json!({ "run": "make" })))
        .with(ordered_alone("/shell:done#1", 2))
        .with_all([interrupted(SHELL, 1), retried(SHELL, 2), ended("/shell:done#1")]);
    let journal = log.journal();
    let open: Vec<(&OperationId, Try, &Value)> = journal.open_operations().collect();
    assert_eq!(open, [(&op(SHELL), Try(2), &json!({ "run": "make" }))]);
}

#[test]
fn what_is_held_is_told_by_what_it_is_held_for_until_it_is_released_or_to_be_stopped() {
    let (slot, disk, stopped) = ("/shell:slot#1", "/shell:disk#1", "/shell:stopped#1");
    let log = Log::started()
        .with_all([
            ordered_alone(SHELL, 1),
            ordered_alone(slot, 2),
            ordered_alone(disk, 3),
            ordered_alone(stopped, 4),
        ])
        .with_all([held(SHELL, 1), held_for(HoldKind::Slot, slot), held_for(HoldKind::Disk, disk)])
        .with_all([held(stopped, 1), cancel_ordered(stopped)]);
    let kinds = |journal: &Journal| {
        [HoldKind::Approval, HoldKind::Slot, HoldKind::Disk]
            .map(|kind| texts(journal.held_for(kind)).join(" "))
    };
    let journal = log.journal();
    assert_eq!(kinds(&journal), [SHELL, slot, disk]);
    let asks: Vec<_> = journal.held_for_approval().collect();
    assert_eq!(asks.len(), 1);
    assert_eq!(
        (asks[0].0, asks[0].1.0, asks[0].2.message.as_str()),
        (&op(SHELL), 5, "may it begin?")
    );
    assert_eq!(journal.hold_of(&op(disk)).map(|hold| hold.kind), Some(HoldKind::Disk));
    assert_eq!(journal.hold_of(&op("/shell:other#1")), None);
    let journal = log.with_all([released(SHELL), released(disk)]).journal();
    assert_eq!(kinds(&journal), ["", slot, ""]);
    assert_eq!(journal.hold_of(&op(disk)), None);
}

#[test]
fn an_operation_belongs_to_the_innermost_step_around_it_or_forms_one_itself() {
    let log = Log::in_step()
        .with_all([requested_phase("/a#1@1/~p#1"), attempt("/a#1@1/~p#1@1")])
        .with_all([ordered("/a#1@1/~p#1@1/shell:inner#1"), ordered_alone(SHELL, 2)]);
    let journal = log.journal();
    let step_of = |id: &str| journal.step_of(&op(id)).map(|(number, path)| (number.0, path));
    assert_eq!(step_of("/a#1@1/~p#1@1/shell:inner#1"), Some((1, "/a#1".to_owned())));
    assert_eq!(step_of(SHELL), Some((2, SHELL.to_owned())));
    assert_eq!(step_of("/a#1@1/shell:never#1"), None);
}

#[test]
fn a_run_is_ending_once_it_is_cancelled_or_has_failed_as_a_whole() {
    assert!(!Log::in_step().journal().is_ending());
    assert!(Log::in_step().with(cancel("k")).journal().is_ending());
    assert!(Log::in_step().with(failing()).journal().is_ending());
}

#[test]
fn a_run_is_not_active_while_what_it_performs_is_held() {
    let log = timed().with(ordered_alone(SHELL, 1)).at(30).with(held(SHELL, 1));
    let journal = log.journal();
    assert_eq!((journal.is_active(), journal.timeout_due()), (false, None));
    let log = log.at(1_000).with(released(SHELL));
    let journal = log.journal();
    assert_eq!((journal.is_active(), journal.timeout_due()), (true, Some(Timestamp(1_070))));
    // Held once more, and then never performed: its end does not count a second time.
    let other = "/shell:y#1";
    let log = log
        .at(1_010)
        .with_all([ordered_alone(other, 2), held(SHELL, 1)])
        .at(1_020)
        .with(ended(SHELL));
    let journal = log.journal();
    assert_eq!((journal.is_active(), journal.timeout_due()), (true, Some(Timestamp(1_070))));
}

/// A run that may be active for 100.
fn timed() -> Log {
    let start = RunStarted { timeout_ms: Some(Millis::new(100)), ..start() };
    Log::empty().with(Entry::RunStarted(start))
}

fn activity(log: &Log) -> (bool, Option<i64>) {
    let journal = log.journal();
    (journal.is_active(), journal.timeout_due().map(|due| due.0))
}

#[test]
fn time_in_which_nobody_drove_a_run_is_taken_from_its_active_time_and_no_other() {
    let away = Millis::new(960);
    let resumed = || Entry::RunResumed { away_ms: away };
    let busy = timed().with(ordered_alone(SHELL, 1)).at(30).with(arrived("k", "go"));
    assert_eq!(activity(&busy.at(1_000).with(resumed())), (true, Some(1_070)));
    assert_eq!(activity(&timed().at(1_000).with(resumed())), (false, None));
}

#[test]
fn a_run_is_active_as_long_as_one_of_its_operations_is_performed() {
    let (nap, other) = ("/sleep:nap#1", "/shell:y#1");
    let number = |entry: Entry, nth| match entry {
        Entry::OperationOrdered { operation, args, due, child, r#try, site, .. } => {
            let number = Some(StepNumber(nth));
            Entry::OperationOrdered { operation, number, args, due, child, r#try, site }
        }
        entry => entry,
    };
    let log = timed()
        .with(ordered_alone(SHELL, 1))
        .with(number(ordered_due(nap, 10), 2))
        .at(10)
        .with_all([started(SHELL, 1), fired(nap)]);
    assert_eq!(activity(&log), (true, Some(100)));
    let log = log.at(150).with(ended(SHELL));
    assert_eq!(activity(&log), (false, None));
    // It has been active for too long already.
    assert_eq!(activity(&log.at(200).with(ordered_alone(other, 3))), (true, Some(200)));
}
