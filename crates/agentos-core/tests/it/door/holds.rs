//! Operations that can't be begun yet: a wait of the run, answered by a person or by the clock.

use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{Hold, HoldKind, RunOutcome};
use agentos_core::id::Try;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use serde_json::{Value, json};

use crate::support::bench::{Bench, cancel, decision, ended, stopped, timer};
use crate::support::fact::op;
use crate::support::play::{Play, shell};

const X: &str = "/shell:x#1";

fn play() -> Play {
    Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| {
        s.note_delivery();
        s.returns(s.run());
    })
}

fn held(kind: HoldKind, subject: Option<&str>, until: Option<i64>) -> Happening {
    let hold = Hold {
        kind,
        message: "it is not trusted".to_owned(),
        subject: subject.map(str::to_owned),
        until: until.map(Timestamp),
    };
    Happening::Held { operation: op(X), r#try: Try(1), hold }
}

fn asks() -> Happening {
    held(HoldKind::Approval, Some("00ff"), None)
}

fn granted(bench: &Bench) -> Vec<Option<String>> {
    let performed = bench.turn.effects.iter().filter_map(|effect| match effect {
        Effect::Perform { granted, .. } => Some(granted.clone()),
        Effect::Stop { .. } => None,
    });
    performed.collect()
}

#[test]
fn a_held_operation_waits_and_is_tried_again_with_what_was_approved() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![asks()]);
    assert_eq!(bench.kinds(), ["operation.held"]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
    let asked: Vec<_> = bench.execution.journal().held_for_approval().collect();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].0, asked[0].2.subject.as_deref()), (&op(X), Some("00ff")));
    // Whoever takes the run up meanwhile performs nothing.
    let mut bench = Bench::resume(bench.log, play());
    assert_eq!(bench.turn.effects, []);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
    bench.go(9, vec![decision("k", X, true)]);
    assert_eq!(bench.kinds(), ["approval.given", "operation.released"]);
    assert_eq!(granted(&bench), [Some("00ff".to_owned())]);
    // It is remembered by whoever comes after a crash.
    let mut again = Bench::resume(bench.log, play());
    assert_eq!(granted(&again), [Some("00ff".to_owned())]);
    again.go(10, vec![ended(X, 1, json!(7))]);
    assert_eq!(again.notes(), ["/shell:x#1 = 7"]);
    assert_eq!(Bench::resume(again.log, play()).notes(), ["/shell:x#1 = 7"]);
}

#[test]
fn a_decision_counts_for_the_question_that_was_seen_and_no_other() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![decision("early", X, true)]);
    bench.go(2, vec![asks()]);
    bench.go(3, vec![decision("k", X, true)]);
    bench.go(4, vec![held(HoldKind::Approval, Some("1111"), None)]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
    let mut again = Bench::resume(bench.log, play());
    assert_eq!(again.turn.effects, [], "what was approved before is not this");
    again.go(5, vec![decision("l", X, false)]);
    assert_eq!(again.kinds(), ["approval.given", "operation.ended", "run.ended"]);
    assert_eq!(
        again.notes(),
        ["/shell:x#1 ! NonRetryable: me did not approve it: it is not trusted"]
    );
}

#[test]
fn what_waits_for_room_is_tried_again_by_the_clock() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![held(HoldKind::Disk, None, Some(30))]);
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(30)) });
    let mut bench = Bench::resume(bench.log, play());
    assert_eq!(bench.turn.standing, Standing::Parked { wake_at: Some(Timestamp(30)) });
    bench.go(29, vec![timer(X)]);
    assert_eq!(bench.kinds(), Vec::<&str>::new());
    bench.go(30, vec![timer(X)]);
    assert_eq!(bench.kinds(), ["operation.released"]);
    assert_eq!(granted(&bench), [None]);
    assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
    bench.go(31, vec![ended(X, 1, Value::Null)]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::Completed { .. })));
}

#[test]
fn a_run_that_is_cancelled_does_not_wait_for_an_approval() {
    let mut bench = Bench::start(play());
    bench.go(1, vec![held(HoldKind::Disk, None, Some(30))]);
    bench.go(2, vec![cancel("c")]);
    assert_eq!(bench.turn.effects, [Effect::Stop { operation: op(X), r#try: Try(1), child: None }]);
    bench.go(30, vec![timer(X), decision("k", X, true)]);
    assert_eq!(bench.kinds(), ["approval.given"]);
    bench.go(31, vec![stopped(X, 1)]);
    assert!(matches!(bench.outcome(), Some(RunOutcome::Cancelled { .. })));
}
