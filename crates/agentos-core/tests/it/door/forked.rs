//! What a fork takes with it, and what a move leaves behind.

use agentos_core::bounds;
use agentos_core::effect::{Happening, Timer};
use agentos_core::entry::{Entry, RunOutcome, RunStarted};
use agentos_core::id::{Seed, StepNumber, Try};
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::StepOptions;
use agentos_core::rebase::{
    Destination, Keep, Names, Notice, Rebase, RebaseError, Rebased, switch,
};
use agentos_core::retry::RetryPolicy;
use agentos_core::source::BodyText;
use agentos_core::time::{Millis, Timestamp};
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{
    Bench, cancel, child_ended, ended, failed, interrupted, signal, started, stopped, timer,
};
use crate::support::fact::{error, name, op, run, scope, start, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, invoke, shell, sleep, wait, wait_for};

const LATER: i64 = 50_000;

fn rebase(
    log: &Log,
    keep: Keep,
    now: i64,
    play: impl Fn() -> Play,
) -> Result<Rebased, RebaseError> {
    let rebase = Rebase {
        log: log.records(),
        start: RunStarted { run: run(9), seed: Seed(99), ..start() },
        keep,
        now: Timestamp(now),
        into: Destination::NewRun,
        old_names: Names::default(),
        new_names: Names::default(),
    };
    rebase.run(play)
}

fn forked(log: &Log, before: u32, play: impl Fn() -> Play) -> Result<Rebased, RebaseError> {
    rebase(log, Keep::BeforeStep(StepNumber(before)), LATER, play)
}

fn switched(log: &Log, play: impl Fn() -> Play) -> Result<Rebased, RebaseError> {
    switch(log.records(), "new".to_owned(), Timestamp(LATER), play)
}

fn entries(rebased: &Rebased) -> Vec<&Entry> {
    rebased.chunks.iter().flat_map(|chunk| &chunk.entries).collect()
}

fn kinds(rebased: &Rebased) -> Vec<&'static str> {
    entries(rebased).into_iter().map(Entry::kind).collect()
}

fn abandoned(rebased: &Rebased) -> Vec<(&str, u32)> {
    let left = entries(rebased).into_iter().find_map(|entry| match entry {
        Entry::SourceSwitched { abandoned, .. } => Some(abandoned),
        _ => None,
    });
    let left = left.expect("it was switched").iter();
    left.map(|left| (left.operation.as_str(), left.r#try.0)).collect()
}

fn in_turn(steps: &'static [&'static str]) -> impl Fn() -> Play {
    move || {
        let first = Play::new(move |s| s.ask(s.run(), shell(steps[0])));
        steps[1..].iter().fold(first, |play, next| play.then(move |s| s.ask(s.run(), shell(next))))
    }
}

#[test]
fn a_fork_keeps_the_seed_of_its_run_and_no_time_goes_back_in_it() {
    let play =
        || Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.ask(s.run(), sleep("nap", 9)));
    let mut bench = Bench::start(play());
    bench.go(500, vec![ended("/shell:x#1", 1, Value::Null)]);
    // The clock of this machine is behind.
    let keep = Keep::BeforeStep(StepNumber(2));
    let rebased = rebase(&bench.log, keep, 100, play).expect("a fork");
    let seed = entries(&rebased).into_iter().find_map(|entry| match entry {
        Entry::RunStarted(start) => Some(start.seed),
        _ => None,
    });
    assert_eq!(seed, Some(Seed(42)));
    let due = entries(&rebased).into_iter().find_map(|entry| match entry {
        Entry::OperationOrdered { due, .. } => *due,
        _ => None,
    });
    assert_eq!(due, Some(Timestamp(509)));
    assert_eq!(entries(&rebased).last(), Some(&&Entry::RunRebased { away_ms: Millis::ZERO }));
}

