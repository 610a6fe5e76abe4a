//! A failed run, retried: what made it fail is done again, and what had finished before is kept.

use agentos_core::bounds;
use agentos_core::entry::{Entry, RunOutcome, RunStarted};
use agentos_core::id::Try;
use agentos_core::program::{ScopeId, StepOptions};
use agentos_core::rebase::{Destination, Keep, Names, Rebase, RebaseError, Rebased};
use agentos_core::retry::RetryPolicy;
use agentos_core::source::BodyText;
use agentos_core::time::Timestamp;
use agentos_core::turn::LogLevel;
use agentos_core::value::Value;

use crate::support::bench::{Bench, child_ended, ended, failed, retry_timer, stopped};
use crate::support::fact::{error, name, op, run, start, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, invoke, shell};

const LATER: i64 = 50_000;

fn retried(log: &Log, play: impl Fn() -> Play) -> Rebased {
    try_retried(log, play).expect("it can be retried")
}

fn try_retried(log: &Log, play: impl Fn() -> Play) -> Result<Rebased, RebaseError> {
    retried_as(start(), log, play)
}

/// The same with another source, or under the same.
fn retried_as(
    start: RunStarted,
    log: &Log,
    play: impl Fn() -> Play,
) -> Result<Rebased, RebaseError> {
    let rebase = Rebase {
        log: log.records(),
        start: RunStarted { run: run(9), forked_from: Some(start.run), ..start },
        keep: Keep::Finished,
        now: Timestamp(LATER),
        into: Destination::NewRun,
        old_names: Names::default(),
        new_names: Names::default(),
    };
    rebase.run(play)
}

/// What has its answer in the new run, and what is done again; answers that are kept for later are among the first.
fn fates(rebased: &Rebased) -> (Vec<String>, Vec<String>) {
    let mut log = Log::empty();
    rebased.chunks.iter().cloned().for_each(|chunk| log.extend(chunk));
    let mut answered = Vec::new();
    for entry in log.entries() {
        match entry {
            Entry::AnswersKept { answers } => {
                answered.extend(answers.iter().map(|kept| format!("kept {}", kept.operation)));
            }
            Entry::OperationEnded { operation, result } if !result.is_cancelled() => {
                answered.push(operation.to_string());
            }
            Entry::ChildEnded { operation, .. } => answered.push(operation.to_string()),
            _ => {}
        }
    }
    let journal = log.journal();
    let mut open: Vec<String> = journal.open_operations().map(|(id, ..)| id.to_string()).collect();
    open.sort();
    (answered, open)
}

/// Whether a retry keeps and repeats just these.
fn keeps_and_repeats(log: &Log, play: impl Fn() -> Play, kept: &[&str], repeated: &[&str]) {
    let (answered, open) = fates(&retried(log, play));
    assert_eq!(
        (answered, open),
        (
            kept.iter().map(ToString::to_string).collect(),
            repeated.iter().map(ToString::to_string).collect()
        )
    );
}

const X: &str = "/shell:x#1";
const Y: &str = "/shell:y#1";

/// First `x`, then `y`, and then it throws.
fn x_then_y(thrown: &'static str) -> impl Fn() -> Play {
    move || {
        Play::new(|s| s.ask(s.run(), shell("x")))
            .then(|s| s.ask(s.run(), shell("y")))
            .then(move |s| s.throws(s.run(), error(thrown)))
    }
}

/// The log of that program; `y` fails, or not.
fn x_and_y(thrown: &'static str, x: &str, y: Option<&str>) -> Log {
    let mut bench = Bench::start(x_then_y(thrown)());
    bench.go(1, vec![failed(X, 1, error(x))]);
    bench.go(
        2,
        vec![match y {
            Some(y) => failed(Y, 1, error(y)),
            None => ended(Y, 1, Value::Null),
        }],
    );
    assert_eq!(bench.failure(), &error(thrown));
    bench.log
}

#[test]
fn what_the_run_failed_with_is_done_again_however_early_it_was_seen() {
    let (play, log) = (x_then_y("first"), x_and_y("first", "first", Some("second")));
    keeps_and_repeats(&log, play, &[], &[X]);
    // Nor is kept what was asked for after it, and because of it.
    let (play, log) = (x_then_y("first"), x_and_y("first", "first", None));
    keeps_and_repeats(&log, play, &[], &[X]);
}

#[test]
fn when_the_run_throws_something_of_its_own_the_last_failure_is_done_again() {
    let (play, log) = (x_then_y("own"), x_and_y("own", "first", Some("second")));
    keeps_and_repeats(&log, play, &[X], &[Y]);
}

#[test]
fn of_two_equal_failures_the_one_that_was_dealt_with_is_kept() {
    let (play, log) = (x_then_y("same"), x_and_y("same", "same", Some("same")));
    keeps_and_repeats(&log, play, &[X], &[Y]);
}

