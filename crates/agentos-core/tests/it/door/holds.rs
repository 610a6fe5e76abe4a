//! Operations that can't be begun yet: a wait of the run, answered by a person or by the clock.

use agentos_core::effect::{Effect, Happening, Timer};
use agentos_core::entry::{Hold, HoldKind, RunOutcome};
use agentos_core::id::Try;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use serde_json::{Value, json};

use crate::support::bench::{
    Bench, attempt_timer, cancel, decision, ended, interrupted, retry_timer, stopped, timer,
};
use crate::support::fact::{error, op, scope};
use crate::support::play::{Play, shell, sleep};

const X: &str = "/shell:x#1";

fn play() -> Play {
    Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| {
        s.note_delivery();
        s.returns(s.run());
    })
}

fn held(kind: HoldKind, subject: Option<&str>, until: Option<i64>) -> Happening {
    let hold = Hold {
        kind,
        message: "it is not trusted".to_owned(),
        subject: subject.map(str::to_owned),
        until: until.map(Timestamp),
        limit: None,
    };
    Happening::Held { operation: op(X), r#try: Try(1), hold }
}

fn asks() -> Happening {
    held(HoldKind::Approval, Some("00ff"), None)
}

fn granted(bench: &Bench) -> Vec<Option<String>> {
    let performed = bench.turn.effects.iter().filter_map(|effect| match effect {
        Effect::Perform { granted, .. } => Some(granted.clone()),
        Effect::Stop { .. } => None,
    });
    performed.collect()
}

#[test]
fn a_held_operation_waits_and_is_tried_again_with_what_was_approved() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![asks()]);
    assert_eq!(bench.kinds(), ["operation.held"]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
    let asked: Vec<_> = bench.execution.journal().held_for_approval().collect();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].0, asked[0].2.subject.as_deref()), (&op(X), Some("00ff")));
    // Whoever takes the run up meanwhile performs nothing.
    let mut bench = Bench::resume(bench.log, play());
    assert_eq!(bench.turn.effects, []);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
    bench.go(9, vec![decision("k", X, true)]);
    assert_eq!(bench.kinds(), ["approval.given", "operation.released"]);
    assert_eq!(granted(&bench), [Some("00ff".to_owned())]);
    // It is remembered by whoever comes after a crash.
    let mut again = Bench::resume(bench.log, play());
    assert_eq!(granted(&again), [Some("00ff".to_owned())]);
    again.go(10, vec![ended(X, 1, json!(7))]);
    assert_eq!(again.notes(), ["/shell:x#1 = 7"]);
    assert_eq!(Bench::resume(again.log, play()).notes(), ["/shell:x#1 = 7"]);
}

#[test]
fn a_decision_counts_for_the_question_that_was_seen_and_no_other() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![decision("early", X, true)]);
    bench.go(2, vec![asks()]);
    bench.go(3, vec![decision("k", X, true)]);
    bench.go(4, vec![held(HoldKind::Approval, Some("1111"), None)]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
    let mut again = Bench::resume(bench.log, play());
    assert_eq!(again.turn.effects, [], "what was approved before is not this");
    again.go(5, vec![decision("l", X, false)]);
    assert_eq!(again.kinds(), ["approval.given", "operation.ended", "run.ended"]);
    assert_eq!(
        again.notes(),
        ["/shell:x#1 ! NonRetryable: me did not approve it: it is not trusted"]
    );
}

#[test]
fn an_attempt_that_begins_as_the_slot_is_given_has_waited_for_nothing() {
    let play = Play::new(|s| {
        s.step_within(s.run(), "a", 50);
        s.ask(s.run(), shell("x"));
    })
    .then(|s| s.throws(s.body(), error("no luck")));
    let mut bench = Bench::start(play);
    bench.go(10, vec![held(HoldKind::Slot, None, None)]);
    bench.go(100, vec![retry_timer("/a#1@1"), Happening::Admitted { operation: op(X) }]);
    assert_eq!(bench.kinds(), ["attempt.started", "run.resumed", "operation.released"]);
    let timers: Vec<_> = bench.execution.timers().collect();
    assert_eq!(timers, [(Timestamp(150), &Timer::Attempt(scope("/a#1@2")))]);
}

#[test]
fn what_waits_for_room_is_tried_again_by_the_clock() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![held(HoldKind::Disk, None, Some(30))]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(30)) });
    let mut bench = Bench::resume(bench.log, play());
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(30)) });
    bench.go(29, vec![timer(X)]);
    assert_eq!(bench.kinds(), Vec::<&str>::new());
    bench.go(30, vec![timer(X)]);
    assert_eq!(bench.kinds(), ["operation.released"]);
    assert_eq!(granted(&bench), [None]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
    bench.go(31, vec![ended(X, 1, Value::Null)]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::Completed { .. })));
}