#[test]
fn a_step_that_a_fork_begins_has_its_whole_time_and_no_more() {
    let play = |step: &'static str| {
        move || {
            Play::new(|s| s.ask(s.run(), shell("x")))
                .then(move |s| s.step_within(s.run(), step, 100))
                .then(|s| s.ask(s.body(), shell("y")))
        }
    };
    let mut bench = Bench::start(play("b")());
    bench.go(5, vec![ended("/shell:x#1", 1, Value::Null)]);
    // Whether the run had begun it or not.
    for step in ["b", "other"] {
        let mut log = Log::empty();
        let rebased = forked(&bench.log, 2, play(step)).expect("a fork");
        rebased.chunks.into_iter().for_each(|chunk| log.extend(chunk));
        let due: Vec<i64> =
            Bench::resume(log, play(step)()).execution.timers().map(|(due, _)| due.0).collect();
        assert_eq!(due, [LATER + 100], "{step}");
    }
}

#[test]
fn a_step_that_is_not_kept_has_its_whole_time_however_late_the_last_kept_answer_came() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.step_within(s.run(), "b", 100);
        })
        .then(|s| s.ask(s.body(), shell("y")))
    };
    let mut bench = Bench::start(play());
    bench.go(60, vec![ended("/shell:x#1", 1, Value::Null)]);
    let mut log = Log::empty();
    let rebased = forked(&bench.log, 2, play).expect("a fork");
    rebased.chunks.into_iter().for_each(|chunk| log.extend(chunk));
    let due: Vec<i64> =
        Bench::resume(log, play()).execution.timers().map(|(due, _)| due.0).collect();
    assert_eq!(due, [LATER + 100]);
}

#[test]
fn back_offs_and_graces_that_are_not_kept_begin_when_a_fork_does() {
    let timers = |asked: &'static [&'static str], end: fn(&mut Stage<'_, '_>)| {
        let play = || {
            Play::new(|s| s.step(s.run(), "a", thrice()))
                .then(move |s| {
                    asked.iter().for_each(|name| s.ask(s.body(), shell(name)));
                    s.ask(s.run(), shell("z"));
                })
                .then(end)
        };
        let mut bench = Bench::start(play());
        bench.go(40, vec![ended("/a#1@1/shell:quick#1", 1, Value::Null)]);
        let mut log = Log::empty();
        let rebased = forked(&bench.log, 2, play).expect("a fork");
        rebased.chunks.into_iter().for_each(|chunk| log.extend(chunk));
        let bench = Bench::resume(log, play());
        bench.execution.timers().map(|(due, timer)| (due.0, timer.clone())).collect::<Vec<_>>()
    };
    let attempt = || scope("/a#1@1");
    let failed = timers(&["quick"], |s| s.throws(s.body(), error("no luck")));
    assert_eq!(failed, [(LATER + 100, Timer::Retry(attempt()))]);
    let closed = timers(&["quick", "slow"], |s| s.returns(s.body()));
    assert_eq!(closed, [(LATER + 1_000, Timer::Grace(attempt()))]);
}

#[test]
fn a_fork_knows_nothing_of_tries_that_are_under_way_for_its_run() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("y"));
        })
    };
    let mut bench = Bench::start(play());
    bench.go(1, vec![started("/shell:x#1", 1, json!({ "pid": 7 }))]);
    bench.go(2, vec![interrupted("/shell:x#1", 1)]);
    let rebased = forked(&bench.log, 2, play).expect("a fork");
    assert_eq!(
        kinds(&rebased),
        ["run.started", "operation.ordered", "operation.ordered", "run.rebased"]
    );
}

