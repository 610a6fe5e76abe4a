//! Programs without measure: each bound ends with a sentence, and never with a log that can't be read.

use agentos_core::bounds;
use agentos_core::codec::{Chunk, decode, encode};
use agentos_core::effect::Effect;
use agentos_core::entry::{CommentOn, Entry, RunOutcome, StepOutcome};
use agentos_core::execution::{Execution, Options};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::Seq;
use agentos_core::journal::Journal;
use agentos_core::program::{BodyOutcome, StepOptions};
use agentos_core::retry::RetryPolicy;
use agentos_core::time::Timestamp;
use agentos_core::turn::LogLevel;
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{Bench, ended, failed, interrupted, signal, started, stopped};
use crate::support::fact::{self, error, name, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, Stage, shell, shell_with, sleep, wait};

const TOO_LARGE: &str =
    "the value is larger than 4194304 bytes; make it an artifact and pass its name";
const TOO_DEEP: &str = "the value nests deeper than 100 levels; flatten it";

fn large() -> Value {
    Value::String("x".repeat(bounds::VALUE_BYTES))
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| json!([inner]))
}

#[test]
fn arguments_over_a_bound_are_refused_and_leave_no_trace() {
    let mut bench = Bench::start(
        Play::new(|s| {
            s.ask(s.run(), shell_with("x", large()));
            s.ask(s.run(), shell_with("x", deep(bounds::VALUE_DEPTH)));
            s.ask(s.run(), shell("x"));
        })
        .then(|s| s.returns(s.run())),
    );
    assert_eq!(
        bench.notes(),
        [format!("refused Limit: {TOO_LARGE}"), format!("refused Limit: {TOO_DEEP}")]
    );
    assert_eq!(bench.kinds(), ["operation.ordered"]);
    // What was refused does not count as an occurrence either.
    assert!(bench.go(1, vec![ended("/shell:x#1", 1, Value::Null)]).standing.is_ended());
}

#[test]
fn a_state_over_a_bound_is_refused_and_the_old_one_stays() {
    let bench = Bench::start(Play::new(|s| {
        s.door.set(s.run(), name("x"), Some(json!(1))).unwrap();
        for value in [large(), deep(bounds::VALUE_DEPTH)] {
            let failure = s.door.set(s.run(), name("x"), Some(value)).unwrap_err();
            s.note(format!("{:?}: {failure}", failure.kind));
        }
        let read = s.door.get(&name("x")).cloned();
        s.note(format!("{read:?}"));
        s.returns(s.run());
    }));
    assert_eq!(
        bench.notes(),
        [format!("Limit: {TOO_LARGE}"), format!("Limit: {TOO_DEEP}"), "Some(Number(1))".to_owned()]
    );
    assert_eq!(bench.kinds(), ["state.written", "run.ended"]);
}

#[test]
fn a_comment_over_a_bound_is_refused() {
    let bench = Bench::start(Play::new(|s| {
        let remarks = [("x".repeat(bounds::VALUE_BYTES), Value::Null), ("hm".into(), deep(101))];
        for (message, meta) in remarks {
            let failure = s.door.comment(s.run(), CommentOn::Run, message, meta).unwrap_err();
            s.note(format!("{:?}: {failure}", failure.kind));
        }
        s.returns(s.run());
    }));
    assert_eq!(bench.notes(), [format!("Limit: {TOO_LARGE}"), format!("Limit: {TOO_DEEP}")]);
    assert_eq!(bench.kinds(), ["run.ended"]);
}

#[test]
fn an_output_over_a_bound_fails_the_step_or_run_without_a_retry() {
    let bench = Bench::start(
        Play::new(|s| s.step(s.run(), "a", thrice()))
            .then(|s| s.door.finish(s.body(), BodyOutcome::Returned(large())))
            .then(|s| {
                s.note_delivery();
                s.door.finish(s.run(), BodyOutcome::Returned(deep(101)));
            }),
    );
    assert_eq!(bench.notes(), [format!("/a#1 ! Limit: {TOO_LARGE}")]);
    assert_eq!(*bench.failure(), Failure::new(FailureKind::Limit, TOO_DEEP));
}

#[test]
fn steps_nest_to_the_bound_and_no_deeper() {
    let first = Play::new(|s| s.phase(s.run(), "p"));
    let nested =
        (1..bounds::SCOPE_DEPTH).fold(first, |play, _| play.then(|s| s.phase(s.body(), "p")));
    let bench = Bench::start(nested.then(|s| {
        s.phase(s.body(), "p");
        s.step(s.body(), "s", RetryPolicy::once());
        s.ask(s.body(), shell("x"));
    }));
    let refusal = "refused Limit: steps can be nested 32 deep at most";
    assert_eq!(bench.notes(), [refusal, refusal]);
    assert_eq!(bench.execution.performing().count(), 1);
}

