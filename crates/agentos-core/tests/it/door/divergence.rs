//! Programs that do not do again what their log says they did.

use std::collections::BTreeSet;

use agentos_core::entry::{CommentOn, StepOutcome};
use agentos_core::execution::{AdvanceError, Divergence};
use agentos_core::id::Seq;
use agentos_core::journal::{Illegal, IllegalEntry};
use agentos_core::program::{BodyOutcome, StepOptions};
use agentos_core::retry::RetryPolicy;
use agentos_core::source::BodyText;
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{Bench, divergence, ended, refusal, retry_timer, signal};
use crate::support::fact::{error, name, requested, step_ended, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, shell, shell_with, sleep, wait};
use crate::support::variants;

variants!(Divergence: Changed, NotAsked, NotOrdered, Misplaced, NotEnded);

/// In what a program differs from the one whose run was recorded.
fn between(recorded: Play, found: Play) -> Divergence {
    divergence(&Bench::start(recorded).log, found)
}

fn changed(identity: &str, recorded: &str, found: &str) -> Divergence {
    Divergence::Changed {
        identity: identity.to_owned(),
        recorded: recorded.to_owned(),
        found: found.to_owned(),
    }
}

/// What has changed, whatever it was and is.
fn changed_identity(divergence: Divergence) -> String {
    match divergence {
        Divergence::Changed { identity, .. } => identity,
        other => panic!("{other:?}"),
    }
}

fn not_asked(identity: &str, seq: u64) -> Divergence {
    Divergence::NotAsked { identity: identity.to_owned(), seq: Seq(seq) }
}

fn not_ordered(identity: &str) -> Divergence {
    Divergence::NotOrdered { identity: identity.to_owned() }
}

fn not_ended(identity: &str) -> Divergence {
    Divergence::NotEnded { identity: identity.to_owned() }
}

fn asks_shell() -> Play {
    Play::new(|s| s.ask(s.run(), shell("x")))
}

/// A program that waits for something that no log here knows.
fn does_something_else() -> Play {
    Play::new(|s| s.ask(s.run(), shell("else")))
}

fn asks_step() -> Play {
    Play::new(|s| s.step(s.run(), "a", thrice()))
}

#[test]
fn an_operation_with_other_arguments_is_noticed() {
    let ask = |args: Value| Play::new(move |s| s.ask(s.run(), shell_with("x", args)));
    assert_eq!(
        between(ask(json!({ "a": 1 })), ask(json!(["b"]))),
        changed("/shell:x#1", r#"Object {"a": Number(1)}"#, r#"Array [String("b")]"#)
    );
    let sleeps = |ms| Play::new(move |s| s.ask(s.run(), sleep("x", ms)));
    assert_eq!(changed_identity(between(sleeps(5), sleeps(6))), "/sleep:x#1");
}

#[test]
fn what_is_said_about_a_change_is_cut_to_a_readable_length() {
    let ask = |text: &str| {
        let args = json!(text.repeat(10_000));
        Play::new(move |s| s.ask(s.run(), shell_with("x", args)))
    };
    let said = between(ask("ä"), ask("b")).to_string();
    assert!(said.chars().count() < 600, "{said}");
}

#[test]
fn a_step_with_another_retry_policy_is_noticed() {
    let ask = |retry| Play::new(move |s| s.step(s.run(), "a", retry));
    let found = between(ask(thrice()), ask(RetryPolicy::once()));
    assert_eq!(changed_identity(found), "/a#1");
}

#[test]
fn another_state_is_noticed() {
    let set = |value: Option<Value>| {
        Play::new(move |s| {
            s.door.set(s.run(), name("x"), value).unwrap();
            s.ask(s.run(), shell("x"));
        })
    };
    assert_eq!(
        between(set(Some(json!(1))), set(Some(json!(2)))),
        changed("/set:x#1", "State(Some(Number(1)))", "State(Some(Number(2)))")
    );
    assert_eq!(
        between(set(Some(json!(1))), set(None)),
        changed("/set:x#1", "State(Some(Number(1)))", "State(None)")
    );
}

#[test]
fn another_comment_is_noticed() {
    let comment = |on, message: &'static str, meta: Value| {
        Play::new(move |s| {
            s.door.comment(s.run(), on, message.to_owned(), meta).unwrap();
            s.ask(s.run(), shell("x"));
        })
    };
    for found in [
        comment(CommentOn::Step, "hm", Value::Null),
        comment(CommentOn::Run, "ah", Value::Null),
        comment(CommentOn::Run, "hm", json!(1)),
    ] {
        let recorded = comment(CommentOn::Run, "hm", Value::Null);
        assert_eq!(changed_identity(between(recorded, found)), "/comment:comment#1");
    }
}