#[test]
fn a_fork_takes_the_messages_that_came_before_its_step_and_those_that_answered_what_it_keeps() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), wait("go"));
            s.ask(s.run(), invoke("c"));
            s.ask(s.run(), shell("y"));
        })
        .then(|s| s.ask(s.run(), wait("later")))
        .then(|s| s.ask(s.run(), shell("z")))
        .then(|s| s.ask(s.run(), shell("w")))
    };
    let child = run(7).child(&op("/invoke:c#1"), Try(1)).farewell().0;
    let outcome = RunOutcome::Completed { output: json!(1) };
    let mut bench = Bench::start(play());
    bench.go(1, vec![signal("taken", "go", json!(1)), signal("kept", "other", json!(2))]);
    bench.go(2, vec![child_ended(&child, "/invoke:c#1", outcome)]);
    bench.go(3, vec![signal("beyond", "later", json!(3))]);
    let rebased = forked(&bench.log, 3, play).expect("a fork");
    let came: Vec<&str> = entries(&rebased)
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::SignalArrived { key, .. } => Some(key.0.as_str()),
            Entry::ChildEnded { .. } => Some("child"),
            _ => None,
        })
        .collect();
    assert_eq!(came, ["taken", "child"]);
}

#[test]
fn a_child_that_was_cancelled_by_somebody_else_before_the_step_of_a_fork_stays_so() {
    let play = || Play::new(|s| s.ask(s.run(), invoke("c"))).then(|s| s.ask(s.run(), shell("y")));
    let child = run(7).child(&op("/invoke:c#1"), Try(1)).farewell().0;
    let mut bench = Bench::start(play());
    bench.go(1, vec![child_ended(&child, "/invoke:c#1", RunOutcome::Cancelled { failure: None })]);
    let rebased = forked(&bench.log, 2, play).expect("a fork");
    assert!(kinds(&rebased).contains(&"child.ended"), "{:?}", kinds(&rebased));
}

#[test]
fn a_fork_is_not_told_to_end_and_keeps_nothing_of_what_followed_from_that() {
    let play = || {
        Play::new(|s| s.ask(s.run(), wait("go")))
            .then(|s| s.ask(s.run(), shell("c1")))
            .then(|s| s.ask(s.run(), shell("c2")))
    };
    let mut bench = Bench::start(play());
    bench.go(10, vec![cancel("k")]);
    bench.go(11, vec![ended("/shell:c1#1", 1, Value::Null)]);
    let rebased = forked(&bench.log, 3, play).expect("a fork");
    assert_eq!(kinds(&rebased), ["run.started", "operation.ordered", "run.rebased"]);
}

#[test]
fn a_retry_of_a_run_that_took_too_long_does_not_take_too_long_at_once() {
    let timed = RunStarted { timeout_ms: Some(Millis::new(100)), ..start() };
    let play = || Play::new(|s| s.ask(s.run(), shell("x")));
    let mut bench = Bench::resume(Log::empty().with(Entry::RunStarted(timed.clone())), play());
    bench.go(100, vec![Happening::Timer(Timer::Run)]);
    bench.go(101, vec![stopped("/shell:x#1", 1)]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::TimedOut { .. })));
    let rebase = Rebase {
        log: bench.log.records(),
        start: RunStarted { run: run(9), ..timed },
        keep: Keep::Finished,
        now: Timestamp(LATER),
        into: Destination::NewRun,
        old_names: Names::default(),
        new_names: Names::default(),
    };
    let rebased = rebase.run(play).expect("a retry");
    assert_eq!(kinds(&rebased), ["run.started", "operation.ordered", "run.rebased"]);
}

/// First the step `a`, then the step `b`.
fn a_then_b() -> Play {
    Play::new(|s| s.step(s.run(), "a", RetryPolicy::once()))
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.returns(s.body()))
        .then(|s| s.step(s.run(), "b", RetryPolicy::once()))
        .then(|s| s.ask(s.body(), shell("x")))
}

/// A command in the place of `a`.
fn command_in_place_of_a() -> Play {
    Play::new(|s| s.ask(s.run(), shell("a")))
}

/// The step `a`, and a command in the place of `b`.
fn command_in_place_of_b() -> Play {
    Play::new(|s| s.step(s.run(), "a", RetryPolicy::once()))
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.returns(s.body()))
        .then(|s| s.ask(s.run(), shell("b")))
}

