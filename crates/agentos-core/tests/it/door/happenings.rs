//! What the world says: late, twice, of things nobody asked for, or after the end.

use agentos_core::effect::{Effect, Happening, Timer};
use agentos_core::id::Try;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::operation::OperationKind;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use serde_json::{Value, json};

use crate::support::bench::{
    Bench, cancel, ended, grace_timer, interrupted, retry_timer, signal, started, stopped, timer,
};
use crate::support::fact::{error, key, op, scope, thrice};
use crate::support::play::{Play, shell, sleep, wait, wait_for};

/// A program with one of each open: an operation, a sleep, a wait.
fn open() -> Play {
    Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), sleep("x", 100));
        s.ask(s.run(), wait("go"));
    })
}

#[test]
fn what_concerns_nobody_is_dropped() {
    let mut bench = Bench::start(open());
    let nobody = vec![
        started("/shell:y#1", 1, Value::Null),
        ended("/shell:y#1", 1, Value::Null),
        interrupted("/a#1@1/shell:x#1", 1),
        timer("/sleep:y#1"),
        timer("/shell:x#1"),
        timer("/wait:go#1"),
        retry_timer("/a#1@1"),
        retry_timer(""),
        grace_timer(""),
        grace_timer("/a#1@1"),
    ];
    let turn = bench.go(50, nobody);
    assert!(turn.is_empty() && turn.effects.is_empty() && !turn.more);
    assert_eq!(turn.chunk.first.0, 4);
}

#[test]
fn what_is_not_performed_in_the_world_is_not_answered_by_it() {
    let mut bench = Bench::start(open());
    let wrong = vec![
        ended("/sleep:x#1", 1, Value::Null),
        stopped("/wait:go#1", 1),
        started("/wait:go#1", 1, Value::Null),
        interrupted("/sleep:x#1", 1),
    ];
    assert!(bench.go(50, wrong).is_empty());
}

#[test]
fn what_is_said_of_another_try_is_dropped() {
    let mut bench = Bench::start(open());
    bench.go(1, vec![interrupted("/shell:x#1", 1)]);
    let stale = vec![
        started("/shell:x#1", 1, Value::Null),
        ended("/shell:x#1", 1, Value::Null),
        interrupted("/shell:x#1", 1),
        ended("/shell:x#1", 3, Value::Null),
    ];
    assert!(bench.go(2, stale).is_empty());
    bench.go(3, vec![ended("/shell:x#1", 2, Value::Null)]);
    assert_eq!(bench.kinds(), ["operation.ended"]);
}

#[test]
fn what_is_said_twice_is_heard_once() {
    let mut bench = Bench::start(open());
    let at_once = vec![
        started("/shell:x#1", 1, json!(1)),
        started("/shell:x#1", 1, json!(2)),
        ended("/shell:x#1", 1, json!(1)),
        ended("/shell:x#1", 1, json!(2)),
        timer("/sleep:x#1"),
        timer("/sleep:x#1"),
        signal("k", "go", json!(1)),
        signal("k", "go", json!(2)),
    ];
    bench.go(100, at_once.clone());
    assert_eq!(
        bench.kinds(),
        [
            "operation.started",
            "operation.ended",
            "timer.fired",
            "signal.arrived",
            "signal.consumed",
            "run.failing",
            "run.ended"
        ]
    );
    assert!(bench.go(101, at_once).is_empty());
}

#[test]
fn a_timer_fires_when_its_time_has_come_and_not_before() {
    let mut bench = Bench::start(open().then(|s| s.note_delivery()));
    assert!(bench.go(99, vec![timer("/sleep:x#1")]).is_empty());
    bench.go(101, vec![timer("/sleep:x#1")]);
    assert_eq!((bench.kinds(), bench.notes()), (vec!["timer.fired"], vec!["/sleep:x#1 = null"]));
}

