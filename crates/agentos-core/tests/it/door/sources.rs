//! A run under another source: answers that are kept, and operations that are left behind.

use agentos_core::effect::Effect;
use agentos_core::entry::{Abandoned, Entry, OperationResult, RunOutcome};
use agentos_core::failure::FailureKind;
use agentos_core::id::{RunId, Try};
use agentos_core::standing::Standing;
use agentos_core::value::Value;
use serde_json::json;

use crate::support::bench::{Bench, child_ended, ended, interrupted, stopped};
use crate::support::fact::{self, error, op, run, run_started, start};
use crate::support::log::Log;
use crate::support::play::{Play, shell, wait_for};

/// A log whose old source had asked for `/shell:old#1`, and whose new one keeps these answers.
fn moved(answers: &[(&str, OperationResult)]) -> Log {
    let old = fact::ordered_with("/shell:old#1", 1, json!({}));
    let kept = answers.iter().map(|(id, result)| fact::kept(id, result.clone()));
    Log::started().with_all([old, fact::switched(&["/shell:old#1"]), run_started()]).with_all(kept)
}

fn stop(id: &str, child: Option<RunId>) -> Effect {
    Effect::Stop { operation: op(id), r#try: Try(1), child }
}

#[test]
fn what_was_left_behind_is_stopped_and_waited_for() {
    let play = || Play::new(|s| s.returns(s.run()));
    let mut bench = Bench::resume(moved(&[]), play());
    assert_eq!(bench.turn.effects, [stop("/shell:old#1", None)]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
    // Whoever goes on after a crash stops it again.
    let again = Bench::resume(bench.log.clone(), play());
    assert_eq!(again.turn.effects, [stop("/shell:old#1", None)]);
    bench.go(1, vec![stopped("/shell:old#1", 1)]);
    assert_eq!(bench.kinds(), ["operation.abandoned_ended", "run.ended"]);
    let again = Bench::resume(bench.log.clone(), play());
    assert!(again.turn.is_empty() && again.turn.effects.is_empty());
}

#[test]
fn what_was_left_behind_is_dead_however_it_came_to_its_end() {
    for end in [
        ended("/shell:old#1", 1, Value::Null),
        interrupted("/shell:old#1", 1),
        stopped("/shell:old#1", 1),
    ] {
        let mut bench = Bench::resume(moved(&[]), Play::new(|s| s.returns(s.run())));
        assert!(bench.go(1, vec![ended("/shell:old#1", 2, Value::Null)]).is_empty());
        bench.go(2, vec![end.clone(), end]);
        assert_eq!(bench.kinds(), ["operation.abandoned_ended", "run.ended"]);
    }
}

#[test]
fn what_is_asked_for_again_after_it_was_left_behind_is_another_try() {
    let play = || {
        Play::new(|s| s.ask(s.run(), shell("old"))).then(|s| {
            s.note_delivery();
            s.returns(s.run());
        })
    };
    let mut bench = Bench::resume(moved(&[]), play());
    // It does not begin before the one that was left behind is dead.
    assert_eq!(bench.turn.effects, [stop("/shell:old#1", None)]);
    bench.go(1, vec![stopped("/shell:old#1", 1)]);
    assert_eq!(bench.kinds(), ["operation.abandoned_ended"]);
    let performs = |effects: &[Effect]| matches!(effects, [Effect::Perform { operation, r#try: Try(2), .. }] if *operation == op("/shell:old#1"));
    assert!(performs(&bench.turn.effects), "{:?}", bench.turn.effects);
    // Whoever goes on after a crash performs it, and once.
    let again = Bench::resume(bench.log.clone(), play());
    assert!(performs(&again.turn.effects), "{:?}", again.turn.effects);
    bench.go(2, vec![ended("/shell:old#1", 2, json!(5))]);
    assert_eq!(bench.notes(), ["/shell:old#1 = 5"]);
    assert!(bench.turn.standing.is_ended());
}

#[test]
fn a_child_that_was_left_behind_is_dead_when_it_has_ended() {
    let left = Abandoned { operation: op("/invoke:old#1"), r#try: Try(1), child: Some(run(9)) };
    let switch = Entry::SourceSwitched {
        definition: "new".to_owned(),
        abandoned: vec![left],
        keeps_numbers: true,
    };
    let log = Log::started().with(switch).with(run_started());
    let mut bench = Bench::resume(log, Play::new(|s| s.returns(s.run())));
    assert_eq!(bench.turn.effects, [stop("/invoke:old#1", Some(run(9)))]);
    let outcome = RunOutcome::Cancelled { failure: None };
    bench.go(1, vec![child_ended(&run(9).farewell().0, "/invoke:old#1", outcome)]);
    assert_eq!(bench.kinds(), ["child.ended", "run.ended"]);
}

#[test]
fn a_kept_answer_is_there_as_soon_as_it_is_asked_for() {
    let ok = OperationResult::Ok { value: json!(5) };
    let failed = OperationResult::Failed { failure: error("no luck") };
    let play = || {
        Play::new(|s| s.ask(s.run(), shell("x")))
            .then(|s| {
                s.note_delivery();
                s.ask(s.run(), wait_for("go", 100));
            })
            .then(|s| {
                s.note_delivery();
                s.ask(s.run(), shell("x"));
            })
    };
    let log = moved(&[("/shell:x#1", ok), ("/wait:go#1", failed)]);
    let mut bench = Bench::resume(log, play());
    assert_eq!(bench.notes(), ["/shell:x#1 = 5", "/wait:go#1 ! Error: no luck"]);
    assert_eq!(
        bench.kinds(),
        [
            "operation.ordered",
            "operation.ended",
            "operation.ordered",
            "operation.ended",
            "operation.ordered"
        ]
    );
    // Only what has no kept answer is performed.
    bench.turn.effects.retain(|effect| matches!(effect, Effect::Perform { .. }));
    assert_eq!(bench.turn.effects.len(), 1);
    assert_eq!(bench.turn.effects[0].operation(), &op("/shell:x#2"));
    assert_eq!(bench.execution.timers().count(), 0);
    assert!(Bench::resume(bench.log, play()).turn.is_empty());
}

#[test]
fn the_run_keeps_what_it_started_with() {
    let bench = Bench::resume(moved(&[]), Play::new(|s| s.note_delivery()).then(|_| {}));
    assert_eq!(bench.notes(), [r#"run {"issue":7}"#]);
    assert_eq!(bench.execution.journal().start(), Some(&start()));
}

#[test]
fn what_is_dead_before_it_is_asked_for_again_is_performed_once_in_every_execution() {
    let play = || Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.ask(s.run(), shell("old")));
    let mut bench = Bench::resume(moved(&[]), play());
    bench.go(1, vec![stopped("/shell:old#1", 1)]);
    bench.go(2, vec![ended("/shell:x#1", 1, Value::Null)]);
    assert_eq!(bench.turn.effects.len(), 1, "{:?}", bench.turn.effects);
    let again = Bench::resume(bench.log, play());
    assert_eq!(again.turn.effects.len(), 1, "{:?}", again.turn.effects);
}

#[test]
fn a_run_that_only_waited_for_what_was_left_behind_has_stalled_when_that_is_dead() {
    let mut bench = Bench::resume(moved(&[]), Play::default());
    assert_eq!(bench.outcome(), None);
    bench.go(1, vec![stopped("/shell:old#1", 1)]);
    assert_eq!(bench.failure().kind, FailureKind::Stalled);
}

#[test]
fn a_child_that_was_left_behind_is_dead_by_its_own_end_only_and_once() {
    let left = Abandoned { operation: op("/invoke:old#1"), r#try: Try(1), child: Some(run(9)) };
    let switched = Entry::SourceSwitched {
        definition: "another".to_owned(),
        abandoned: vec![left],
        keeps_numbers: false,
    };
    let log = Log::started().with_all([switched, run_started()]);
    let mut bench = Bench::resume(log, Play::new(|s| s.ask(s.run(), shell("x"))));
    let outcome = || RunOutcome::Completed { output: Value::Null };
    let is_left = |bench: &Bench| bench.execution.performing().count() == 2;
    bench.go(1, vec![child_ended("child:another", "/invoke:old#1", outcome())]);
    assert!(is_left(&bench), "it was another one");
    bench.go(2, vec![stopped("/invoke:old#1", 1)]);
    assert!(!is_left(&bench));
    bench.go(3, vec![child_ended(&run(9).farewell().0, "/invoke:old#1", outcome())]);
    assert_eq!(bench.kinds(), ["child.ended"]);
}
