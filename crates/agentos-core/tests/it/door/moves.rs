//! A recorded run under another program: what the switch tells, refuses, and starts again.

use agentos_core::codec::Chunk;
use agentos_core::effect::{Effect, Timer};
use agentos_core::entry::{AnswerTimes, Entry, OperationResult, Record, RunStarted};
use agentos_core::failure::Failure;
use agentos_core::id::Try;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::{BodyOutcome, StepOptions};
use agentos_core::rebase::{
    Destination, Keep, Names, Notice, Rebase, RebaseError, Rebased, switch,
};
use agentos_core::source::{BodyText, Site};
use agentos_core::standing::Standing;
use agentos_core::time::{Millis, Timestamp};
use agentos_core::turn::LogLevel;
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{Bench, ended, stopped};
use crate::support::fact::{error, name, op, run, scope, start, step, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, shell, shell_with, sleep};

const DAY: i64 = 24 * 60 * 60 * 1_000;

fn switched(log: &Log, play: impl Fn() -> Play) -> Result<Rebased, RebaseError> {
    switch(log.records(), "new".to_owned(), Timestamp(DAY), play)
}

fn forked(log: &Log, names: [Names; 2], play: impl Fn() -> Play) -> Result<Rebased, RebaseError> {
    let [old_names, new_names] = names;
    let rebase = Rebase {
        log: log.records(),
        start: RunStarted { run: run(7), forked_from: Some(start().run), ..start() },
        keep: Keep::BeforeStep(agentos_core::id::StepNumber(2)),
        now: Timestamp(DAY),
        into: Destination::NewRun,
        old_names,
        new_names,
    };
    rebase.run(play)
}

/// The log of a run with what a switch added to it.
fn moved(log: &Log, rebased: Rebased) -> Log {
    let mut log = log.clone();
    rebased.chunks.into_iter().for_each(|chunk| log.extend(chunk));
    log
}

fn entries(rebased: &Rebased) -> Vec<&Entry> {
    rebased.chunks.iter().flat_map(|chunk| &chunk.entries).collect()
}

fn due_of(rebased: &Rebased, id: &str) -> Option<Timestamp> {
    entries(rebased).into_iter().find_map(|entry| match entry {
        Entry::OperationOrdered { operation, due, .. } if operation.as_str() == id => *due,
        _ => None,
    })
}

/// First a command, then a nap.
fn nap() -> Play {
    Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.ask(s.run(), sleep("nap", 1_000)))
}

/// A log in which the nap has begun, at 5.
fn napping() -> Log {
    let mut bench = Bench::start(nap());
    bench.go(5, vec![ended("/shell:x#1", 1, Value::Null)]);
    bench.log
}

#[test]
fn what_a_fork_asks_for_beyond_its_history_is_asked_for_now() {
    let rebased = forked(&napping(), Default::default(), nap).expect("a fork");
    assert_eq!(due_of(&rebased, "/sleep:nap#1"), Some(Timestamp(DAY + 1_000)));
    let away_ms = Millis::new(u64::try_from(DAY - 5).unwrap());
    assert_eq!(entries(&rebased).last(), Some(&&Entry::RunRebased { away_ms }));
}

#[test]
fn a_run_that_ends_over_recorded_answers_ends_now() {
    let returns = || {
        Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| {
            s.note("the answer");
            s.returns(s.run());
        })
    };
    for rebased in [
        forked(&napping(), Default::default(), returns).expect("a fork"),
        switched(&napping(), returns).expect("a switch"),
    ] {
        assert!(matches!(rebased.standing, Standing::Ended { .. }), "{:?}", rebased.standing);
        let end = rebased.chunks.last().expect("an end");
        assert_eq!((end.at, end.entries.len()), (Timestamp(DAY), 1));
        // What was answered keeps its time, and the end says what led to it.
        let records: Vec<Record> =
            rebased.chunks.into_iter().flat_map(Chunk::into_records).collect();
        let answer =
            records.iter().find(|record| matches!(record.entry, Entry::OperationEnded { .. }));
        let answer = answer.expect("the answer");
        assert_eq!(answer.at, Timestamp(5));
        assert_eq!(records.last().and_then(|end| end.by), Some(answer.seq));
    }
}

