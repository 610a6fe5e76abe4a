//! A run moved to a source that does the same has the same log again, whatever has happened to it.

use agentos_core::bounds;
use agentos_core::effect::{Happening, Timer};
use agentos_core::entry::{CommentOn, Entry, Record, RunOutcome, RunStarted};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::Try;
use agentos_core::program::{BodyOutcome, StepOptions};
use agentos_core::rebase::{generation, switch};
use agentos_core::source::BodyText;
use agentos_core::time::{Millis, Timestamp};
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{
    Bench, attempt_timer, cancel, child_ended, decision, ended, failed, grace_timer, interrupted,
    retry_timer, signal, started, stopped, timer,
};
use crate::support::fact::{error, name, op, run, start, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, approve, invoke, shell, sleep, wait, wait_for};

const LATER: i64 = 24 * 60 * 60 * 1_000;

/// What a log says, but for the marks of a move and the source's edition.
fn said(log: &[Record]) -> Vec<(Timestamp, Entry)> {
    let facts = generation(log).iter().filter_map(|record| match &record.entry {
        Entry::BodyKept(_) | Entry::RunRebased { .. } => None,
        Entry::RunStarted(start) => {
            let start = RunStarted { definition: String::new(), ..start.clone() };
            Some((record.at, Entry::RunStarted(start)))
        }
        other => Some((record.at, other.clone())),
    });
    facts.collect()
}

fn moved(log: &Log, play: impl Fn() -> Play) -> Log {
    let rebased = switch(log.records(), "new".to_owned(), Timestamp(LATER), play);
    let mut moved = log.clone();
    rebased.expect("it can be moved").chunks.into_iter().for_each(|chunk| moved.extend(chunk));
    moved
}

/// Moves a run at each of its turns to a program that does the same.
fn stays_the_same(turns: &[Log], play: impl Fn() -> Play) {
    for log in turns {
        assert_eq!(said(moved(log, &play).records()), said(log.records()));
    }
}

/// The log of a run after each of its turns.
fn turns(mut bench: Bench, turns: Vec<(i64, Vec<Happening>)>) -> Vec<Log> {
    let mut logs = vec![bench.log.clone()];
    for (at, happenings) in turns {
        bench.go(at, happenings);
        logs.push(bench.log.clone());
    }
    logs
}

fn starts_with(start: RunStarted, play: Play) -> Bench {
    Bench::resume(Log::empty().with(Entry::RunStarted(start)), play)
}

#[test]
fn operations_keep_their_tries_and_what_came_in_together() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("y"));
        })
        .then(|s| s.ask(s.run(), sleep("nap", 100)))
        .then(|s| s.ask(s.run(), shell("z")))
        .then(|s| s.ask(s.run(), shell("last")))
    };
    let (x, y) = ("/shell:x#1", "/shell:y#1");
    let world = vec![
        (1, vec![started(x, 1, json!({ "pid": 1 }))]),
        (2, vec![interrupted(x, 1), interrupted(y, 1)]),
        (3, vec![started(x, 2, json!({ "pid": 2 }))]),
        (4, vec![ended(x, 2, json!(5)), failed(y, 2, error("no luck"))]),
        (104, vec![timer("/sleep:nap#1")]),
        (104 + bounds::AWAY_MS, vec![Happening::Resumed]),
    ];
    stays_the_same(&turns(Bench::start(play()), world), play);
}

#[test]
fn attempts_time_out_and_are_tried_again_when_they_were() {
    let play = || {
        Play::new(|s| s.step_within(s.run(), "a", 50))
            .then(|s| s.ask(s.body(), shell("x")))
            .then(|_| {})
            .then(|s| s.ask(s.body(), shell("x")))
            .then(|s| s.returns(s.body()))
            .then(|s| s.ask(s.run(), shell("z")))
    };
    let world = vec![
        (50, vec![attempt_timer("/a#1@1")]),
        (60, vec![stopped("/a#1@1/shell:x#1", 1)]),
        (160, vec![retry_timer("/a#1@1")]),
        (170, vec![ended("/a#1@2/shell:x#1", 1, Value::Null)]),
    ];
    stays_the_same(&turns(Bench::start(play()), world), play);
}

#[test]
fn a_cancelled_run_has_had_its_grace() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), sleep("nap", 5_000));
        })
        .then(|s| s.ask(s.run(), shell("clean")))
    };
    let world = vec![(1, vec![cancel("k")]), (1_001, vec![grace_timer("")])];
    stays_the_same(&turns(Bench::start(play()), world), play);
}

#[test]
fn a_run_that_took_too_long_fails_as_it_did() {
    let play = || Play::new(|s| s.ask(s.run(), shell("x")));
    for own in [Timer::Run, Timer::Deadline] {
        let timed = RunStarted {
            timeout_ms: Some(Millis::new(100)),
            deadline: Some(Timestamp(100)),
            ..start()
        };
        let world = vec![(100, vec![Happening::Timer(own)])];
        stays_the_same(&turns(starts_with(timed, play()), world), play);
    }
}

#[test]
fn messages_come_in_when_they_did() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), approve("ship"));
            s.ask(s.run(), invoke("build"));
        })
        .then(|s| s.ask(s.run(), wait("go")))
        .then(|s| s.ask(s.run(), wait_for("go", 100)))
        .then(|s| s.ask(s.run(), wait_for("late", 100)))
        .then(|s| s.ask(s.run(), shell("x")))
        .then(|s| s.ask(s.run(), shell("y")))
    };
    let child = run(7).child(&op("/invoke:build#1"), Try(1));
    let outcome = RunOutcome::Completed { output: json!("built") };
    let world = vec![
        (1, vec![started("/invoke:build#1", 1, Value::Null), signal("early", "go", json!(1))]),
        (2, vec![decision("yes", "/approve:ship#1", true)]),
        (3, vec![signal("second", "go", json!(2)), signal("other", "never", json!(3))]),
        (103, vec![timer("/wait:late#1")]),
        (104, vec![child_ended(&child.farewell().0, "/invoke:build#1", outcome)]),
    ];
    stays_the_same(&turns(Bench::start(play()), world), play);
}

