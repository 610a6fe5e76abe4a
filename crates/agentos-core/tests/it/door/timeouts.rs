//! What takes too long: attempts, active runs, and runs whose deadline comes.

use agentos_core::bounds;
use agentos_core::effect::{Happening, Timer};
use agentos_core::entry::{Entry, RunOutcome, RunStarted};
use agentos_core::execution::{Execution, Options};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::{Millis, Timestamp};
use agentos_core::turn::Turn;
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{Bench, attempt_timer, cancel, ended, retry_timer, stopped, timer};
use crate::support::fact::{error, run_started, scope, start, switched};
use crate::support::log::Log;
use crate::support::play::{Play, shell, sleep, wait};

fn timers(bench: &Bench) -> Vec<(i64, Timer)> {
    bench.execution.timers().map(|(due, timer)| (due.0, timer.clone())).collect()
}

fn too_long(message: &str) -> Failure {
    Failure::new(FailureKind::Timeout, message)
}

/// A step whose attempts may take 50.
fn hurries() -> Play {
    Play::new(|s| s.step_within(s.run(), "a", 50))
}

#[test]
fn an_attempt_that_takes_too_long_fails_and_is_tried_again() {
    let play = hurries().then(|s| s.ask(s.body(), shell("x"))).then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    assert_eq!(timers(&bench), [(50, Timer::Attempt(scope("/a#1@1")))]);
    assert!(bench.go(49, vec![attempt_timer("/a#1@1")]).is_empty());
    bench.go(50, vec![attempt_timer("/a#1@1")]);
    assert_eq!(bench.kinds(), ["attempt.timed_out", "scope.closing", "operation.cancel_ordered"]);
    bench.go(60, vec![stopped("/a#1@1/shell:x#1", 1)]);
    assert_eq!(bench.kinds(), ["operation.ended", "attempt.failed"]);
    bench.go(160, vec![retry_timer("/a#1@1")]);
    assert_eq!(bench.kinds(), ["attempt.started"]);
    // Its own clock begins with its own body.
    assert_eq!(timers(&bench), [(210, Timer::Attempt(scope("/a#1@2")))]);
}

#[test]
fn the_last_attempt_that_takes_too_long_fails_the_step() {
    let mut bench =
        Bench::start(hurries().then(|_| {}).then(|_| {}).then(|_| {}).then(|s| s.note_delivery()));
    for attempt in 1..=3 {
        let path = format!("/a#1@{attempt}");
        let at = timers(&bench)[0].0;
        bench.go(at, vec![attempt_timer(&path)]);
        let at = timers(&bench).first().map_or(at, |(due, _)| *due);
        bench.go(at, vec![retry_timer(&path)]);
    }
    assert_eq!(bench.notes(), ["/a#1 ! Timeout: the attempt took too long"]);
}

#[test]
fn an_attempt_that_ends_in_time_has_no_timer_left() {
    let play = hurries()
        .then(|s| {
            s.ask(s.body(), shell("x"));
            s.throws(s.body(), error("no luck"));
        })
        .then(|_| {});
    let mut bench = Bench::start(play);
    let attempts = |bench: &Bench| {
        timers(bench).iter().filter(|(_, timer)| matches!(timer, Timer::Attempt(_))).count()
    };
    // Its body is over; what is left of it has its grace.
    assert_eq!(attempts(&bench), 0);
    assert!(bench.go(50, vec![attempt_timer("/a#1@1")]).is_empty());
    bench.go(60, vec![stopped("/a#1@1/shell:x#1", 1)]);
    assert_eq!(bench.kinds(), ["operation.ended", "attempt.failed"]);
}

#[test]
fn a_timeout_is_executed_again_as_it_was() {
    let play = || hurries().then(|s| s.ask(s.body(), shell("x")));
    let mut bench = Bench::start(play());
    let again = Bench::resume(bench.log.clone(), play());
    assert_eq!(timers(&again), timers(&bench));
    bench.go(50, vec![attempt_timer("/a#1@1")]);
    let again = Bench::resume(bench.log.clone(), play());
    assert!(again.turn.is_empty());
    assert_eq!(timers(&again), timers(&bench));
}