#[test]
fn what_a_moved_run_had_asked_for_keeps_its_time() {
    let rebased = switched(&napping(), nap).expect("a switch");
    assert_eq!(due_of(&rebased, "/sleep:nap#1"), Some(Timestamp(1_005)));
    assert_eq!(rebased.standing, Standing::Parked { wake_at: Some(Timestamp(1_005)) });
    // It rested, so nobody was missing.
    assert_eq!(entries(&rebased).last(), Some(&&Entry::RunRebased { away_ms: Millis::ZERO }));
}

/// The answers that a new log is given at its beginning, with their times.
fn kept(rebased: &Rebased) -> Vec<(&str, Option<AnswerTimes>)> {
    let kept = entries(rebased).into_iter().filter_map(|entry| match entry {
        Entry::AnswersKept { answers } => Some(answers),
        _ => None,
    });
    kept.flatten().map(|kept| (kept.operation.as_str(), kept.times)).collect()
}

#[test]
fn an_answer_that_is_kept_says_when_it_came_in_however_often_the_run_is_moved() {
    let other = || Play::new(|s| s.ask(s.run(), sleep("other", 1_000)));
    let log = napping();
    let asked = |record: &&Record| matches!(record.entry, Entry::OperationOrdered { .. });
    let asked_at = log.records().iter().find(asked).expect("the command").at;
    let known = Some(AnswerTimes { asked_at, answered_at: Timestamp(5) });
    let without = switched(&log, other).expect("a switch");
    assert_eq!(kept(&without), [("/shell:x#1", known)]);
    // The log has it at another time then.
    let back = switched(&moved(&log, without.clone()), nap).expect("a switch");
    assert_eq!(kept(&back), [("/shell:x#1", known)]);
    let log = moved(&moved(&log, without), back);
    let fork = forked(&log, Default::default(), nap).expect("a fork");
    assert_eq!(kept(&fork), [("/shell:x#1", known)]);
    let again = switched(&log, other).expect("a switch");
    assert_eq!(kept(&again), [("/shell:x#1", known)]);
}