#[test]
fn of_two_failures_at_once_both_are_done_again() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("y"));
        })
        .then(|s| s.throws(s.run(), error("same")))
    };
    let mut bench = Bench::start(play());
    bench.go(1, vec![failed(X, 1, error("same")), failed(Y, 1, error("same"))]);
    keeps_and_repeats(&bench.log, play, &[], &[X, Y]);
}

#[test]
fn a_step_whose_failure_was_dealt_with_is_kept_and_the_next_that_fails_alike_is_done_again() {
    let fails_in = |play: Play| {
        play.then(|s| s.ask(s.body(), shell("x"))).then(|s| s.throws(s.body(), error("same")))
    };
    let play = move || {
        let first = fails_in(Play::new(|s| s.step(s.run(), "a", RetryPolicy::once())));
        fails_in(first.then(|s| s.step(s.run(), "b", RetryPolicy::once())))
            .then(|s| s.throws(s.run(), error("same")))
    };
    let mut bench = Bench::start(play());
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    bench.go(2, vec![ended("/b#1@1/shell:x#1", 1, Value::Null)]);
    assert_eq!(bench.failure(), &error("same"));
    keeps_and_repeats(&bench.log, play, &["/a#1@1/shell:x#1"], &["/b#1@1/shell:x#1"]);
}

#[test]
fn a_failure_inside_of_a_step_that_dealt_with_it_is_kept() {
    let (inner, next) = ("/a#1@1/shell:x#1", "/a#1@1/shell:y#1");
    let play = || {
        Play::new(|s| {
            s.step(s.run(), "a", thrice());
            s.ask(s.run(), shell("x"));
        })
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.ask(s.body(), shell("y")))
        .then(|s| s.throws(s.run(), error("same")))
    };
    let mut bench = Bench::start(play());
    bench.go(1, vec![failed(inner, 1, error("same"))]);
    bench.go(2, vec![failed(X, 1, error("same"))]);
    bench.go(3, vec![stopped(next, 1)]);
    assert_eq!(bench.failure(), &error("same"));
    keeps_and_repeats(&bench.log, play, &[inner], &[next, X]);
}

#[test]
fn a_child_that_failed_inside_of_a_step_that_dealt_with_it_is_kept() {
    let (inner, next, outer) = ("/a#1@1/invoke:c#1", "/a#1@1/shell:y#1", "/invoke:c#1");
    let play = || {
        Play::new(|s| {
            s.step(s.run(), "a", thrice());
            s.ask(s.run(), invoke("c"));
        })
        .then(|s| s.ask(s.body(), invoke("c")))
        .then(|s| s.ask(s.body(), shell("y")))
        .then(|s| s.throws(s.run(), error("same")))
    };
    let fails = |id: &str| {
        let outcome = RunOutcome::Failed { failure: error("same") };
        child_ended(&run(7).child(&op(id), Try(1)).farewell().0, id, outcome)
    };
    let mut bench = Bench::start(play());
    bench.go(1, vec![fails(inner)]);
    bench.go(2, vec![fails(outer)]);
    bench.go(3, vec![stopped(next, 1)]);
    assert_eq!(bench.failure(), &error("same"));
    keeps_and_repeats(&bench.log, play, &[inner], &[next, outer]);
}

#[test]
fn of_nested_steps_the_innermost_that_the_failure_came_from_is_done_again_in_the_last_attempt() {
    let attempt = |play: Play| {
        play.then(|s| s.step(s.body(), "fine", RetryPolicy::once()))
            .then(|s| s.ask(s.body(), shell("x")))
            .then(|s| s.returns(s.body()))
    };
    let fails = |play: Play, step: &'static str, after: usize| {
        play.then(move |s| s.step(s.scope(after), step, RetryPolicy::once()))
            .then(|s| s.ask(s.body(), shell("x")))
            .then(move |s| s.throws(s.body(), error(step)))
    };
    // The second attempt: `fine`, then `bad` fails, `worse` fails and is dealt with, and it throws what `bad` threw.
    let play = move || {
        let twice = RetryPolicy { max_attempts: 2, ..thrice() };
        let first = attempt(Play::new(move |s| s.step(s.run(), "a", twice)))
            .then(|s| s.throws(s.scope(1), error("at first")));
        let second = fails(fails(attempt(first), "bad", 3), "worse", 3);
        second
            .then(|s| s.throws(s.scope(3), error("bad")))
            .then(|s| s.throws(s.run(), error("bad")))
    };
    let mut bench = Bench::start(play());
    let x = |path: &str| format!("{path}/shell:x#1");
    bench.go(1, vec![ended(&x("/a#1@1/fine#1@1"), 1, Value::Null)]);
    bench.go(101, vec![retry_timer("/a#1@1")]);
    bench.go(102, vec![ended(&x("/a#1@2/fine#1@1"), 1, Value::Null)]);
    bench.go(103, vec![ended(&x("/a#1@2/bad#1@1"), 1, Value::Null)]);
    bench.go(104, vec![ended(&x("/a#1@2/worse#1@1"), 1, Value::Null)]);
    assert_eq!(bench.failure(), &error("bad"));
    let kept = ["/a#1@1/fine#1@1", "/a#1@2/fine#1@1"].map(x);
    let early = format!("kept {}", x("/a#1@2/worse#1@1"));
    let kept = [early.as_str(), kept[0].as_str(), kept[1].as_str()];
    keeps_and_repeats(&bench.log, play, &kept, &[&x("/a#1@2/bad#1@1")]);
}

