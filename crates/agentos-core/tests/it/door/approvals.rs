//! Questions to people: a decision answers one question, once, and is never kept for another.

use agentos_core::operation::Request;
use agentos_core::standing::Standing;
use agentos_core::time::Millis;
use serde_json::json;

use crate::support::bench::{Bench, cancel, decision, ended, signal, timer};
use crate::support::fact::{key, name};
use crate::support::play::{Play, approve, shell, wait};

fn asks() -> Play {
    Play::new(|s| s.ask(s.run(), approve("ship"))).then(|s| {
        s.note_delivery();
        s.returns(s.run());
    })
}

#[test]
fn a_decision_answers_its_question() {
    for approved in [true, false] {
        let mut bench = Bench::start(asks());
        assert_eq!(bench.turn.standing, Standing::Parked { wake_at: None });
        bench.go(1, vec![decision("k", "/approve:ship#1", approved)]);
        assert_eq!(bench.kinds(), ["approval.given", "signal.consumed", "run.ended"]);
        let answer = json!({ "approved": approved, "by": "me", "comment": null });
        assert_eq!(bench.notes(), [format!("/approve:ship#1 = {answer}")]);
    }
}

#[test]
fn the_first_decision_counts() {
    let mut bench = Bench::start(asks());
    let both = [true, false]
        .map(|approved| decision(if approved { "k" } else { "l" }, "/approve:ship#1", approved));
    bench.go(1, both.into());
    assert_eq!(bench.turn.consumed, [key("k"), key("l")]);
    assert!(bench.notes()[0].contains(r#""approved":true"#), "{:?}", bench.notes());
}

#[test]
fn a_decision_on_a_question_that_is_not_open_is_not_kept() {
    let play = Play::new(|s| s.ask(s.run(), shell("x"))).then(|s| s.ask(s.run(), approve("ship")));
    let mut bench = Bench::start(play);
    bench.go(1, vec![decision("k", "/approve:ship#1", true)]);
    assert_eq!((bench.kinds(), bench.turn.consumed.len()), (vec!["approval.given"], 1));
    bench.go(2, vec![ended("/shell:x#1", 1, json!(1))]);
    assert_eq!(bench.kinds(), ["operation.ended", "operation.ordered"]);
    assert_eq!(bench.outcome(), None);
}

#[test]
fn a_decision_on_what_is_no_question_decides_nothing() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), wait("go"));
    });
    let mut bench = Bench::start(play);
    let wrong = ["/shell:x#1", "/wait:go#1", "/set:x#1"];
    let decisions = wrong.map(|id| decision(id, id, true));
    bench.go(1, decisions.into());
    assert_eq!(bench.kinds(), ["approval.given"; 3]);
    assert_eq!(bench.execution.performing().count(), 1);
}

#[test]
fn a_signal_of_the_same_name_is_no_decision() {
    let mut bench = Bench::start(asks());
    bench.go(1, vec![signal("k", "ship", json!({ "approved": true }))]);
    assert_eq!(bench.kinds(), ["signal.arrived"]);
}

#[test]
fn a_question_that_nobody_answers_in_time_fails_by_its_own_words() {
    let question = || Request::approve(name("ship"), "may it go on?", Some(Millis::new(50)));
    let play = Play::new(move |s| s.ask(s.run(), question())).then(|s| s.note_delivery());
    let mut bench = Bench::start(play);
    bench.go(50, vec![timer("/approve:ship#1")]);
    let said = "/approve:ship#1 ! Timeout: nobody answered in time: may it go on?";
    assert_eq!(bench.notes(), [said]);
}

#[test]
fn a_question_of_a_cancelled_run_is_taken_back() {
    let mut bench = Bench::start(asks());
    bench.go(1, vec![cancel("k")]);
    assert_eq!(bench.notes(), ["/approve:ship#1 ! Cancelled: cancelled"]);
    assert!(bench.turn.standing.is_ended());
}