#[test]
fn what_has_waited_as_often_as_it_may_fails_with_what_it_waited_for() {
    let killed = |limit| {
        let message = "the hook was killed".to_owned();
        let until = Some(Timestamp(30));
        let hold = Hold { kind: HoldKind::Tool, message, subject: None, until, limit };
        Happening::Held { operation: op(X), r#try: Try(1), hold }
    };
    let mut bench = Bench::start(play());
    // One without a limit, for a slot or for room, does not count, and begins no new row.
    for limit in [Some(2), None, Some(2)] {
        bench.go(1, vec![killed(limit)]);
        assert_eq!(bench.kinds(), ["operation.held"]);
        // It is counted by whichever process takes the run up meanwhile, too.
        bench = Bench::resume(bench.log, play());
        bench.go(30, vec![timer(X)]);
        assert_eq!(bench.kinds(), ["operation.released"]);
    }
    bench.go(31, vec![killed(Some(2))]);
    assert_eq!(bench.kinds(), ["operation.ended", "run.ended"]);
    assert_eq!(bench.notes(), ["/shell:x#1 ! Error: the hook was killed; it was tried 3 times"]);
}

#[test]
fn a_run_that_is_cancelled_does_not_wait_for_an_approval() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![held(HoldKind::Disk, None, Some(30))]);
    bench.go(2, vec![cancel("c")]);
    assert_eq!(bench.turn.effects, [Effect::Stop { operation: op(X), r#try: Try(1), child: None }]);
    bench.go(30, vec![timer(X), decision("k", X, true)]);
    assert_eq!(bench.kinds(), ["approval.given"]);
    bench.go(31, vec![stopped(X, 1)]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::Cancelled { .. })));
}

#[test]
fn only_what_is_being_performed_can_be_held_and_only_once() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), sleep("x", 100));
        })
    };
    let mut bench = Bench::start(play());
    assert!(bench.go(1, vec![waits_for_slot("/sleep:x#1", 900)]).is_empty(), "a sleep only waits");
    bench.go(2, vec![interrupted(X, 1)]);
    assert!(bench.go(3, vec![asks()]).is_empty(), "its first try is over");
    let held_again = |kind| match held(kind, None, None) {
        Happening::Held { operation, hold, .. } => {
            Happening::Held { operation, r#try: Try(2), hold }
        }
        other => other,
    };
    bench.go(4, vec![held_again(HoldKind::Disk), held_again(HoldKind::Approval)]);
    assert_eq!(bench.kinds(), ["operation.held"], "it is held already");
    bench.go(5, vec![admitted(X), ended(X, 2, json!(7))]);
    assert!(bench.go(6, vec![held_again(HoldKind::Disk)]).is_empty(), "it has its answer");
}

#[test]
fn what_is_to_be_stopped_and_has_not_begun_is_dead() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![cancel("c")]);
    bench.go(2, vec![asks()]);
    assert_eq!(bench.kinds(), ["operation.ended", "run.ended"]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::Cancelled { .. })));
}

#[test]
fn the_clock_of_a_hold_stops_with_it() {
    let timers = |bench: &Bench| -> Vec<Timer> {
        bench.execution.timers().map(|(_, timer)| timer.clone()).collect()
    };
    let goes_on = || Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.ask(s.run(), shell("y")));
    let mut declined = Bench::start(goes_on());
    declined.go(1, vec![held(HoldKind::Approval, None, Some(900))]);
    assert_eq!(timers(&declined), [Timer::Operation(op(X))]);
    declined.go(2, vec![decision("k", X, false)]);
    assert_eq!(timers(&declined), []);
    let mut cancelled = Bench::start(goes_on());
    cancelled.go(1, vec![held(HoldKind::Disk, None, Some(900))]);
    cancelled.go(2, vec![cancel("c")]);
    assert_eq!(timers(&cancelled), [Timer::Grace(scope(""))]);
    let again = Bench::resume(cancelled.log, goes_on());
    assert_eq!(timers(&again), [Timer::Grace(scope(""))]);
    assert!(matches!(again.turn.standing, Standing::Working { .. }), "it is to be stopped");
}