fn run_with(timeout_ms: Option<u64>, deadline: Option<i64>, play: Play) -> Bench {
    let first = Entry::RunStarted(RunStarted {
        timeout_ms: timeout_ms.map(Millis::new),
        deadline: deadline.map(Timestamp),
        ..start()
    });
    Bench::resume(Log::empty().with(first), play)
}

#[test]
fn a_run_that_is_active_for_too_long_times_out() {
    let play = Play::new(|s| s.ask(s.run(), shell("x")));
    let mut bench = run_with(Some(100), None, play);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: Some(Timestamp(100)) });
    bench.go(100, vec![Happening::Timer(Timer::Run)]);
    assert_eq!(bench.kinds(), ["run.failing", "scope.closing", "operation.cancel_ordered"]);
    bench.go(110, vec![stopped("/shell:x#1", 1)]);
    let failure = too_long("the run was active for too long");
    assert_eq!(bench.outcome(), Some(&RunOutcome::TimedOut { failure }));
    assert_eq!(bench.turn.standing, Standing::Ended { status: EndStatus::TimedOut });
}

#[test]
fn a_run_that_waits_is_not_active() {
    let play = Play::new(|s| s.ask(s.run(), shell("x")))
        .then(|s| {
            s.ask(s.run(), sleep("x", 10_000));
            s.ask(s.run(), wait("go"));
        })
        .then(|s| s.ask(s.run(), shell("y")));
    let mut bench = run_with(Some(100), None, play);
    bench.go(60, vec![ended("/shell:x#1", 1, json!(1))]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(10_060)) });
    assert!(bench.go(500, vec![Happening::Timer(Timer::Run)]).is_empty());
    bench.go(10_060, vec![timer("/sleep:x#1")]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: Some(Timestamp(10_100)) });
}

#[test]
fn a_run_whose_deadline_has_come_times_out_whatever_it_does() {
    let mut bench = run_with(None, Some(70), Play::new(|s| s.ask(s.run(), wait("go"))));
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(70)) });
    assert!(bench.go(69, vec![Happening::Timer(Timer::Deadline)]).is_empty());
    bench.go(75, vec![Happening::Timer(Timer::Deadline)]);
    let failure = too_long("the run's deadline has come");
    assert_eq!(bench.outcome(), Some(&RunOutcome::TimedOut { failure }));
}

#[test]
fn a_run_that_ended_in_time_has_no_timers() {
    let mut bench = run_with(Some(9), Some(9), Play::new(|s| s.returns(s.run())));
    assert_eq!(timers(&bench), []);
    assert!(bench.go(9, vec![Happening::Timer(Timer::Deadline)]).is_empty());
}

#[test]
fn a_cancelled_run_that_times_out_while_it_cleans_up_was_cancelled() {
    let play = Play::new(|s| s.ask(s.run(), wait("go"))).then(|s| s.ask(s.run(), shell("clean")));
    let mut bench = run_with(None, Some(70), play);
    bench.go(10, vec![cancel("k")]);
    bench.go(70, vec![Happening::Timer(Timer::Deadline)]);
    bench.go(80, vec![stopped("/shell:clean#1", 1)]);
    let failure = Some(too_long("the run's deadline has come"));
    assert_eq!(bench.outcome(), Some(&RunOutcome::Cancelled { failure }));
}

#[test]
fn time_in_which_nobody_drove_the_run_does_not_count() {
    let away = bounds::AWAY_MS;
    let play = hurries().then(|s| s.ask(s.body(), shell("x")));
    let mut bench = run_with(Some(100), None, play);
    assert!(bench.go(away - 1, vec![Happening::Resumed]).is_empty());
    bench.go(away, vec![Happening::Resumed]);
    assert_eq!(bench.kinds(), ["run.resumed"]);
    assert_eq!(
        timers(&bench),
        [(away + 50, Timer::Attempt(scope("/a#1@1"))), (away + 100, Timer::Run)]
    );
}