#[test]
fn the_time_until_a_fork_does_not_count_for_the_timeouts_of_steps() {
    let play = || {
        Play::new(|s| s.step_within(s.run(), "a", 100))
            .then(|s| s.ask(s.body(), shell("x")))
            .then(|s| s.step(s.body(), "b", thrice()))
            .then(|s| s.ask(s.body(), shell("y")))
    };
    let mut bench = Bench::start(play());
    bench.go(40, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    let rebased = forked(&bench.log, Default::default(), play).expect("a fork");
    let bench = Bench::resume(moved(&Log::empty(), rebased), play());
    let timers: Vec<(Timestamp, &Timer)> = bench.execution.timers().collect();
    // It had 60 of its 100 left at 40, where the history ends.
    assert_eq!(timers, [(Timestamp(DAY + 60), &Timer::Attempt(scope("/a#1@1")))]);
}

fn asks_at(directory: &'static str) -> impl Fn() -> Play {
    move || {
        Play::new(move |s| {
            s.ask(s.run(), shell_with("x", json!({ "cwd": format!("{directory}/src") })));
        })
        .then(|s| s.ask(s.run(), shell("y")))
    }
}

#[test]
fn a_fork_that_names_its_own_places_asks_for_the_same_thing() {
    let mut bench = Bench::start(asks_at("/w/old")());
    bench.go(5, vec![ended("/shell:x#1", 1, json!("done"))]);
    let names = |place: &str| Names::default().with(place, "{workspace}");
    let same = forked(&bench.log, [names("/w/old"), names("/w/new")], asks_at("/w/new"));
    assert_eq!(same.expect("a fork").notices, []);
    let other = forked(&bench.log, Default::default(), asks_at("/w/new")).expect("a fork");
    let changed = Notice::ChangedArguments {
        operation: op("/shell:x#1"),
        recorded: json!({ "cwd": "/w/old/src" }),
        asked: json!({ "cwd": "/w/new/src" }),
    };
    assert_eq!(other.notices, [changed]);
    // The answer is kept all the same.
    let answered = |entry: &&Entry| matches!(entry, Entry::OperationEnded { result: OperationResult::Ok { value }, .. } if *value == json!("done"));
    assert!(entries(&other).iter().any(answered));
}

fn artifact(artifact: &str) -> Request {
    Request::perform(OperationKind::Artifact, name(artifact), json!({})).expect("it is performed")
}

#[test]
fn another_kind_under_the_same_name_is_refused_with_both_lines() {
    let at = |request: Request, line| request.at(Site::new(format!("issue.ts:{line}")));
    let asks = |request: fn() -> Request, line| {
        move || {
            Play::new(move |s| {
                s.ask(s.run(), at(request(), line));
                s.ask(s.run(), shell("long"));
            })
        }
    };
    let open = Bench::start(asks(|| shell("x"), 3)());
    let mut finished = Bench::start(asks(|| shell("x"), 3)());
    finished.go(5, vec![ended("/shell:x#1", 1, Value::Null)]);
    for log in [open.log, finished.log] {
        let error = switched(&log, asks(|| artifact("x"), 8)).expect_err("another kind");
        assert_eq!(
            error.to_string(),
            "`/shell:x#1` (issue.ts:3) is recorded, but the workflow now asks for `/artifact:x#1` (issue.ts:8) in its \
             place; give it another name"
        );
        let as_step = || {
            Play::new(|s| {
                let site = Some(Site::new("issue.ts:9"));
                let options = StepOptions { site, ..StepOptions::default() };
                s.door.step(s.run(), name("x"), options).expect("it is taken");
            })
            .then(|s| s.ask(s.body(), shell("inner")))
        };
        let error = switched(&log, as_step).expect_err("a step").to_string();
        assert!(error.contains("asks for `/x#1` (issue.ts:9) in its place"), "{error}");
    }
}

#[test]
fn what_was_there_beside_it_before_is_no_other_kind() {
    let both = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), artifact("x"));
        })
    };
    let only_one = || Play::new(|s| s.ask(s.run(), artifact("x")));
    let rebased = switched(&Bench::start(both()).log, only_one).expect("it can be switched");
    assert_eq!(rebased.notices, [Notice::Abandoned { operation: op("/shell:x#1") }]);
}