#[test]
fn only_in_the_place_of_a_step_that_is_kept_nothing_of_another_kind_may_be_asked_for() {
    let mut bench = Bench::start(a_then_b());
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    let refused = forked(&bench.log, 2, command_in_place_of_a);
    assert!(matches!(refused, Err(RebaseError::OtherKind { .. })), "{refused:?}");
    forked(&bench.log, 2, command_in_place_of_b).expect("b is not kept");
    // A retry keeps what did not fail.
    let fails = || {
        a_then_b().then(|s| s.throws(s.body(), error("b"))).then(|s| s.throws(s.run(), error("b")))
    };
    let mut bench = Bench::start(fails());
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    bench.go(2, vec![ended("/b#1@1/shell:x#1", 1, Value::Null)]);
    let refused = rebase(&bench.log, Keep::Finished, LATER, command_in_place_of_a);
    assert!(matches!(refused, Err(RebaseError::OtherKind { .. })), "{refused:?}");
    rebase(&bench.log, Keep::Finished, LATER, command_in_place_of_b).expect("b has failed");
}

#[test]
fn what_is_still_asked_for_may_have_something_of_another_kind_beside_it() {
    const NAMES: [&str; 8] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];
    let shells = || Play::new(|s| NAMES.iter().for_each(|name| s.ask(s.run(), shell(name))));
    let beside = || {
        Play::new(|s| {
            for name_of in NAMES {
                s.ask(s.run(), shell(name_of));
                let request = Request::perform(OperationKind::Artifact, name(name_of), json!({}));
                s.ask(s.run(), request.expect("it is performed"));
            }
        })
    };
    switched(&Bench::start(shells()).log, beside).expect("it can be switched");
    // In their place it is refused, and the first of them is named.
    let instead = || {
        Play::new(|s| {
            for name_of in NAMES {
                let request = Request::perform(OperationKind::Artifact, name(name_of), json!({}));
                s.ask(s.run(), request.expect("it is performed"));
            }
        })
    };
    let refused = switched(&Bench::start(shells()).log, instead).expect_err("another kind");
    assert!(refused.to_string().starts_with("`/shell:n0#1`"), "{refused}");
}

#[test]
fn a_move_leaves_behind_the_latest_try_of_what_is_under_way_and_nothing_that_has_its_answer() {
    let old = in_turn(&["done", "retried"]);
    let mut bench = Bench::start(old());
    bench.go(1, vec![ended("/shell:done#1", 1, Value::Null)]);
    bench.go(2, vec![interrupted("/shell:retried#1", 1)]);
    let rebased = switched(&bench.log, in_turn(&["other"])).expect("a switch");
    assert_eq!(abandoned(&rebased), [("/shell:retried#1", 2)]);
    let told = [
        Notice::NotAsked { operation: op("/shell:done#1") },
        Notice::Abandoned { operation: op("/shell:retried#1") },
    ];
    assert_eq!(rebased.notices, told);
    assert_eq!(
        told.map(|notice| notice.to_string()),
        [
            "`/shell:done#1` had finished and is not asked for any more; its answer is kept",
            "`/shell:retried#1` was under way and is not asked for any more; it is stopped",
        ]
    );
    // What the world says was cancelled without being told to has its answer too.
    let mut bench = Bench::start(old());
    bench.go(1, vec![stopped("/shell:done#1", 1)]);
    let rebased = switched(&bench.log, in_turn(&["other"])).expect("a switch");
    assert_eq!(abandoned(&rebased), [("/shell:retried#1", 1)]);
}

/// A step that stops its loser, a command or a child, and then goes on; or that waits for both.
fn race(loser: fn() -> Request, is_race: bool) -> impl Fn() -> Play {
    move || {
        let play = Play::new(|s| s.step(s.run(), "a", thrice())).then(move |s| {
            s.ask(s.body(), loser());
            s.ask(s.body(), shell("quick"));
        });
        match is_race {
            true => {
                play.then(|s| s.returns(s.body())).then(|_| {}).then(|s| s.ask(s.run(), shell("z")))
            }
            false => play.then(|_| {}).then(|_| {}),
        }
    }
}

