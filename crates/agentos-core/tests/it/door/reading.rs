//! What program code reads, it reads at the cursor: the same in every execution.

use agentos_core::bounds;
use agentos_core::codec::{Chunk, decode, encode};
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::execution::{Execution, Options};
use agentos_core::failure::Failure;
use agentos_core::id::{Attempt, Seed, StepNumber};
use agentos_core::journal::Journal;
use agentos_core::program::Delivery;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_core::turn::{LogLevel, LogLine};
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{Bench, ended, failed, retry_timer, signal, timer};
use crate::support::fact::{error, name, scope, start, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, shell, shell_with, sleep, wait};

/// A log as it comes back from a store.
fn stored(bench: &Bench) -> Journal {
    let chunks = bench.log.records().iter().map(|record| {
        let entries = vec![record.entry.clone()];
        decode(&encode(&Chunk::new(record.seq, record.at, entries)))
            .expect("what was written can be read")
    });
    Journal::fold(chunks.flat_map(Chunk::into_records)).expect("the log folds")
}

/// Executes a program again from its stored log; there is nothing new to decide.
fn again(bench: &Bench, play: Play) -> Vec<String> {
    let now = bench.turn.chunk.at;
    let (execution, turn) = Execution::replay(play, stored(bench), Options::default(), now)
        .expect("the program goes with its log");
    assert!(turn.is_empty(), "{:?}", turn.chunk);
    execution.program().notes().into_iter().map(str::to_owned).collect()
}

#[test]
fn the_input_is_what_the_run_was_started_with() {
    let bench = Bench::start(Play::new(|s| {
        s.note_delivery();
        s.returns(s.run());
    }));
    assert_eq!(bench.notes(), [r#"run {"issue":7}"#]);
}

#[test]
fn everything_knows_its_own_identity() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), wait("a/b"));
        s.step(s.run(), "x", thrice());
        s.phase(s.run(), "x");
        s.phase(s.run(), "x");
        let identities: Vec<String> = (0..6).map(|nth| s.door.identity(s.ticket(nth))).collect();
        s.note(identities.join(" "));
        let path = s.door.path(s.run());
        s.note(path);
    })
    .then(|s| {
        let path = s.door.path(s.body());
        s.note(path);
    });
    let bench = Bench::start(play);
    assert_eq!(
        bench.notes(),
        ["/shell:x#1 /shell:x#2 /wait:a%2Fb#1 /x#1 /~x#1 /~x#2", "", "/x#1@1"]
    );
}

#[test]
fn a_body_knows_which_attempt_it_is() {
    let fails = |s: &mut Stage<'_, '_>| {
        let Delivery::Body { attempt, .. } = s.delivery else { panic!("{:?}", s.delivery) };
        s.note(attempt.to_string());
        s.throws(s.body(), error("no luck"));
    };
    let play = Play::new(|s| s.step(s.run(), "a", thrice())).then(fails).then(fails);
    let mut bench = Bench::start(play);
    bench.go(100, vec![retry_timer("/a#1@1")]);
    assert_eq!(bench.notes(), [Attempt::FIRST.to_string(), "2".to_owned()]);
}