#[test]
fn a_deadline_does_not_wait_for_anybody() {
    let away = bounds::AWAY_MS;
    let play = Play::new(|s| s.ask(s.run(), wait("go")));
    let mut bench = run_with(None, Some(70), play);
    bench.go(away, vec![Happening::Resumed, Happening::Timer(Timer::Deadline)]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::TimedOut { .. })));
}

#[test]
fn nothing_is_resumed_before_the_start_or_after_the_end() {
    let mut over = Bench::start(Play::new(|s| s.returns(s.run())));
    assert!(over.go(bounds::AWAY_MS, vec![Happening::Resumed]).is_empty());
    let mut unborn = Bench::resume(Log::empty(), Play::default());
    assert!(unborn.go(bounds::AWAY_MS, vec![Happening::Resumed]).is_empty());
}

#[test]
fn only_the_timers_of_a_run_say_how_it_fails() {
    assert_eq!(Timer::Run.failure(), Some(too_long("the run was active for too long")));
    assert_eq!(Timer::Deadline.failure(), Some(too_long("the run's deadline has come")));
    assert_eq!(Timer::Grace(scope("")).failure(), None);
}

/// What a turn says that takes a run up at this time.
fn taken_up(log: &Log, at: i64, options: Options) -> Vec<&'static str> {
    let play = Play::new(|s| s.ask(s.run(), shell("x")));
    let taken = Execution::replay(play, log.journal(), options, Timestamp(at));
    let (_, turn) = taken.expect("the program goes with its log");
    turn.chunk.entries.iter().map(Entry::kind).collect()
}

#[test]
fn a_run_that_is_taken_up_late_says_so_unless_it_needed_nobody_or_has_not_begun() {
    let late = bounds::AWAY_MS;
    let begun = Bench::start(Play::new(|s| s.ask(s.run(), shell("x")))).log;
    let nothing = Vec::<&str>::new();
    assert_eq!(taken_up(&begun, late, Options::default()), ["run.resumed"]);
    assert_eq!(taken_up(&begun, late - 1, Options::default()), nothing);
    let parked = Options { was_parked: true, ..Options::default() };
    assert_eq!(taken_up(&begun, late, parked), nothing);
    assert_eq!(taken_up(&Log::started(), late, Options::default()), ["operation.ordered"]);
    let moved = begun.with_all([switched(&["/shell:x#1"]), run_started()]);
    assert_eq!(taken_up(&moved, late, Options::default()), ["operation.ordered"]);
}

#[test]
fn having_been_away_takes_no_room_in_a_turn() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("y"));
        })
        .then(|s| s.ask(s.run(), shell("after-x")))
        .then(|s| s.ask(s.run(), shell("after-y")))
    };
    let mut bench = Bench::start(play());
    let both = ["/shell:x#1", "/shell:y#1"].map(|id| ended(id, 1, Value::Null));
    bench.go(1, both.to_vec());
    // The turn was cut behind the answers.
    let log = bench.log.cut(5);
    let kinds = |turn: &Turn| turn.chunk.entries.iter().map(Entry::kind).collect::<Vec<_>>();
    let replay = |turn_entries| {
        let options = Options { turn_entries, ..Options::default() };
        let late = Timestamp(1 + bounds::AWAY_MS);
        Execution::replay(play(), log.journal(), options, late).expect("it goes with its log")
    };
    let (mut execution, turn) = replay(1);
    assert_eq!((kinds(&turn), turn.more), (vec!["run.resumed", "operation.ordered"], true));
    let turn = execution.advance(Vec::new(), turn.chunk.at).expect("the rest");
    assert_eq!((kinds(&turn), turn.more), (vec!["operation.ordered"], true));
    let (_, turn) = replay(0);
    assert_eq!(kinds(&turn), ["run.resumed", "operation.ordered"], "no turn is too small for work");
}
