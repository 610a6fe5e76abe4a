//! The bodies of finished steps: kept over several moves, executed or played when they are asked for, and their back-offs.

use agentos_core::effect::Timer;
use agentos_core::entry::Entry;
use agentos_core::program::StepOptions;
use agentos_core::rebase::{Rebased, switch};
use agentos_core::source::BodyText;
use agentos_core::time::Timestamp;
use agentos_core::value::Value;

use crate::support::bench::{Bench, ended, retry_timer};
use crate::support::fact::{error, name, scope, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, shell};

const LATER: i64 = 50_000;

fn switched(log: &Log, now: i64, play: impl Fn() -> Play) -> Rebased {
    let rebased = switch(log.records(), "new".to_owned(), Timestamp(now), play);
    rebased.expect("it can be switched")
}

/// The log of a run with what a switch adds to it.
fn moved(log: &Log, now: i64, play: impl Fn() -> Play) -> Log {
    let mut moved = log.clone();
    switched(log, now, play).chunks.into_iter().for_each(|chunk| moved.extend(chunk));
    moved
}

/// A step whose body is of this text.
fn asks_step(s: &mut Stage<'_, '_>, step: &str, text: &str) {
    let body = Some(BodyText { hash: text.to_owned(), tied: None });
    let options = StepOptions { retry: thrice(), body, ..StepOptions::default() };
    s.door.step(s.run(), name(step), options).expect("the step is taken");
}

/// Asks for a step, whose body has a command in it.
fn with_step(play: Play, step: &'static str, text: &'static str) -> Play {
    play.then(move |s| asks_step(s, step, text))
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.returns(s.body()))
}

fn goes_on(play: Play) -> Play {
    play.then(|s| {
        s.note_delivery();
        s.ask(s.run(), shell("z"));
    })
}

/// A run in which the step `a` has finished.
fn a_is_finished() -> Log {
    let mut bench = Bench::start(goes_on(with_step(Play::default(), "a", "old")));
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    assert_eq!(bench.notes(), ["/a#1 = null"]);
    bench.log
}

#[test]
fn a_kept_body_is_executed_if_it_still_says_the_same_when_it_is_asked_for() {
    let asks_later = |text: &'static str| {
        move || {
            Play::new(|s| s.ask(s.run(), shell("other")))
                .then(move |s| asks_step(s, "a", text))
                .then(|s| {
                    s.note_delivery();
                    s.ask(s.body(), shell("x"));
                })
                .then(|s| s.returns(s.body()))
        }
    };
    for (text, notes) in [("old", "body /a#1@1"), ("new", "/a#1 = null")] {
        let log = moved(&a_is_finished(), LATER, asks_later(text));
        let mut bench = Bench::resume(log, asks_later(text)());
        bench.go(LATER + 1, vec![ended("/shell:other#1", 1, Value::Null)]);
        assert_eq!(bench.notes(), [notes]);
    }
}

#[test]
fn a_body_is_kept_over_several_moves_also_when_other_steps_have_finished_since() {
    let other = || goes_on(with_step(Play::default(), "b", "b"));
    let mut bench = Bench::resume(moved(&a_is_finished(), LATER, other), other());
    bench.go(LATER + 1, vec![ended("/b#1@1/shell:x#1", 1, Value::Null)]);
    assert_eq!(bench.notes(), ["/b#1 = null"]);
    let both = || goes_on(with_step(Play::default(), "b", "b").then(|s| asks_step(s, "a", "new")));
    let again = Bench::resume(moved(&bench.log, 2 * LATER, both), both());
    assert_eq!(again.notes(), ["/a#1 = null"], "it is played");
}