#[test]
fn the_state_is_what_was_written_so_far() {
    let play = || {
        Play::new(|s| {
            let read = |s: &mut Stage<'_, '_>| {
                let value = s.door.get(&name("x")).cloned();
                s.note(format!("{value:?}"));
            };
            read(s);
            s.door.set(s.run(), name("x"), Some(json!(1))).unwrap();
            read(s);
            s.door.set(s.run(), name("x"), Some(json!("two"))).unwrap();
            read(s);
            s.door.set(s.run(), name("x"), None).unwrap();
            read(s);
            s.ask(s.run(), wait("go"));
        })
    };
    let bench = Bench::start(play());
    let expected = ["None", "Some(Number(1))", r#"Some(String("two"))"#, "None"];
    assert_eq!(bench.notes(), expected);
    assert_eq!(again(&bench, play()), expected);
}

#[test]
fn a_null_in_the_state_is_a_value_in_every_execution() {
    let play = || {
        Play::new(|s| {
            s.door.set(s.run(), name("x"), Some(Value::Null)).unwrap();
            let value = s.door.get(&name("x")).cloned();
            s.note(format!("{value:?}"));
            s.ask(s.run(), wait("go"));
        })
    };
    let bench = Bench::start(play());
    assert_eq!(bench.notes(), ["Some(Null)"]);
    assert_eq!(again(&bench, play()), ["Some(Null)"]);
}

#[test]
fn a_thrown_null_is_thrown_again_in_every_execution() {
    let play = || {
        let thrown = || Failure { detail: Some(Value::Null), ..error("no luck") };
        Play::new(|s| s.step(s.run(), "a", thrice())).then(move |s| s.throws(s.body(), thrown()))
    };
    let bench = Bench::start(play());
    assert_eq!(bench.kinds().last(), Some(&"attempt.failed"));
    assert_eq!(again(&bench, play()), [""; 0]);
}

#[test]
fn a_number_is_the_same_in_every_execution() {
    let play = || {
        let ask_with_answer = |s: &mut Stage<'_, '_>| {
            let Delivery::Answer { result: Ok(value), .. } = s.delivery.clone() else {
                panic!("{:?}", s.delivery);
            };
            s.ask(s.run(), shell_with("y", json!(value.to_string())));
        };
        Play::new(|s| s.ask(s.run(), shell("x"))).then(ask_with_answer)
    };
    let mut bench = Bench::start(play());
    // Nothing special: the square root of two, in billionths.
    bench.go(1, vec![ended("/shell:x#1", 1, json!(1.414_213_562_373_095_3e-9))]);
    assert_eq!(bench.kinds(), ["operation.ended", "operation.ordered"]);
    assert_eq!(again(&bench, play()), [""; 0]);
}

#[test]
fn the_time_is_that_of_the_latest_delivery() {
    let play = || {
        let note_now = |s: &mut Stage<'_, '_>| s.note(s.door.now().to_string());
        Play::new(move |s| {
            note_now(s);
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), wait("go"));
        })
        .then(move |s| {
            note_now(s);
            s.ask(s.run(), sleep("x", 0));
        })
        .then(note_now)
    };
    let mut bench = Bench::start(play());
    bench.go(30, vec![signal("k", "other", json!(1))]);
    bench.go(70, vec![failed("/shell:x#1", 1, error("no luck"))]);
    assert_eq!(bench.notes(), ["0 ms", "70 ms", "70 ms"]);
    assert_eq!(again(&bench, play()), ["0 ms", "70 ms", "70 ms"]);
}

#[test]
fn a_clock_that_is_set_back_takes_back_neither_the_time_of_the_log_nor_that_of_the_program() {
    let play = || {
        let note_now = |s: &mut Stage<'_, '_>| s.note(s.door.now().to_string());
        Play::new(|s| s.ask(s.run(), shell("x")))
            .then(move |s| {
                note_now(s);
                s.ask(s.run(), shell("y"));
            })
            .then(move |s| {
                note_now(s);
                s.ask(s.run(), sleep("x", 5));
            })
            .then(note_now)
    };
    let mut bench = Bench::start(play());
    assert_eq!(bench.go(70, vec![ended("/shell:x#1", 1, json!(1))]).chunk.at, Timestamp(70));
    assert_eq!(bench.go(30, vec![ended("/shell:y#1", 1, json!(1))]).chunk.at, Timestamp(70));
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(75)) });
    bench.go(75, vec![timer("/sleep:x#1")]);
    assert_eq!(bench.notes(), ["70 ms", "70 ms", "75 ms"]);
    assert_eq!(again(&bench, play()), ["70 ms", "70 ms", "75 ms"]);
}

#[test]
fn chance_is_drawn_anew_after_each_delivery_and_is_the_same_each_time() {
    let play = || {
        let draw = |s: &mut Stage<'_, '_>| {
            let drawn = [s.door.random(), s.door.random()];
            assert!(drawn.iter().all(|unit| (0.0..1.0).contains(unit)));
            s.note(format!("{drawn:?}"));
        };
        Play::new(move |s| {
            draw(s);
            s.ask(s.run(), sleep("x", 0));
            s.ask(s.run(), wait("go"));
        })
        .then(draw)
    };
    let bench = Bench::start(play());
    let drawn: Vec<String> = bench.notes().into_iter().map(str::to_owned).collect();
    assert_ne!(drawn[0], drawn[1]);
    assert_eq!(again(&bench, play()), drawn);
}