#[test]
fn a_second_wish_to_cancel_is_recorded_and_changes_nothing() {
    let play = Play::new(|s| s.ask(s.run(), shell("x")));
    let mut bench = Bench::start(play);
    bench.go(1, vec![cancel("k")]);
    assert_eq!(bench.turn.consumed, [key("k")]);
    assert_eq!(
        bench.kinds(),
        ["run.cancel_requested", "scope.closing", "operation.cancel_ordered"]
    );
    bench.go(2, vec![cancel("l"), cancel("k")]);
    assert_eq!(bench.turn.consumed, [key("l")]);
    assert_eq!(bench.kinds(), ["run.cancel_requested"]);
    assert!(bench.turn.effects.is_empty());
}

#[test]
fn a_wish_to_cancel_keeps_its_reason() {
    let mut bench = Bench::start(open());
    let body = MessageBody::Cancel { reason: Some("enough".to_owned()) };
    bench.go(1, vec![Happening::Message(Message { key: key("k"), body })]);
    let entry = serde_json::to_value(&bench.turn.chunk.entries[0]).unwrap();
    assert_eq!(entry["reason"], "enough");
}

#[test]
fn a_message_that_is_recorded_already_is_not_taken_from_the_inbox_again() {
    let mut bench = Bench::start(open());
    bench.go(1, vec![signal("k", "other", json!(1))]);
    assert_eq!(bench.turn.consumed, [key("k")]);
    bench.go(2, vec![signal("k", "other", json!(1)), cancel("k")]);
    assert!(bench.turn.is_empty() && bench.turn.consumed.is_empty());
}

#[test]
fn after_the_end_nothing_is_heard() {
    let mut bench = Bench::start(Play::new(|s| s.returns(s.run())));
    assert!(bench.turn.standing.is_ended());
    let turn = bench.go(9, vec![signal("k", "go", json!(1)), cancel("l"), timer("/sleep:x#1")]);
    assert!(turn.is_empty() && turn.consumed.is_empty() && !turn.more);
}

#[test]
fn time_does_not_go_back_when_the_clock_does() {
    let play = open()
        .then(|s| {
            s.note(s.door.now().to_string());
            s.ask(s.run(), sleep("y", 10));
        })
        .then(|s| s.note(s.door.now().to_string()));
    let mut bench = Bench::start(play);
    bench.go(50, vec![ended("/shell:x#1", 1, Value::Null)]);
    assert_eq!(bench.turn.chunk.at, Timestamp(50));
    bench.go(20, vec![signal("k", "go", json!(1))]);
    assert_eq!(bench.turn.chunk.at, Timestamp(50));
    assert_eq!(bench.notes(), ["50 ms", "50 ms"]);
    let due: Vec<i64> = bench.execution.timers().map(|(due, _)| due.0).collect();
    assert_eq!(due, [60, 100]);
}

#[test]
fn whoever_performs_an_operation_again_learns_where_it_was() {
    let mut bench = Bench::start(open());
    let perform = |r#try, started| Effect::Perform {
        operation: op("/shell:x#1"),
        kind: OperationKind::Shell,
        r#try: Try(r#try),
        args: json!({}),
        child: None,
        started,
        granted: None,
    };
    assert_eq!(bench.turn.effects, [perform(1, None)]);
    assert_eq!(bench.turn.effects[0].operation(), &op("/shell:x#1"));
    bench.go(1, vec![started("/shell:x#1", 1, json!({ "pid": 7 }))]);
    // The process is killed, and another one goes on.
    let mut again = Bench::resume(bench.log, open());
    assert_eq!(again.turn.effects, [perform(1, Some(json!({ "pid": 7 })))]);
    again.go(2, vec![interrupted("/shell:x#1", 1)]);
    assert_eq!(again.turn.effects, [perform(2, Some(json!({ "pid": 7 })))]);
}

#[test]
fn the_first_of_a_signal_and_a_timeout_answers_the_wait() {
    let play = || {
        Play::new(|s| s.ask(s.run(), wait_for("go", 100)))
            .then(|s| {
                s.note_delivery();
                s.ask(s.run(), shell("x"));
            })
            .then(|s| s.note_delivery())
    };
    let mut signalled = Bench::start(play());
    signalled.go(100, vec![signal("k", "go", json!(1)), timer("/wait:go#1")]);
    assert_eq!(signalled.notes(), ["/wait:go#1 = 1"]);
    let mut timed_out = Bench::start(play());
    timed_out.go(100, vec![timer("/wait:go#1"), signal("k", "go", json!(1))]);
    assert_eq!(
        timed_out.notes(),
        ["/wait:go#1 ! Timeout: no signal came in time for `/wait:go#1`"]
    );
}