#[test]
fn a_loser_that_is_wanted_after_all_is_left_behind_unless_it_has_worked() {
    let slow = || shell("slow");
    let (id, child_id) = ("/a#1@1/shell:slow#1", "/a#1@1/invoke:slow#1");
    let quick = ended("/a#1@1/shell:quick#1", 1, Value::Null);
    let left = |bench: &Bench, loser: fn() -> Request| {
        let rebased = switched(&bench.log, race(loser, false)).expect("a switch");
        let told: Vec<String> = rebased
            .notices
            .iter()
            .filter_map(|notice| match notice {
                Notice::Abandoned { operation } => Some(operation.to_string()),
                _ => None,
            })
            .collect();
        let left: Vec<String> =
            abandoned(&rebased).into_iter().map(|(id, _)| id.to_owned()).collect();
        (left, told)
    };
    let texts = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut stopping = Bench::start(race(slow, true)());
    stopping.go(3, vec![quick.clone()]);
    assert_eq!(left(&stopping, slow), (texts(&[id]), texts(&[id])));
    let mut dead = Bench::start(race(slow, true)());
    dead.go(3, vec![quick.clone()]);
    dead.go(4, vec![stopped(id, 1)]);
    // It is dead, so there is nothing to tell of it.
    assert_eq!(left(&dead, slow), (texts(&[id, "/shell:z#1"]), texts(&["/shell:z#1"])));
    let mut worked = Bench::start(race(slow, true)());
    worked.go(3, vec![quick.clone()]);
    worked.go(4, vec![ended(id, 1, Value::Null)]);
    assert_eq!(left(&worked, slow), (texts(&["/shell:z#1"]), texts(&["/shell:z#1"])));
    // The same with a child, which a user may have cancelled too.
    let child = || invoke("slow");
    let farewell = run(7).child(&op(child_id), Try(1)).farewell().0;
    let cancelled = child_ended(&farewell, child_id, RunOutcome::Cancelled { failure: None });
    let mut dead = Bench::start(race(child, true)());
    dead.go(3, vec![quick]);
    dead.go(4, vec![cancelled.clone()]);
    assert_eq!(left(&dead, child), (texts(&[child_id, "/shell:z#1"]), texts(&["/shell:z#1"])));
    let mut answered = Bench::start(race(child, false)());
    answered.go(3, vec![cancelled]);
    assert_eq!(left(&answered, child), (texts(&[]), texts(&[])));
}

#[test]
fn what_had_its_answer_has_the_same_one_however_late_it_is_asked_for() {
    let asks = |s: &mut Stage<'_, '_>| {
        s.ask(s.run(), sleep("nap", 100));
        s.ask(s.run(), wait_for("late", 100));
        let question = Request::approve(name("ship"), "may it?", Some(Millis::new(100)));
        s.ask(s.run(), question);
        s.ask(s.run(), wait("go"));
        s.ask(s.run(), shell("x"));
    };
    let note_five = |play: Play| (0..5).fold(play, |play, _| play.then(|s| s.note_delivery()));
    let long = move || {
        note_five(Play::new(move |s| {
            asks(s);
            s.ask(s.run(), shell("long"));
        }))
    };
    let mut bench = Bench::start(long());
    bench.go(1, vec![signal("k", "go", json!(5)), failed("/shell:x#1", 1, error("no luck"))]);
    let timers = ["/sleep:nap#1", "/wait:late#1", "/approve:ship#1"].map(timer);
    bench.go(100, timers.to_vec());
    let late = move || {
        note_five(Play::new(|s| s.ask(s.run(), shell("other"))).then(move |s| {
            asks(s);
            s.ask(s.run(), shell("long"));
        }))
    };
    let mut log = bench.log.clone();
    let rebased = switched(&log, late).expect("a switch");
    rebased.chunks.into_iter().for_each(|chunk| log.extend(chunk));
    let mut moved = Bench::resume(log, late());
    moved.go(LATER + 1, vec![ended("/shell:other#1", 1, Value::Null)]);
    let sorted = |bench: &Bench| {
        let mut notes: Vec<String> = bench.notes().into_iter().map(str::to_owned).collect();
        notes.sort();
        notes
    };
    assert_eq!(sorted(&bench).len(), 5);
    assert_eq!(sorted(&moved), sorted(&bench));
}