#[test]
fn a_run_that_was_first_driven_some_time_after_it_was_created_keeps_the_times_of_its_first_turn() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), sleep("nap", 100));
            s.ask(s.run(), shell("x"));
        })
    };
    let mut log = Log::started();
    let now = Timestamp(50);
    let (_, turn) = Execution::replay(play(), log.journal(), Options::default(), now).unwrap();
    log.extend(turn.chunk);
    stays_the_same(&[log], play);
}

/// A step with all that a body can do: it is tried twice, writes, remarks, has steps and phases inside, waits, and leaves
/// something open.
fn busy(text: &'static str) -> Play {
    let asks = move |s: &mut Stage<'_, '_>| {
        let body = Some(BodyText { hash: text.to_owned(), tied: None });
        let options = StepOptions { retry: thrice(), body, ..StepOptions::default() };
        s.door.step(s.run(), name("a"), options).expect("the step is taken");
    };
    Play::new(asks)
}

/// What the body of [`busy`] does, scene by scene.
fn with_body(play: Play) -> Play {
    play.then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.throws(s.body(), error("no luck")))
        .then(|s| {
            s.door.set(s.body(), name("k"), Some(json!(1))).expect("it is written");
            s.door.set(s.body(), name("gone"), None).expect("it is written");
            let comment = s.door.comment(s.body(), CommentOn::Run, "hm".into(), json!({ "n": 1 }));
            comment.expect("it is remarked");
            let body = Some(BodyText { hash: "inner".to_owned(), tied: None });
            let timeout = Some(Millis::new(500));
            let options = StepOptions { retry: thrice(), timeout, body, ..StepOptions::default() };
            s.door.step(s.body(), name("inner"), options).expect("the step is taken");
            s.step_within(s.body(), "plain", 300);
        })
        .then(|s| s.ask(s.body(), shell("y")))
        .then(|s| s.returns(s.body()))
        .then(|_| {})
        .then(|s| s.door.finish(s.scope(3), BodyOutcome::Skipped("why not".into())))
        .then(|s| s.phase(s.scope(2), "p"))
        .then(|s| s.ask(s.body(), sleep("nap", 10)))
        .then(|s| {
            s.ask(s.scope(2), shell("slow"));
            s.ask(s.scope(2), sleep("none", 0));
            s.returns(s.body());
        })
        .then(|_| {})
        .then(|s| s.returns(s.scope(2)))
        .then(|_| {})
}

fn go_on(play: Play) -> Play {
    play.then(|s| {
        s.note_delivery();
        s.ask(s.run(), shell("z"));
    })
    .then(|s| s.note_delivery())
}

/// The turns of a run in which the busy step has finished.
fn busy_turns() -> Vec<Log> {
    let world = vec![
        (10, vec![ended("/a#1@1/shell:x#1", 1, json!(1))]),
        (110, vec![retry_timer("/a#1@1")]),
        (120, vec![ended("/a#1@2/inner#1@1/shell:y#1", 1, json!(2))]),
        (130, vec![timer("/a#1@2/~p#1@1/sleep:nap#1")]),
        (140, vec![stopped("/a#1@2/shell:slow#1", 1)]),
    ];
    let turns = turns(Bench::start(go_on(with_body(busy("old")))), world);
    let ended =
        |entry: &Entry| matches!(entry, Entry::StepEnded { step, .. } if step.as_str() == "/a#1");
    assert!(turns[5].entries().into_iter().any(ended), "{:?}", turns[5]);
    turns
}

#[test]
fn a_body_does_all_it_did_when_it_is_executed_again() {
    stays_the_same(&busy_turns(), || go_on(with_body(busy("old"))));
}

#[test]
fn a_finished_body_with_another_text_is_played_as_it_was_and_the_program_sees_nothing_of_it() {
    let turns = busy_turns();
    let log = turns.last().expect("there are turns");
    let changed = || go_on(busy("new"));
    let played = moved(log, changed);
    assert_eq!(said(played.records()), said(log.records()));
    // The process that takes it up after a crash plays it as well.
    let mut bench = Bench::resume(played, changed());
    bench.go(LATER + 1, vec![ended("/shell:z#1", 1, json!(7))]);
    assert_eq!(bench.notes(), ["/a#1 = null", "/shell:z#1 = 7"]);
}

#[test]
fn a_step_that_was_cancelled_in_its_back_off_fails_when_it_did_in_a_body_that_is_played() {
    let body = busy("old")
        .then(|s| {
            s.step(s.body(), "inner", thrice());
            s.ask(s.body(), shell("y"));
        })
        .then(|s| s.throws(s.body(), error("no luck")))
        .then(|s| s.returns(s.scope(1)))
        .then(|_| {});
    let mut bench = Bench::start(go_on(body));
    bench.go(10, vec![ended("/a#1@1/shell:y#1", 1, Value::Null)]);
    assert_eq!(bench.notes(), ["/a#1 = null"]);
    let played = moved(&bench.log, || go_on(busy("new")));
    assert_eq!(said(played.records()), said(bench.log.records()));
}