#[test]
fn what_was_stopped_because_the_run_failed_is_done_again() {
    let play = |lines: usize| {
        move || {
            Play::new(|s| s.ask(s.run(), shell("x"))).then(move |s| {
                s.ask(s.run(), shell("y"));
                for _ in 0..lines {
                    s.door.log(s.run(), LogLevel::Info, String::new());
                }
            })
        }
    };
    let mut bench = Bench::start(play(bounds::DRAIN_REQUESTS)());
    bench.go(1, vec![ended(X, 1, Value::Null)]);
    bench.go(2, vec![stopped(Y, 1)]);
    assert!(bench.failure().message.contains("without waiting"), "{:?}", bench.failure());
    keeps_and_repeats(&bench.log, play(0), &[X], &[Y]);
}

#[test]
fn only_a_run_that_has_failed_can_be_retried() {
    let play = || Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.returns(s.run()));
    let mut bench = Bench::start(play());
    assert_eq!(try_retried(&bench.log, play).unwrap_err(), RebaseError::NotFailed);
    bench.go(1, vec![ended(X, 1, Value::Null)]);
    assert_eq!(try_retried(&bench.log, play).unwrap_err(), RebaseError::NotFailed);
}

/// A step whose body is of this text.
fn asks_step(s: &mut Stage<'_, '_>, scope: ScopeId, step: &str, text: &str) {
    let body = Some(BodyText { hash: text.to_owned(), tied: None });
    let options = StepOptions { retry: RetryPolicy::once(), body, ..StepOptions::default() };
    s.door.step(scope, name(step), options).expect("the step is taken");
}

#[test]
fn the_innermost_failed_step_and_the_steps_in_it_are_done_again_with_their_new_text() {
    let play = |text: &'static str| {
        move || {
            Play::new(|s| s.step(s.run(), "a", RetryPolicy::once()))
                .then(move |s| asks_step(s, s.body(), "bad", text))
                .then(move |s| asks_step(s, s.body(), "fine", text))
                .then(move |s| s.ask(s.body(), shell(text)))
                .then(|s| s.returns(s.body()))
                .then(|s| s.throws(s.scope(2), error("no luck")))
                .then(|s| s.throws(s.scope(1), error("no luck")))
                .then(|s| s.throws(s.run(), error("no luck")))
        }
    };
    let inside = |text: &str| format!("/a#1@1/bad#1@1/fine#1@1/shell:{text}#1");
    let mut bench = Bench::start(play("old")());
    bench.go(1, vec![ended(&inside("old"), 1, Value::Null)]);
    assert_eq!(bench.failure(), &error("no luck"));
    keeps_and_repeats(&bench.log, play("new"), &[], &[&inside("new")]);
}

#[test]
fn another_source_under_which_the_failed_step_fails_at_once_is_refused() {
    let twice = RetryPolicy { max_attempts: 2, ..thrice() };
    let first = Play::new(move |s| s.step(s.run(), "a", twice));
    let attempt = |play: Play| {
        play.then(|s| s.ask(s.body(), shell("x"))).then(|s| s.throws(s.body(), error("no luck")))
    };
    let old = attempt(attempt(first)).then(|s| s.throws(s.run(), error("no luck")));
    let mut bench = Bench::start(old);
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    bench.go(101, vec![retry_timer("/a#1@1")]);
    bench.go(102, vec![ended("/a#1@2/shell:x#1", 1, Value::Null)]);
    assert_eq!(bench.failure(), &error("no luck"));
    // Its first attempt had failed before, but that is not kept.
    let throws = move || {
        Play::new(move |s| s.step(s.run(), "a", twice)).then(|s| s.throws(s.body(), error("typo")))
    };
    let other = RunStarted { definition: "another".to_owned(), ..start() };
    let refused = retried_as(other, &bench.log, throws);
    assert_eq!(refused.unwrap_err(), RebaseError::Fails(error("typo")));
}