#[test]
fn what_becomes_of_steps_and_lone_operations_is_told_by_their_numbers() {
    let log = {
        let mut bench = Bench::start(in_turn(&["c", "b", "a"])());
        bench.go(1, vec![ended("/shell:c#1", 1, Value::Null)]);
        bench.go(2, vec![ended("/shell:b#1", 1, Value::Null)]);
        bench.log
    };
    let rebased = switched(&log, in_turn(&["c", "b", "a"])).expect("a switch");
    let kept: Vec<(u32, &str)> =
        rebased.steps.kept.iter().map(|step| (step.number.0, step.path.as_str())).collect();
    assert_eq!(kept, [(1, "/shell:c#1"), (2, "/shell:b#1"), (3, "/shell:a#1")]);
}

#[test]
fn a_run_that_has_failed_and_cleans_up_may_be_moved_and_one_whose_step_has_closed_may_not_fail() {
    let throws = || {
        Play::new(|s| {
            s.ask(s.run(), shell("slow"));
            s.ask(s.run(), shell("x"));
        })
        .then(|s| s.throws(s.run(), error("boom")))
    };
    let mut bench = Bench::start(throws());
    bench.go(1, vec![ended("/shell:x#1", 1, Value::Null)]);
    switched(&bench.log, throws).expect("it had failed before");
    let slow = || shell("slow");
    let mut bench = Bench::start(race(slow, true)());
    bench.go(1, vec![ended("/a#1@1/shell:quick#1", 1, Value::Null)]);
    let refused = switched(&bench.log, || Play::new(|s| s.throws(s.run(), error("boom"))));
    assert!(matches!(refused, Err(RebaseError::Fails(_))), "{refused:?}");
}

/// A step whose body is of this text.
fn asks_step(s: &mut Stage<'_, '_>, step: &str, retry: RetryPolicy, text: &str) {
    let body = Some(BodyText { hash: text.to_owned(), tied: None });
    let options = StepOptions { retry, body, ..StepOptions::default() };
    s.door.step(s.run(), name(step), options).expect("the step is taken");
}

#[test]
fn a_finished_body_that_is_only_retried_otherwise_is_executed() {
    let play = |retry: RetryPolicy| {
        Play::new(move |s| asks_step(s, "a", retry, "same"))
            .then(|s| {
                s.note_delivery();
                s.ask(s.body(), shell("x"));
            })
            .then(|s| s.ask(s.body(), shell("more")))
    };
    let mut bench = Bench::start(
        Play::new(|s| asks_step(s, "a", thrice(), "same"))
            .then(|s| s.ask(s.body(), shell("x")))
            .then(|s| s.returns(s.body()))
            .then(|s| s.ask(s.run(), shell("z"))),
    );
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    let mut log = bench.log.clone();
    let rebased = switched(&log, || play(RetryPolicy::once())).expect("a switch");
    rebased.chunks.into_iter().for_each(|chunk| log.extend(chunk));
    assert_eq!(Bench::resume(log, play(RetryPolicy::once())).notes(), ["body /a#1@1"]);
}

