//! Scopes that close while answers are on their way: code that has not noticed learns of it at its next call.

use agentos_core::bounds;
use agentos_core::effect::Timer;
use agentos_core::entry::{Entry, RunOutcome, StepOutcome};
use agentos_core::program::ScopeId;
use agentos_core::turn::LogLevel;
use agentos_core::value::Value;

use crate::support::bench::{Bench, cancel, ended, grace_timer, stopped};
use crate::support::fact::{error, scope, thrice};
use crate::support::play::{Play, Stage, shell};

/// Asks for work, which is refused if it has not noticed, and then cleans up.
fn asks_twice(s: &mut Stage<'_, '_>, scope: ScopeId) {
    s.ask(scope, shell("work"));
    s.ask(scope, shell("clean"));
}

fn performing(bench: &Bench) -> Vec<&str> {
    bench.execution.performing().map(|(id, _)| id.as_str()).collect()
}

/// A step that ends with the first of its answers.
fn race() -> Play {
    Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| {
            s.ask(s.body(), shell("x"));
            s.ask(s.body(), shell("y"));
            s.ask(s.body(), shell("z"));
        })
        .then(|s| s.returns(s.body()))
}

fn two_answers_at_once(play: Play) -> Bench {
    let mut bench = Bench::start(play);
    let answer = |id: &str| ended(&format!("/a#1@1/shell:{id}#1"), 1, Value::Null);
    bench.go(1, vec![answer("x"), answer("y")]);
    bench
}

fn is_refused_once(bench: &Bench) {
    let notes = bench.notes();
    assert!(matches!(notes[..], [note] if note.starts_with("refused Cancelled")), "{notes:?}");
}

#[test]
fn a_loser_whose_answer_was_there_when_its_scope_closed_is_told_at_its_next_call() {
    let bench = two_answers_at_once(race().then(|s| asks_twice(s, s.body())));
    is_refused_once(&bench);
    assert_eq!(performing(&bench), ["/a#1@1/shell:z#1", "/a#1@1/shell:clean#1"]);
}

#[test]
fn a_loser_that_asks_for_nothing_then_leaves_nothing_to_be_refused_later() {
    let mut bench =
        two_answers_at_once(race().then(|_| {}).then(|s| s.ask(s.body(), shell("clean"))));
    // This one was stopped, and knows.
    bench.go(2, vec![stopped("/a#1@1/shell:z#1", 1)]);
    assert_eq!(bench.notes(), Vec::<&str>::new());
    assert_eq!(performing(&bench), ["/a#1@1/shell:clean#1"]);
}

#[test]
fn a_body_that_begins_after_its_run_was_cancelled_is_told_at_its_first_call() {
    let play = Play::new(|s| s.ask(s.run(), shell("x")))
        .then(|s| s.step(s.run(), "a", thrice()))
        .then(|s| asks_twice(s, s.body()));
    let mut bench = Bench::start(play);
    bench.go(1, vec![ended("/shell:x#1", 1, Value::Null), cancel("k")]);
    is_refused_once(&bench);
    assert_eq!(performing(&bench), ["/a#1@1/shell:clean#1"]);
}

#[test]
fn an_answer_within_a_step_that_came_in_with_the_cancellation_is_told_too() {
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| asks_twice(s, s.body()));
    let mut bench = Bench::start(play);
    bench.go(1, vec![cancel("k"), ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    is_refused_once(&bench);
    assert_eq!(performing(&bench), ["/a#1@1/shell:clean#1"]);
}

#[test]
fn code_that_is_told_by_the_end_of_a_cancelled_step_may_clean_up_at_once() {
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.throws(s.body(), error("no luck")))
        .then(|s| s.ask(s.run(), shell("clean")));
    let mut bench = Bench::start(play);
    bench.go(1, vec![cancel("k")]);
    assert_eq!(bench.notes(), Vec::<&str>::new());
    assert_eq!(performing(&bench), ["/shell:clean#1"]);
}

/// A step `o` that is over while the step `slow` within it, which may take 500, is not.
fn leaves_slow(last: impl FnOnce(&mut Stage<'_, '_>) + 'static) -> Bench {
    let play = Play::new(|s| s.step(s.run(), "o", thrice()))
        .then(|s| {
            s.step_within(s.body(), "slow", 500);
            s.ask(s.body(), shell("quick"));
        })
        .then(|s| s.ask(s.body(), shell("x")))
        .then(|s| s.returns(s.scope(1)))
        .then(last)
        .then(|_| {})
        .then(|s| s.ask(s.run(), shell("z")));
    let mut bench = Bench::start(play);
    bench.go(1, vec![ended("/o#1@1/shell:quick#1", 1, Value::Null)]);
    bench.go(2, vec![stopped("/o#1@1/slow#1@1/shell:x#1", 1)]);
    bench
}

#[test]
fn a_step_that_was_left_behind_ends_as_cancelled_whatever_its_body_does_and_has_no_timer_left() {
    for bench in [leaves_slow(|s| s.returns(s.scope(2))), leaves_slow(|_| {})] {
        let outcome = bench.turn.chunk.entries.iter().find_map(|entry| match entry {
            Entry::StepEnded { step, outcome } if step.as_str() == "/o#1@1/slow#1" => Some(outcome),
            _ => None,
        });
        assert_eq!(outcome, Some(&StepOutcome::Cancelled {}));
        assert_eq!(performing(&bench), ["/shell:z#1"]);
        assert_eq!(bench.execution.timers().count(), 0);
    }
}

#[test]
fn a_cancelled_run_that_does_nothing_more_ends_with_its_grace() {
    let mut bench = Bench::start(Play::new(|s| s.ask(s.run(), shell("x"))));
    bench.go(1, vec![cancel("k")]);
    bench.go(2, vec![stopped("/shell:x#1", 1)]);
    assert_eq!(bench.outcome(), None);
    bench.go(1_001, vec![grace_timer("")]);
    assert_eq!(bench.outcome(), Some(&RunOutcome::Cancelled { failure: None }));
    assert!(!bench.kinds().contains(&"run.failing"), "{:?}", bench.kinds());
}

#[test]
fn a_grace_that_is_over_is_over_in_every_execution() {
    let play = || Play::new(|s| s.ask(s.run(), shell("x")));
    let mut bench = Bench::start(play());
    bench.go(1, vec![cancel("k")]);
    let timers: Vec<&Timer> = bench.execution.timers().map(|(_, timer)| timer).collect();
    assert_eq!(timers, [&Timer::Grace(scope(""))]);
    bench.go(1_001, vec![grace_timer("")]);
    assert_eq!(bench.turn.effects, [], "it is being stopped already");
    let again = Bench::resume(bench.log, play());
    assert_eq!(again.execution.timers().count(), 0);
}

#[test]
fn a_run_that_has_met_a_bound_may_not_clean_up() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        for _ in 0..bounds::DRAIN_REQUESTS {
            s.door.log(s.run(), LogLevel::Info, String::new());
        }
    })
    .then(|s| s.ask(s.run(), shell("clean")));
    let mut bench = Bench::start(play);
    let grace = bench.turn.chunk.entries.iter().find_map(|entry| match entry {
        Entry::ScopeClosing(closing) => Some(closing.grace_until),
        _ => None,
    });
    assert_eq!(grace, Some(None));
    bench.go(1, vec![stopped("/shell:x#1", 1)]);
    let notes = bench.notes();
    assert!(matches!(notes[..], [note] if note.starts_with("refused Closed")), "{notes:?}");
    assert!(bench.turn.standing.is_ended());
}