#[test]
fn the_longest_names_at_the_greatest_depth_are_read_back() {
    let play = || {
        let long = || "/".repeat(bounds::NAME_BYTES);
        let first = Play::new(move |s| s.phase(s.run(), &long()));
        (1..bounds::SCOPE_DEPTH)
            .fold(first, |play, _| play.then(move |s| s.phase(s.body(), &long())))
            .then(move |s| s.ask(s.body(), wait(&long())))
    };
    let entries = Bench::start(play()).log.entries().into_iter().cloned().collect();
    let chunk = Chunk::new(Seq(0), Timestamp(0), entries);
    let read = decode(&encode(&chunk)).unwrap();
    assert_eq!(read, chunk);
    let journal = Journal::fold(read.into_records()).unwrap();
    let (_, turn) = Execution::replay(play(), journal, Options::default(), Timestamp(0)).unwrap();
    assert!(turn.is_empty());
}

#[test]
fn too_many_requests_without_waiting_fail_the_run() {
    let mut bench = Bench::start(Play::new(|s| {
        for _ in 0..=bounds::DRAIN_REQUESTS {
            s.ask(s.run(), sleep("x", 1_000));
        }
    }));
    bench.finish_turn();
    assert_eq!(bench.notes(), ["refused Limit: too many calls without waiting for one of them"]);
    let message = "more than 20000 calls without waiting for one of them";
    assert_eq!(*bench.failure(), Failure::new(FailureKind::Limit, message));
    assert!(bench.log.entries().iter().any(|entry| matches!(entry, Entry::RunFailing { .. })));
}

#[test]
fn too_many_lines_without_waiting_fail_the_run_and_are_not_written() {
    let bench = Bench::start(Play::new(|s| {
        for nth in 0..=bounds::DRAIN_REQUESTS {
            s.door.log(s.run(), LogLevel::Info, nth.to_string());
        }
        let refused = s.door.set(s.run(), name("x"), None).is_err();
        s.note(format!("{refused}"));
    }));
    assert_eq!(bench.turn.lines.len(), bounds::DRAIN_REQUESTS);
    assert_eq!((bench.failure().kind, bench.notes()), (FailureKind::Limit, vec!["true"]));
}

#[test]
fn waiting_begins_the_count_anew() {
    let log_most = |s: &mut Stage<'_, '_>| {
        for _ in 1..bounds::DRAIN_REQUESTS {
            s.door.log(s.run(), LogLevel::Info, String::new());
        }
    };
    let bench = Bench::start(
        Play::new(move |s| {
            log_most(s);
            s.ask(s.run(), sleep("x", 0));
        })
        .then(move |s| {
            log_most(s);
            s.returns(s.run());
        }),
    );
    assert_eq!(bench.outcome(), Some(&RunOutcome::Completed { output: Value::Null }));
    assert!(!bench.kinds().contains(&"run.failing"), "{:?}", bench.kinds());
}

#[test]
fn notes_count_as_calls_up_to_the_bound() {
    let notes_and_lines = |lines: usize| {
        let bench = Bench::start(Play::new(move |s| {
            for _ in 0..lines {
                s.door.log(s.run(), LogLevel::Info, String::new());
            }
            s.door.set(s.run(), name("x"), Some(json!(1))).expect("it is within the bound");
            s.ask(s.run(), sleep("x", 1_000));
        }));
        bench.log.entries().iter().any(|entry| matches!(entry, Entry::RunFailing { .. }))
    };
    assert!(!notes_and_lines(bounds::DRAIN_REQUESTS - 2));
    assert!(notes_and_lines(bounds::DRAIN_REQUESTS - 1));
}