#[test]
fn what_was_stopped_and_is_wanted_after_all_begins_again() {
    // The loser of a race, and then no race any more.
    let race = || {
        Play::new(|s| s.step(s.run(), "a", thrice()))
            .then(|s| {
                s.ask(s.body(), shell("slow"));
                s.ask(s.body(), shell("quick"));
            })
            .then(|s| s.returns(s.body()))
            .then(|_| {})
            .then(|s| s.ask(s.run(), shell("z")))
    };
    let mut bench = Bench::start(race());
    bench.go(3, vec![ended("/a#1@1/shell:quick#1", 1, Value::Null)]);
    bench.go(4, vec![stopped("/a#1@1/shell:slow#1", 1)]);
    let both = || {
        Play::new(|s| s.step(s.run(), "a", thrice()))
            .then(|s| {
                s.ask(s.body(), shell("slow"));
                s.ask(s.body(), shell("quick"));
            })
            .then(|s| s.note_delivery())
            .then(|s| s.note_delivery())
    };
    let rebased = switched(&bench.log, both).expect("it can be switched");
    let mut bench = Bench::resume(moved(&bench.log, rebased), both());
    assert_eq!(bench.notes(), ["/a#1@1/shell:quick#1 = null"], "nobody was cancelled");
    let perform = |effect: &Effect| match effect {
        Effect::Perform { operation, r#try, .. } => Some((operation.to_string(), *r#try)),
        Effect::Stop { .. } => None,
    };
    // Its first try is known to be dead; `z` is not asked for any more.
    let performed: Vec<_> = bench.turn.effects.iter().filter_map(perform).collect();
    assert_eq!(performed, [("/a#1@1/shell:slow#1".to_owned(), Try(2))]);
    bench.go(DAY + 1, vec![ended("/a#1@1/shell:slow#1", 2, json!(5))]);
    assert_eq!(bench.notes().last(), Some(&"/a#1@1/shell:slow#1 = 5"));
}

/// A step whose body is of this text.
fn asks_step(s: &mut Stage<'_, '_>, text: &str) {
    let body = Some(BodyText { hash: text.to_owned(), tied: None });
    let options = StepOptions { retry: thrice(), body, ..StepOptions::default() };
    s.door.step(s.run(), name("a"), options).expect("the step is taken");
}

#[test]
fn a_changed_body_that_waited_for_what_is_not_asked_for_any_more_stops_the_switch() {
    let play = || {
        Play::new(|s| {
            s.ask(s.run(), shell("outer"));
            asks_step(s, "old");
        })
        .then(|_| {})
        // The body goes on with something that was asked for outside of it.
        .then(|s| s.ask(s.body(), shell("inner")))
        .then(|s| s.returns(s.body()))
        .then(|s| s.ask(s.run(), shell("z")))
    };
    let mut bench = Bench::start(play());
    bench.go(3, vec![ended("/shell:outer#1", 1, Value::Null)]);
    bench.go(4, vec![ended("/a#1@1/shell:inner#1", 1, Value::Null)]);
    let with_outer = || {
        Play::new(|s| {
            s.ask(s.run(), shell("outer"));
            asks_step(s, "new");
        })
        .then(|_| {})
        .then(|s| s.ask(s.run(), shell("z")))
    };
    let rebased = switched(&bench.log, with_outer).expect("it can be switched");
    assert_eq!(rebased.notices, []);
    let without = || {
        Play::new(|s| {
            asks_step(s, "new");
            s.ask(s.run(), shell("long"));
            s.ask(s.run(), sleep("nap", 1_000));
            s.step(s.run(), "other", thrice());
        })
        // What waits for its time or its next attempt elsewhere does not bring the body to its end.
        .then(|s| s.throws(s.body(), error("no luck")))
    };
    let error = switched(&bench.log, without).expect_err("it can't come to its end");
    assert_eq!(error, RebaseError::Orphaned { step: step("/a#1") });
}

#[test]
fn a_run_that_has_ended_is_not_switched() {
    let play = || Play::new(|s| s.returns(s.run()));
    let error = switched(&Bench::start(play()).log, play).expect_err("it is over");
    assert_eq!(error.to_string(), "the run has ended; fork it, or retry it if it failed");
}

#[test]
fn a_program_that_would_wait_for_nothing_is_not_switched_to() {
    let log = napping();
    let stuck = || Play::new(|s| s.ask(s.run(), shell("x"))).then(|_| {});
    let error = switched(&log, stuck).expect_err("nothing could ever happen");
    assert!(
        matches!(&error, RebaseError::Stuck(failure) if failure.message.contains("the run")),
        "{error}"
    );
}

/// Asks for steps of these names, one after the other; the last one goes on for ever.
fn steps(names: &'static [&'static str]) -> impl Fn() -> Play {
    move || {
        let mut play = Play::new(move |s| s.step(s.run(), names[0], thrice()));
        for (nth, _) in names.iter().enumerate() {
            let next = names.get(nth + 1);
            play = play.then(|s| s.ask(s.body(), shell("x"))).then(|s| s.returns(s.body()));
            if let Some(next) = next {
                play = play.then(move |s| s.step(s.run(), next, thrice()));
            }
        }
        play
    }
}

fn numbers(rebased: &Rebased) -> Vec<(&str, u32)> {
    let asked = entries(rebased).into_iter().filter_map(|entry| match entry {
        Entry::StepRequested { step, number, .. } => {
            Some((step.as_str(), number.map_or(0, |number| number.0)))
        }
        _ => None,
    });
    asked.collect()
}