#[test]
fn an_open_operation_that_is_not_asked_for_is_noticed() {
    assert_eq!(between(asks_shell(), does_something_else()), not_ordered("/shell:x#1"));
}

#[test]
fn an_answer_that_nobody_asked_for_is_noticed() {
    let mut shell_ended = Bench::start(asks_shell().then(|s| s.ask(s.run(), shell("y"))));
    shell_ended.go(1, vec![ended("/shell:x#1", 1, json!(1))]);
    assert_eq!(divergence(&shell_ended.log, does_something_else()), not_asked("/shell:x#1", 2));
    let slept = Play::new(|s| s.ask(s.run(), sleep("x", 0))).then(|s| s.ask(s.run(), shell("x")));
    assert_eq!(between(slept, does_something_else()), not_asked("/sleep:x#1", 2));
}

#[test]
fn a_step_that_is_not_asked_for_is_noticed() {
    let begun = asks_step().then(|s| s.ask(s.body(), shell("x")));
    assert_eq!(between(begun, does_something_else()), not_asked("/a#1@1", 2));
}

#[test]
fn a_step_that_was_cancelled_before_it_began_and_is_not_asked_for_is_noticed() {
    let log = Log::started()
        .with(requested("/a#1", 1))
        .with(step_ended("/a#1", StepOutcome::Cancelled {}));
    assert_eq!(divergence(&log, does_something_else()), not_asked("/a#1", 2));
}

#[test]
fn a_wait_that_a_kept_signal_was_offered_to_and_that_is_not_asked_for_is_noticed() {
    let mut bench = Bench::start(asks_shell().then(|s| s.ask(s.run(), wait("go"))));
    bench.go(1, vec![signal("k", "go", Value::Null)]);
    bench.go(2, vec![ended("/shell:x#1", 1, Value::Null)]);
    // Killed between the offer and its delivery.
    let log = bench.log.cut(6);
    assert_eq!(log.entries()[5].kind(), "signal.offered");
    let asks_another = asks_shell().then(|s| s.ask(s.run(), shell("else")));
    assert_eq!(divergence(&log, asks_another), not_asked("k", 5));
}

#[test]
fn what_a_closing_lists_must_have_been_asked_for() {
    let returns = || Play::new(|s| s.returns(s.run()));
    let forgets_shell = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.returns(s.run());
    });
    assert_eq!(between(forgets_shell, returns()), not_ordered("/shell:x#1"));
    let forgets_step = Play::new(|s| {
        s.step(s.run(), "a", thrice());
        s.returns(s.run());
    });
    assert_eq!(between(forgets_step, returns()), not_ordered("/a#1"));
}

#[test]
fn a_step_that_ends_otherwise_is_noticed() {
    let ends = |output: Value| {
        asks_step()
            .then(move |s| s.door.finish(s.body(), BodyOutcome::Returned(output)))
            .then(|s| s.ask(s.run(), shell("x")))
    };
    assert_eq!(
        between(ends(json!(1)), ends(json!(2))),
        changed("/a#1", "Completed { output: Number(1) }", "Completed { output: Number(2) }")
    );
}

#[test]
fn a_step_that_does_not_end_again_is_noticed() {
    let ends = asks_step().then(|s| s.returns(s.body())).then(|s| s.ask(s.run(), shell("x")));
    assert_eq!(between(ends, asks_step()), not_ended("/a#1"));
}

/// A step whose first attempt failed and whose second waits.
fn tried_twice() -> Bench {
    let play = asks_step()
        .then(|s| s.throws(s.body(), error("no luck")))
        .then(|s| s.ask(s.body(), shell("x")));
    let mut bench = Bench::start(play);
    bench.go(100, vec![retry_timer("/a#1@1")]);
    assert_eq!(bench.kinds(), ["attempt.started", "operation.ordered"]);
    bench
}

#[test]
fn an_attempt_that_fails_otherwise_is_noticed() {
    let found = asks_step().then(|s| s.throws(s.body(), error("more luck")));
    assert_eq!(changed_identity(divergence(&tried_twice().log, found)), "/a#1@1");
}

#[test]
fn an_attempt_that_does_not_fail_again_is_noticed() {
    let waits = Play::new(|s| {
        s.step(s.run(), "a", thrice());
        s.ask(s.run(), shell("else"));
    });
    assert_eq!(divergence(&tried_twice().log, waits), not_asked("/a#1@2", 4));
}

#[test]
fn an_attempt_that_hangs_where_it_failed_is_noticed() {
    assert_eq!(divergence(&tried_twice().log, asks_step()), not_asked("/a#1@2", 4));
}