#[test]
fn a_failed_step_is_done_again_with_its_new_text() {
    let play = |text: &'static str| {
        move || {
            Play::new(move |s| asks_step(s, "a", RetryPolicy::once(), text))
                .then(move |s| s.ask(s.body(), shell(text)))
                .then(|s| s.throws(s.body(), error("no luck")))
                .then(|s| s.throws(s.run(), error("no luck")))
        }
    };
    let mut bench = Bench::start(play("old")());
    bench.go(1, vec![ended("/a#1@1/shell:old#1", 1, Value::Null)]);
    let rebased = rebase(&bench.log, Keep::Finished, LATER, play("new")).expect("a retry");
    let ordered = |entry: &Entry| matches!(entry, Entry::OperationOrdered { operation, .. } if *operation == op("/a#1@1/shell:new#1"));
    assert!(entries(&rebased).into_iter().any(ordered), "{:?}", kinds(&rebased));
    assert!(!kinds(&rebased).contains(&"body.kept"), "{:?}", kinds(&rebased));
}

#[test]
fn finished_steps_that_are_not_asked_for_any_more_are_told_in_order() {
    const STEPS: [&str; 6] = ["f", "e", "d", "c", "b", "a"];
    let ask_all = |s: &mut Stage<'_, '_>| {
        STEPS.iter().for_each(|step| asks_step(s, step, RetryPolicy::once(), "text"));
        s.ask(s.run(), shell("z"));
    };
    let play = STEPS.iter().fold(Play::new(ask_all), |play, _| play.then(|s| s.returns(s.body())));
    let rebased = switched(&Bench::start(play).log, in_turn(&["z"])).expect("a switch");
    let told: Vec<String> = rebased.notices.iter().map(ToString::to_string).collect();
    let expected = ["a", "b", "c", "d", "e", "f"]
        .map(|step| format!("the step `/{step}#1` had finished and is not asked for any more"));
    assert_eq!(told, expected);
}

#[test]
fn an_answer_that_a_moved_run_was_given_is_not_kept_by_a_fork_from_before_it_was_taken() {
    let mut bench = Bench::start(in_turn(&["done", "open"])());
    bench.go(1, vec![ended("/shell:done#1", 1, Value::Null)]);
    let late = in_turn(&["other", "done", "last"]);
    let mut log = bench.log.clone();
    let rebased = switched(&log, &late).expect("a switch");
    assert!(kinds(&rebased).contains(&"answers.kept"), "{:?}", kinds(&rebased));
    rebased.chunks.into_iter().for_each(|chunk| log.extend(chunk));
    let mut moved = Bench::resume(log, late());
    moved.go(LATER + 1, vec![ended("/shell:other#1", 1, Value::Null)]);
    let fork =
        rebase(&moved.log, Keep::BeforeStep(StepNumber(1)), 2 * LATER, &late).expect("a fork");
    assert!(!kinds(&fork).contains(&"answers.kept"), "{:?}", kinds(&fork));
}

#[test]
fn a_source_that_stalls_is_refused_unless_the_run_would_have_stalled_anyway() {
    let stalls = || Play::default();
    switched(&Log::started(), stalls).expect("nothing was open");
    let retrying =
        Play::new(|s| s.step(s.run(), "a", thrice())).then(|s| s.throws(s.body(), error("e")));
    let refused = switched(&Bench::start(retrying).log, stalls);
    assert!(matches!(refused, Err(RebaseError::Stuck(_))), "{refused:?}");
}

#[test]
fn a_moved_run_that_nobody_drove_for_just_long_enough_was_away() {
    let bench = Bench::start(in_turn(&["x"])());
    let away = |ms: i64| {
        let rebased = switch(bench.log.records(), "new".to_owned(), Timestamp(ms), in_turn(&["x"]));
        entries(&rebased.expect("a switch")).last().map(|entry| (*entry).clone())
    };
    let rebased = |away_ms| Some(Entry::RunRebased { away_ms });
    assert_eq!(away(bounds::AWAY_MS - 1), rebased(Millis::ZERO));
    assert_eq!(away(bounds::AWAY_MS), rebased(Millis::new(bounds::AWAY_MS.unsigned_abs())));
}