#[test]
fn steps_keep_their_numbers_under_another_source_and_new_ones_take_the_next() {
    let mut bench = Bench::start(steps(&["a", "b", "c"])());
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    bench.go(2, vec![ended("/b#1@1/shell:x#1", 1, Value::Null)]);
    // `b` is called `n` now; `c` comes after it, and is under way.
    let renamed = switched(&bench.log, steps(&["a", "n", "c"])).expect("a switch");
    assert_eq!(numbers(&renamed), [("/a#1", 1), ("/n#1", 4)]);
    let paths = |steps: &[agentos_core::rebase::NumberedStep]| -> Vec<(String, u32)> {
        steps.iter().map(|step| (step.path.clone(), step.number.0)).collect()
    };
    assert_eq!(paths(&renamed.steps.kept), [("/a#1".to_owned(), 1)]);
    assert_eq!(paths(&renamed.steps.superseded), [("/b#1".to_owned(), 2), ("/c#1".to_owned(), 3)]);
    assert_eq!(paths(&renamed.steps.added), [("/n#1".to_owned(), 4)]);
    let mut bench = Bench::resume(moved(&bench.log, renamed), steps(&["a", "n", "c"])());
    bench.go(DAY + 1, vec![stopped("/c#1@1/shell:x#1", 1)]);
    bench.go(DAY + 2, vec![ended("/n#1@1/shell:x#1", 1, Value::Null)]);
    let asked = |entry: &Entry| matches!(entry, Entry::StepRequested { step, number: Some(number), .. } if step.as_str() == "/c#1" && number.0 == 3);
    assert!(bench.turn.chunk.entries.iter().any(asked), "it is found again: {:?}", bench.kinds());
    // What was never heard of since comes back with the number that it had, too.
    let back = switched(&bench.log, steps(&["b", "m"])).expect("a switch");
    assert_eq!(numbers(&back), [("/b#1", 2), ("/m#1", 5)]);
}

#[test]
fn a_source_that_fails_over_what_the_run_has_done_is_refused() {
    let log = napping();
    let throws = || Play::new(|s| s.throws(s.run(), error("boom")));
    let refused = switched(&log, throws).expect_err("it fails at once");
    assert!(
        matches!(&refused, RebaseError::Fails(failure) if failure.message == "boom"),
        "{refused}"
    );
    // What it has left open is to be stopped first; it fails all the same.
    let leaves = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("slow"));
        })
        .then(|s| s.throws(s.run(), error("boom")))
    };
    let refused = switched(&log, leaves).expect_err("it will have failed");
    assert!(matches!(&refused, RebaseError::Fails(_)), "{refused}");
    // A cancellation that it throws by itself is a failure like any other.
    let cancels = || {
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("slow"));
        })
        .then(|s| s.throws(s.run(), Failure::cancelled()))
    };
    let refused = switched(&log, cancels).expect_err("it will have failed");
    assert_eq!(refused, RebaseError::Fails(Failure::cancelled()));
    // An attempt that fails will be tried again, and is not seen to fail before.
    let retries = || {
        Play::new(|s| s.ask(s.run(), shell("x")))
            .then(|s| s.step(s.run(), "a", thrice()))
            .then(|s| s.throws(s.body(), error("boom")))
    };
    let refused = switched(&log, retries).expect_err("its attempt has failed");
    assert!(matches!(&refused, RebaseError::Fails(_)), "{refused}");
}

#[test]
fn an_attempt_that_had_failed_before_may_fail_again_under_another_source() {
    let retries = |name: &'static str| {
        move || {
            Play::new(move |s| s.step(s.run(), "a", thrice()))
                .then(move |s| s.ask(s.body(), shell("x")))
                .then(|s| s.throws(s.body(), error("no luck")))
                .then(move |s| s.ask(s.body(), shell(name)))
        }
    };
    let mut bench = Bench::start(retries("y")());
    bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    assert!(bench.kinds().contains(&"attempt.failed"), "{:?}", bench.kinds());
    switched(&bench.log, retries("z")).expect("it can be switched while it waits for its retry");
}