#[test]
fn a_program_that_is_refused_again_and_again_is_left_waiting() {
    let bench = Bench::start(
        Play::new(|s| s.phase(s.run(), "p")).then(|s| s.returns(s.body())).then(|s| {
            let over = s.body();
            let refused = (0..bounds::DRAIN_REFUSALS)
                .filter(|nth| match nth % 3 {
                    0 => s.door.request(over, shell("x")).is_err(),
                    1 => s.door.step(over, name("x"), StepOptions::default()).is_err(),
                    _ => s.door.phase(over, name("x")).is_err(),
                })
                .count();
            s.note(format!("{refused} refused"));
            let first = s.door.request(over, shell("x")).unwrap();
            let second = s.door.step(over, name("x"), StepOptions::default()).unwrap();
            let identities = [s.door.identity(first), s.door.identity(second)];
            s.note(format!("{identities:?}"));
            s.note((first == second).to_string());
            s.returns(s.run());
        }),
    );
    assert_eq!(bench.notes(), ["1000 refused", r#"["", ""]"#, "false"]);
    // Nobody answers what was never ordered, and the run does not wait for it.
    assert!(bench.turn.standing.is_ended() && bench.turn.effects.is_empty());
}

#[test]
fn refusals_are_counted_anew_after_a_wait() {
    let ask_all = |s: &mut Stage<'_, '_>| {
        let over = s.scope(1);
        let all = (0..bounds::DRAIN_REFUSALS).all(|_| s.door.request(over, shell("x")).is_err());
        s.note(format!("{all}"));
    };
    let bench = Bench::start(
        Play::new(|s| s.phase(s.run(), "p"))
            .then(|s| s.returns(s.body()))
            .then(move |s| {
                ask_all(s);
                s.ask(s.run(), sleep("x", 0));
            })
            .then(ask_all),
    );
    assert_eq!(bench.notes(), ["true", "true"]);
}

#[test]
fn a_scope_that_is_over_takes_no_notes() {
    let bench = Bench::start(
        Play::new(|s| s.phase(s.run(), "p")).then(|s| s.returns(s.body())).then(|s| {
            let over = s.body();
            let state = s.door.set(over, name("x"), Some(json!(1))).unwrap_err();
            s.note(format!("{:?}: {state}", state.kind));
            let comment = s.door.comment(over, CommentOn::Step, "hm".into(), Value::Null);
            s.note(format!("{:?}", comment.unwrap_err().kind));
            let read = s.door.get(&name("x")).cloned();
            s.note(format!("{read:?}"));
            s.returns(s.run());
        }),
    );
    assert_eq!(bench.notes(), ["Closed: this part of the run is over", "Closed", "None"]);
    assert!(bench.turn.standing.is_ended());
}

#[test]
fn signals_that_nobody_waits_for_are_kept_up_to_a_bound() {
    let mut bench = Bench::start(Play::new(|s| s.ask(s.run(), wait("never"))));
    let signals =
        |from: usize, to| (from..to).map(|nth| signal(&nth.to_string(), "go", Value::Null));
    bench.go(1, signals(0, bounds::KEPT_SIGNALS).collect());
    bench.finish_turn();
    assert_eq!(bench.outcome(), None);
    bench.go(2, signals(bounds::KEPT_SIGNALS, bounds::KEPT_SIGNALS + 1).collect());
    bench.finish_turn();
    let message = "more than 10000 signals came in that nobody waits for";
    assert_eq!(*bench.failure(), Failure::new(FailureKind::Limit, message));
}

#[test]
fn a_signal_that_was_taken_is_not_kept_any_more() {
    let play = Play::new(|s| {
        s.ask(s.run(), wait("never"));
        s.ask(s.run(), shell("x"));
    })
    .then(|s| s.ask(s.run(), wait("go")));
    let mut bench = Bench::start(play);
    let signals =
        |from: usize, to| (from..to).map(|nth| signal(&nth.to_string(), "go", Value::Null));
    bench.go(1, signals(0, bounds::KEPT_SIGNALS).collect());
    bench.finish_turn();
    bench.go(2, vec![ended("/shell:x#1", 1, Value::Null)]);
    bench.go(3, signals(bounds::KEPT_SIGNALS, bounds::KEPT_SIGNALS + 1).collect());
    bench.finish_turn();
    assert_eq!(bench.outcome(), None);
}

/// A log that is as long as wanted and took no program to make; and the latest try in it.
fn long_log(entries: u64) -> (Log, u32) {
    let id = "/shell:x#1";
    let mut log = Log::started().with(fact::ordered_with(id, 1, json!({})));
    let mut r#try = 1;
    while (log.records().len() as u64) < entries {
        log = log.with(fact::interrupted(id, r#try)).with(fact::retried(id, r#try + 1));
        r#try += 1;
    }
    (log, r#try)
}

#[test]
fn a_log_that_has_reached_its_bound_fails_the_run_and_takes_nothing_more() {
    let (log, r#try) = long_log(bounds::LOG_ENTRIES);
    let play = Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.ask(s.run(), shell("y")));
    let mut bench = Bench::resume(log, play);
    assert_eq!(bench.kinds(), ["run.failing", "scope.closing", "operation.cancel_ordered"]);
    assert!(matches!(bench.turn.effects[..], [Effect::Stop { .. }]));
    bench.go(1, vec![stopped("/shell:x#1", r#try)]);
    assert_eq!(bench.notes(), ["refused Closed: this part of the run is over"]);
    let message = "the run's log has reached 200000 entries; split the work into child runs";
    assert_eq!(*bench.failure(), Failure::new(FailureKind::Limit, message));
}

#[test]
fn a_turn_without_end_reaches_the_bound_of_the_log_too() {
    let (log, r#try) = long_log(bounds::LOG_ENTRIES - 100);
    let first = Play::new(|s| s.ask(s.run(), shell("x")));
    let play = (0..200).fold(first, |play, _| play.then(|s| s.ask(s.run(), sleep("x", 0))));
    let options = Options { turn_entries: 10, ..Options::default() };
    let mut bench = Bench::try_resume(log, play, options).unwrap();
    bench.go(1, vec![ended("/shell:x#1", r#try, Value::Null)]);
    bench.finish_turn();
    assert_eq!(bench.failure().kind, FailureKind::Limit);
    assert!(bench.execution.program().left() > 100, "it was stopped at the bound");
}

#[test]
fn an_operation_is_tried_again_up_to_a_bound_and_then_fails() {
    let id = "/shell:x#1";
    let mut bench =
        Bench::start(Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.note_delivery()));
    for r#try in 1..bounds::OPERATION_TRIES {
        bench.go(i64::from(r#try), vec![interrupted(id, r#try)]);
        assert_eq!(bench.kinds(), ["operation.interrupted", "operation.retried"]);
        match &bench.turn.effects[..] {
            [Effect::Perform { r#try: again, .. }] => assert_eq!(again.0, r#try + 1),
            other => panic!("{other:?}"),
        }
    }
    bench.go(99, vec![interrupted(id, bounds::OPERATION_TRIES)]);
    assert_eq!(
        bench.notes(),
        ["/shell:x#1 ! Interrupted: interrupted 20 times; it is not tried again"]
    );
    assert!(bench.turn.effects.is_empty());
}

#[test]
fn a_result_over_a_bound_becomes_a_failure() {
    let mut bench = Bench::start(
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), shell("x"));
        })
        .then(|s| s.note_delivery())
        .then(|s| s.note_delivery()),
    );
    let results = vec![ended("/shell:x#1", 1, large()), ended("/shell:x#2", 1, deep(101))];
    bench.go(1, results);
    assert_eq!(
        bench.notes(),
        [format!("/shell:x#1 ! Limit: {TOO_LARGE}"), format!("/shell:x#2 ! Limit: {TOO_DEEP}")]
    );
}

#[test]
fn a_step_in_a_run_at_its_bound_is_cancelled() {
    let bench = Bench::start(Play::new(|s| s.step(s.run(), "a", thrice())).then(|s| {
        for _ in 0..=bounds::DRAIN_REQUESTS {
            s.door.log(s.body(), LogLevel::Info, String::new());
        }
    }));
    let cancelled = fact::step_ended("/a#1", StepOutcome::Cancelled {});
    assert!(bench.log.entries().contains(&&cancelled));
    assert_eq!(bench.failure().kind, FailureKind::Limit);
}

/// What is written may nest without end, what is read may not: a log with something too deep in it would be lost.
fn assert_readable(bench: &Bench) {
    let chunk = &bench.turn.chunk;
    match decode(&encode(chunk)) {
        Ok(read) => assert_eq!(read, *chunk),
        Err(error) => panic!("{:?} were committed and can't be read: {error}", bench.kinds()),
    }
}

fn deep_failure() -> Failure {
    Failure { detail: Some(deep(200)), ..error("too much to say") }
}

#[test]
fn the_failure_of_an_operation_does_not_make_the_log_unreadable() {
    let mut bench = Bench::start(Play::new(|s| s.ask(s.run(), shell("x"))));
    bench.go(1, vec![failed("/shell:x#1", 1, deep_failure())]);
    assert_readable(&bench);
}

#[test]
fn what_an_operation_says_at_its_start_does_not_make_the_log_unreadable() {
    let mut bench = Bench::start(Play::new(|s| s.ask(s.run(), shell("x"))));
    bench.go(1, vec![started("/shell:x#1", 1, deep(200))]);
    assert_readable(&bench);
}

#[test]
fn what_a_program_throws_does_not_make_the_log_unreadable() {
    assert_readable(&Bench::start(Play::new(|s| s.throws(s.run(), deep_failure()))));
    assert_readable(&Bench::start(
        Play::new(|s| s.step(s.run(), "a", thrice())).then(|s| s.throws(s.body(), deep_failure())),
    ));
}