/// It is the program that has changed; nothing is wrong with AgentOS.
#[test]
fn an_attempt_that_asks_for_more_than_before_its_end_has_diverged() {
    let asks_more = asks_step().then(|s| s.ask(s.body(), shell("y")));
    let found = refusal(&tried_twice().log, asks_more);
    assert!(matches!(found, AdvanceError::Diverged(_)), "{found}");
}

#[test]
fn a_run_that_ends_otherwise_is_noticed() {
    let ends = |outcome| Play::new(move |s| s.door.finish(s.run(), outcome));
    let skips = ends(BodyOutcome::Skipped("nothing to do".to_owned()));
    assert_eq!(
        between(ends(BodyOutcome::Returned(json!(1))), skips),
        changed("the run", "Completed { output: Number(1) }", "Completed { output: Null }")
    );
}

#[test]
fn a_run_that_does_not_end_again_is_noticed() {
    let ends = || Play::new(|s| s.returns(s.run()));
    assert_eq!(between(ends(), Play::default()), not_ended("the run"));
}

/// It is the program that has changed; nothing is wrong with AgentOS.
#[test]
fn a_run_that_asks_for_more_than_before_its_end_has_diverged() {
    let ends = Play::new(|s| s.returns(s.run()));
    let found = refusal(&Bench::start(ends).log, asks_shell());
    assert!(matches!(found, AdvanceError::Diverged(_)), "{found}");
}

#[test]
fn a_program_that_has_diverged_is_refused_the_rest() {
    let found = Play::new(|s| {
        s.ask(s.run(), shell_with("x", json!(1)));
        s.door.set(s.run(), name("x"), Some(json!(1))).unwrap();
        let refused = s.door.request(s.run(), shell("y")).unwrap_err();
        assert_eq!(refused.to_string(), "this part of the run is over");
        let refused = s.door.step(s.run(), name("y"), StepOptions::default()).unwrap_err();
        assert_eq!(refused.to_string(), "this part of the run is over");
    });
    // The first disagreement is the one that counts.
    assert_eq!(changed_identity(between(asks_shell(), found)), "/shell:x#1");
}

#[test]
fn a_program_that_asks_for_more_than_its_log_has_goes_on() {
    let log = Bench::start(asks_shell()).log;
    let both = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), shell("y"));
    });
    assert_eq!(Bench::resume(log, both).kinds(), ["operation.ordered"]);
}

#[test]
fn every_disagreement_is_said_in_a_sentence() {
    let all = [
        changed("/shell:x#1", "this", "that"),
        not_asked("/a#1@1", 3),
        not_ordered("/shell:x#1"),
        Divergence::Misplaced(IllegalEntry {
            seq: Seq(7),
            kind: "operation.ordered",
            reason: Illegal::AfterEnd,
        }),
        not_ended("the run"),
    ];
    let seen: BTreeSet<&str> = all.iter().map(variant).collect();
    assert_eq!(seen, VARIANTS.iter().copied().collect());
    let said = all.map(|divergence| AdvanceError::from(divergence).to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    `/shell:x#1` is recorded as this, but the workflow now says that
    `/a#1@1` is recorded at position 3, but the workflow did not ask for it
    `/shell:x#1` is recorded as ordered, but the workflow did not ask for it
    the workflow does not do what its log says it did: log entry 7 (`operation.ordered`) is illegal: the run has ended
    `the run` is recorded as ended, but the workflow did not come to its end
    ");
}

#[test]
fn a_body_whose_text_is_known_on_one_side_only_is_the_same() {
    let asks = |text: Option<&'static str>| {
        Play::new(move |s| {
            let body = text.map(|hash| BodyText { hash: hash.to_owned(), tied: None });
            let options = StepOptions { retry: thrice(), body, ..StepOptions::default() };
            s.door.step(s.run(), name("a"), options).expect("the step is taken");
        })
        .then(|s| s.ask(s.body(), shell("x")))
    };
    for (recorded, found) in [(None, Some("new")), (Some("old"), None)] {
        assert!(Bench::resume(Bench::start(asks(recorded)).log, asks(found)).turn.is_empty());
    }
    let changed = between(asks(Some("old")), asks(Some("new")));
    assert_eq!(changed_identity(changed), "/a#1");
}

#[test]
fn a_state_write_that_is_not_made_again_is_noticed() {
    let writes = Play::new(|s| {
        s.door.set(s.run(), name("k"), Some(json!(1))).expect("it is written");
        s.ask(s.run(), shell("x"));
    });
    assert_eq!(between(writes, asks_shell()), not_ordered("a state write or comment"));
}