fn waits_for_slot(operation: &str, until: i64) -> Happening {
    let message = "1 of 1 runs at work".to_owned();
    let hold = Hold {
        kind: HoldKind::Slot,
        message,
        subject: None,
        until: Some(Timestamp(until)),
        limit: None,
    };
    Happening::Held { operation: op(operation), r#try: Try(1), hold }
}

fn admitted(operation: &str) -> Happening {
    Happening::Admitted { operation: op(operation) }
}

#[test]
fn what_waits_for_a_slot_begins_when_it_has_one() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![waits_for_slot(X, 900)]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(900)) });
    let held: Vec<_> = bench.execution.journal().held_for(HoldKind::Slot).cloned().collect();
    assert_eq!(held, [op(X)]);
    let mut bench = Bench::resume(bench.log, play());
    assert_eq!(bench.turn.effects, []);
    bench.go(30, vec![admitted(X), admitted(X)]);
    assert_eq!(bench.kinds(), ["run.resumed", "operation.released"]);
    assert_eq!(granted(&bench), [None]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
    assert!(bench.go(31, vec![admitted(X)]).is_empty(), "it has one");
    // It may not be true any more.
    bench.go(32, vec![waits_for_slot(X, 900)]);
    bench.go(900, vec![timer(X)]);
    assert_eq!(bench.kinds(), ["run.resumed", "operation.released"]);
    bench.go(901, vec![ended(X, 1, json!(7))]);
    assert_eq!(Bench::resume(bench.log, play()).notes(), ["/shell:x#1 = 7"]);
}

#[test]
fn what_waits_for_room_on_the_disk_is_tried_again_before_its_time_when_something_has_changed() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![held(HoldKind::Disk, None, Some(900))]);
    let held: Vec<_> = bench.execution.journal().held_for(HoldKind::Disk).cloned().collect();
    assert_eq!(held, [op(X)]);
    let mut bench = Bench::resume(bench.log, play());
    bench.go(30, vec![admitted(X)]);
    assert_eq!(bench.kinds(), ["operation.released"]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None }, "its timer is gone");
    bench.go(31, vec![ended(X, 1, json!(7))]);
    assert_eq!(Bench::resume(bench.log, play()).notes(), ["/shell:x#1 = 7"]);
}

#[test]
fn only_time_in_which_a_run_does_nothing_but_wait_for_a_slot_is_given_back() {
    let mut at_once = Bench::start(play());
    at_once.go(1, vec![waits_for_slot(X, 900), admitted(X)]);
    assert_eq!(at_once.kinds(), ["operation.held", "operation.released"], "it has not waited");
    let both = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("y"));
        })
    };
    let mut busy = Bench::start(both());
    busy.go(1, vec![waits_for_slot(X, 900)]);
    busy.go(30, vec![admitted(X)]);
    assert_eq!(busy.kinds(), ["operation.released"], "the other one is performed meanwhile");
}

#[test]
fn a_slot_answers_nothing_but_the_wait_for_one() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![asks()]);
    assert!(bench.go(2, vec![admitted(X)]).is_empty(), "a person is asked");
    let mut bench = Bench::start(play());
    bench.go(1, vec![waits_for_slot(X, 900)]);
    assert_eq!(bench.execution.journal().held_for_approval().count(), 0);
    bench.go(2, vec![cancel("c")]);
    assert_eq!(bench.execution.journal().held_for(HoldKind::Slot).count(), 0);
    assert!(bench.go(3, vec![admitted(X)]).is_empty(), "it is to end");
    bench.go(4, vec![stopped(X, 1)]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::Cancelled { .. })));
}

#[test]
fn the_timeout_of_an_attempt_stands_still_while_the_run_waits_for_a_slot() {
    const INNER: &str = "/a#1@1/shell:x#1";
    let play = || {
        Play::new(|s| s.step_within(s.run(), "a", 50))
            .then(|s| s.ask(s.body(), shell("x")))
            .then(|s| s.returns(s.body()))
            .then(|s| s.note_delivery())
    };
    let mut bench = Bench::start(play());
    bench.go(10, vec![waits_for_slot(INNER, 900)]);
    assert!(bench.go(50, vec![attempt_timer("/a#1@1")]).is_empty(), "it has not begun");
    let mut bench = Bench::resume(bench.log, play());
    assert!(bench.go(60, vec![attempt_timer("/a#1@1")]).is_empty(), "nor has it here");
    bench.go(110, vec![admitted(INNER)]);
    assert_eq!(bench.kinds(), ["run.resumed", "operation.released"]);
    let due = |bench: &Bench| {
        let timers = bench.execution.timers();
        timers.map(|(due, timer)| (due.0, timer.clone())).collect::<Vec<_>>()
    };
    let expected = [(150, Timer::Attempt(scope("/a#1@1")))];
    assert_eq!(due(&bench), expected, "40 of its 50 are left");
    let mut bench = Bench::resume(bench.log, play());
    assert_eq!(due(&bench), expected, "whoever takes it up counts the same");
    bench.go(150, vec![attempt_timer("/a#1@1")]);
    assert_eq!(bench.kinds()[0], "attempt.timed_out");
}