#[test]
fn a_signal_that_came_before_its_wait_is_kept_for_it() {
    let play = Play::new(|s| s.ask(s.run(), shell("x")))
        .then(|s| {
            s.ask(s.run(), wait("go"));
            s.ask(s.run(), wait("go"));
        })
        .then(|s| s.note_delivery())
        .then(|s| {
            s.note_delivery();
            s.ask(s.run(), shell("y"));
        })
        .then(|s| s.ask(s.run(), wait("go")))
        .then(|s| {
            s.note_delivery();
            s.ask(s.run(), wait("go"));
        })
        .then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    bench.go(1, vec![signal("k", "go", json!("first")), signal("l", "go", json!("second"))]);
    bench.go(2, vec![ended("/shell:x#1", 1, Value::Null)]);
    // One signal answers every wait that is open when it is delivered; the other is kept for later ones.
    assert_eq!(bench.notes(), [r#"/wait:go#1 = "first""#, r#"/wait:go#2 = "first""#]);
    let offers = bench.kinds().into_iter().filter(|kind| *kind == "signal.offered").count();
    assert_eq!(offers, 1, "it is on its way to both");
    bench.go(3, vec![ended("/shell:y#1", 1, Value::Null)]);
    assert_eq!(bench.notes()[2..], [r#"/wait:go#3 = "second""#], "each is taken once");
}

#[test]
fn a_wait_that_a_signal_has_answered_has_no_timer_left() {
    let play =
        Play::new(|s| s.ask(s.run(), wait_for("go", 100))).then(|s| s.ask(s.run(), shell("x")));
    let mut bench = Bench::start(play);
    bench.go(1, vec![signal("k", "go", json!(1))]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
}

#[test]
fn a_wait_of_no_length_is_left_to_the_clock() {
    let bench = Bench::start(Play::new(|s| s.ask(s.run(), wait_for("go", 0))));
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(0)) });
}

#[test]
fn what_has_started_in_the_world_is_still_owed_an_answer() {
    let mut bench = Bench::start(Play::new(|s| s.ask(s.run(), shell("x"))));
    bench.go(1, vec![started("/shell:x#1", 1, Value::Null)]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
}

#[test]
fn time_does_not_go_back_for_a_program_that_asks_late_for_an_old_answer() {
    let both = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), shell("y"));
    });
    let mut bench = Bench::start(both.then(|_| {}).then(|_| {}));
    bench.go(10, vec![ended("/shell:x#1", 1, Value::Null)]);
    bench.go(20, vec![ended("/shell:y#1", 1, Value::Null)]);
    let log = bench.log.cut(5);
    let late =
        Play::new(|s| s.ask(s.run(), shell("y"))).then(|s| s.ask(s.run(), shell("x"))).then(|s| {
            s.note_delivery();
            s.note(s.door.now().to_string());
            s.ask(s.run(), shell("z"));
        });
    assert_eq!(Bench::resume(log, late).notes(), ["/shell:x#1 = null", "20 ms"]);
}

#[test]
fn the_timers_of_a_run_are_known_by_what_they_are_for() {
    let play = Play::new(|s| {
        s.step(s.run(), "a", thrice());
        s.ask(s.run(), sleep("x", 10));
        s.ask(s.run(), shell("x"));
    })
    .then(|s| {
        s.ask(s.body(), shell("x"));
        s.throws(s.body(), error("no luck"));
    });
    let mut bench = Bench::start(play);
    bench.go(1, vec![stopped("/a#1@1/shell:x#1", 1)]);
    bench.go(2, vec![cancel("k")]);
    let timers: Vec<(i64, Timer)> =
        bench.execution.timers().map(|(due, timer)| (due.0, timer.clone())).collect();
    assert_eq!(timers, [(1_002, Timer::Grace(scope("")))]);
}