#[test]
fn log_lines_are_numbered_and_written_once() {
    let play = || {
        Play::new(|s| {
            s.door.log(s.run(), LogLevel::Info, "one".to_owned());
            s.phase(s.run(), "p");
        })
        .then(|s| {
            s.door.log(s.body(), LogLevel::Warn, "two".to_owned());
            s.ask(s.run(), shell("x"));
        })
        .then(|s| s.door.log(s.run(), LogLevel::Error, "three".to_owned()))
    };
    // A line's number tells under which delivery it was written, and as the how-manieth.
    let line = |delivery: u64, at, path: &str, level, message: &str| LogLine {
        ordinal: delivery * bounds::DELIVERY_LINES + 1,
        at: Timestamp(at),
        scope: scope(path),
        step: None,
        level,
        message: message.to_owned(),
        is_warning: false,
    };
    let mut bench = Bench::start(play());
    let first = line(0, 0, "", LogLevel::Info, "one");
    let second = line(2, 0, "/~p#1@1", LogLevel::Warn, "two");
    assert_eq!(bench.turn.lines, [first, second.clone()]);
    bench.go(5, vec![ended("/shell:x#1", 1, Value::Null)]);
    let third = line(4, 5, "", LogLevel::Error, "three");
    assert_eq!(bench.turn.lines, std::slice::from_ref(&third));
    // The file has one line; the others are made again, with their old numbers and times.
    let options = Options { lines_written: 1, ..Options::default() };
    let (_, turn) = Execution::replay(play(), stored(&bench), options, Timestamp(9)).unwrap();
    assert_eq!(turn.lines, [second, third.clone()]);
    let options = Options { lines_written: third.ordinal, ..Options::default() };
    let (_, turn) = Execution::replay(play(), stored(&bench), options, Timestamp(9)).unwrap();
    assert_eq!(turn.lines, []);
}

#[test]
fn a_log_line_names_the_innermost_step_around_it() {
    let play = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.phase(s.body(), "p"))
        .then(|s| s.door.log(s.body(), LogLevel::Info, "here".to_owned()));
    let bench = Bench::start(play);
    let said = bench.turn.lines.first().expect("a line");
    assert_eq!(said.scope, scope("/a#1@1/~p#1@1"));
    let step = said.step.as_ref().expect("its step");
    assert_eq!((step.path.as_str(), step.number), ("/a#1", StepNumber(1)));
}

#[test]
fn chance_after_a_delivery_depends_on_the_run_and_the_delivery_and_not_on_what_was_drawn_before() {
    let drawn = |extra: usize, seed: u64| {
        let draw = move |s: &mut Stage<'_, '_>| {
            let drawn = s.door.random();
            (0..extra).for_each(|_| _ = s.door.random());
            s.note(drawn.to_string());
        };
        let play = Play::new(move |s| {
            draw(s);
            s.step(s.run(), "a", thrice());
        })
        .then(move |s| {
            draw(s);
            s.ask(s.body(), shell("x"));
        })
        .then(move |s| {
            draw(s);
            s.returns(s.body());
        })
        .then(move |s| {
            draw(s);
            s.ask(s.run(), sleep("nap", 10));
        })
        .then(move |s| {
            draw(s);
            s.ask(s.run(), wait("go"));
        })
        .then(move |s| {
            draw(s);
            s.returns(s.run());
        });
        let first = RunStarted { seed: Seed(seed), ..start() };
        let mut bench = Bench::resume(Log::empty().with(Entry::RunStarted(first)), play);
        bench.go(1, vec![ended("/a#1@1/shell:x#1", 1, json!(1))]);
        bench.go(11, vec![timer("/sleep:nap#1")]);
        bench.go(12, vec![signal("k", "go", json!(1))]);
        bench.notes().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let once = drawn(0, 42);
    assert_eq!(once.len(), 6);
    assert_eq!(drawn(3, 42), once);
    assert!(drawn(0, 43).iter().zip(&once).all(|(other, drawn)| other != drawn));
}