/// Answers to what was asked for before the fork are kept, also those that came after it, with the failure they led to.
#[test]
fn an_attempt_that_failed_after_the_fork_over_a_kept_answer_may_fail_again_in_the_same_way() {
    let retries = |third: &'static str, message: &'static str| {
        move || {
            Play::new(|s| {
                s.step(s.run(), "a", thrice());
                s.ask(s.run(), shell("z"));
            })
            .then(|s| s.ask(s.body(), shell("x")))
            .then(move |s| s.ask(s.run(), shell(third)))
            .then(move |s| s.throws(s.body(), error(message)))
        }
    };
    let mut bench = Bench::start(retries("y", "no luck")());
    bench.go(1, vec![ended("/shell:z#1", 1, Value::Null)]);
    bench.go(2, vec![ended("/a#1@1/shell:x#1", 1, Value::Null)]);
    assert!(bench.kinds().contains(&"attempt.failed"), "{:?}", bench.kinds());
    let forked = |message| {
        let definition = "new".to_owned();
        let rebase = Rebase {
            log: bench.log.records(),
            start: RunStarted {
                run: run(7),
                forked_from: Some(start().run),
                definition,
                ..start()
            },
            keep: Keep::BeforeStep(agentos_core::id::StepNumber(3)),
            now: Timestamp(DAY),
            into: Destination::NewRun,
            old_names: Names::default(),
            new_names: Names::default(),
        };
        rebase.run(retries("w", message))
    };
    forked("no luck").expect("it failed so before");
    let refused = forked("bad luck").expect_err("it did not fail so before");
    assert!(
        matches!(&refused, RebaseError::Fails(failure) if failure.message == "bad luck"),
        "{refused}"
    );
}

#[test]
fn lines_of_the_history_are_not_written_again_and_those_of_the_new_life_are() {
    let talks = |first: &'static str| {
        move || {
            Play::new(move |s| {
                for _ in 0..3 {
                    s.door.log(s.run(), LogLevel::Info, first.to_owned());
                }
                s.ask(s.run(), shell("x"));
            })
            .then(|s| {
                s.door.log(s.run(), LogLevel::Info, "later".to_owned());
                s.door.finish(s.run(), BodyOutcome::Returned(Value::Null));
            })
        }
    };
    let bench = Bench::start(talks("old")());
    let written = bench.turn.lines.last().expect("three lines").ordinal;
    let log = moved(&bench.log, switched(&bench.log, talks("new")).expect("a switch"));
    let options = agentos_core::execution::Options {
        lines_written: written,
        ..agentos_core::execution::Options::default()
    };
    let mut bench = Bench::try_resume(log, talks("new")(), options).expect("it goes on");
    assert_eq!(bench.turn.lines, []);
    bench.go(DAY + 1, vec![ended("/shell:x#1", 1, Value::Null)]);
    let said: Vec<&str> = bench.turn.lines.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(said, ["later"]);
    assert!(bench.turn.lines[0].ordinal > written);
}

#[test]
fn every_entry_is_decided_under_the_delivery_that_led_to_it() {
    let mut bench = Bench::start(nap());
    bench.go(5, vec![ended("/shell:x#1", 1, Value::Null)]);
    let causes: Vec<(&str, Option<u64>)> = bench
        .log
        .records()
        .iter()
        .map(|record: &Record| (record.entry.kind(), record.by.map(|by| by.0)))
        .collect();
    assert_eq!(
        causes,
        [
            ("run.started", None),
            ("operation.ordered", Some(0)),
            ("operation.ended", None),
            ("operation.ordered", Some(2))
        ]
    );
}

#[test]
fn a_run_that_stalls_fails_under_the_last_delivery_of_its_turn() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), shell("y"));
    })
    .then(|s| s.door.set(s.run(), name("k"), None).expect("it is written"));
    let mut bench = Bench::start(play);
    bench.go(1, ["/shell:x#1", "/shell:y#1"].map(|id| ended(id, 1, Value::Null)).to_vec());
    let causes: Vec<(&str, Option<u64>)> = bench.log.records()[3..]
        .iter()
        .map(|record| (record.entry.kind(), record.by.map(|by| by.0)))
        .collect();
    assert_eq!(
        causes,
        [
            ("operation.ended", None),
            ("operation.ended", None),
            ("state.written", Some(3)),
            ("run.failing", Some(4)),
            ("run.ended", Some(6))
        ]
    );
}