#[test]
fn a_finished_step_is_played_that_the_new_source_only_comes_to_with_answers_from_the_start() {
    let old = Play::new(|s| {
        s.ask(s.run(), shell("first"));
        s.ask(s.run(), shell("second"));
    });
    let mut bench = Bench::start(goes_on(with_step(old, "a", "old")));
    bench.go(1, vec![ended("/shell:second#1", 1, Value::Null)]);
    bench.go(2, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    bench.go(3, vec![ended("/shell:first#1", 1, Value::Null)]);
    // One after the other: the second answer came before it is asked for now.
    let in_turn = || {
        goes_on(
            Play::new(|s| s.ask(s.run(), shell("first")))
                .then(|s| s.ask(s.run(), shell("second")))
                .then(|s| asks_step(s, "a", "new")),
        )
    };
    let again = Bench::resume(moved(&bench.log, LATER, in_turn), in_turn());
    assert_eq!(again.notes(), ["/a#1 = null"]);
}

/// A run in which `a` has finished with its second attempt, and `b` has failed once and waits for its back-off until 295.
fn with_back_offs() -> Log {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("late"));
        asks_step(s, "a", "old");
        asks_step(s, "b", "same");
    })
    .then(|s| s.ask(s.body(), shell("x")))
    .then(|s| s.ask(s.body(), shell("x")))
    .then(|s| s.throws(s.scope(1), error("no luck")))
    .then(|s| s.ask(s.body(), shell("x")))
    .then(|s| s.returns(s.scope(3)))
    .then(|_| {})
    .then(|s| s.throws(s.scope(2), error("no luck")));
    let mut bench = Bench::start(play);
    bench.go(10, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    bench.go(110, vec![retry_timer("/a#1@1")]);
    bench.go(120, vec![ended("/a#1@2/shell:x#1", 1, Value::Null)]);
    bench.go(195, vec![ended("/b#1@1/shell:x#1", 1, Value::Null)]);
    bench.go(200, vec![ended("/shell:late#1", 1, Value::Null)]);
    bench.log
}

/// The same, but it asks for `a` after `late`, at 200: its first attempt fails again, and its back-off ends at 300.
fn asks_for_a_late() -> Play {
    Play::new(|s| {
        s.ask(s.run(), shell("late"));
        asks_step(s, "b", "same");
    })
    .then(|s| s.ask(s.body(), shell("x")))
    .then(|s| s.throws(s.body(), error("no luck")))
    .then(|s| asks_step(s, "a", "new"))
    .then(|s| s.note_delivery())
}

fn attempts(rebased: &Rebased) -> Vec<&str> {
    let entries = rebased.chunks.iter().flat_map(|chunk| &chunk.entries);
    let begun = entries.filter_map(|entry| match entry {
        Entry::AttemptStarted { scope, .. } => Some(scope.as_str()),
        _ => None,
    });
    begun.collect()
}

#[test]
fn the_back_offs_of_a_played_body_are_over_when_their_time_has_come_and_no_others() {
    let log = with_back_offs();
    for now in [300, LATER] {
        let rebased = switched(&log, now, asks_for_a_late);
        assert_eq!(attempts(&rebased), ["/b#1@1", "/a#1@1", "/a#1@2"], "at {now}");
        let bench = Bench::resume(moved(&log, now, asks_for_a_late), asks_for_a_late());
        assert_eq!(bench.notes(), ["/a#1 = null"]);
    }
}

#[test]
fn a_played_body_whose_back_off_is_not_over_waits_for_it() {
    let log = with_back_offs();
    assert_eq!(attempts(&switched(&log, 299, asks_for_a_late)), ["/b#1@1", "/a#1@1"]);
    let mut bench = Bench::resume(moved(&log, 299, asks_for_a_late), asks_for_a_late());
    let timers: Vec<_> = bench.execution.timers().collect();
    let retry = |path: &str| Timer::Retry(scope(path));
    assert_eq!(timers, [(Timestamp(295), &retry("/b#1@1")), (Timestamp(300), &retry("/a#1@1"))]);
    bench.go(300, vec![retry_timer("/a#1@1")]);
    assert_eq!(bench.notes(), ["/a#1 = null"]);
}
