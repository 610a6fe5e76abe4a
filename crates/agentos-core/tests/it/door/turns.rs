//! What a turn hands to its driver: entries, effects, and where the run stands.

use agentos_core::bounds;
use agentos_core::execution::{Execution, Options};
use agentos_core::id::{Attempt, Epoch, InboxKey, Occurrence, OwnerId, RunId, Seq, Try};
use agentos_core::journal::Journal;
use agentos_core::operation::Request;
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::{Millis, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::bench::{Bench, cancel, ended, interrupted, signal};
use crate::support::fact::{error, thrice};
use crate::support::log::Log;
use crate::support::play::{Play, shell, sleep, wait};

fn in_turns_of(turn_entries: usize, play: Play) -> Bench {
    let options = Options { turn_entries, ..Options::default() };
    Bench::try_resume(Log::started(), play, options).expect("the program goes with its log")
}

/// Ten pure operations, one after the other.
fn ten_in_a_row() -> Play {
    let first = Play::new(|s| s.ask(s.run(), sleep("x", 0)));
    let nine = (1..10).fold(first, |play, _| play.then(|s| s.ask(s.run(), sleep("x", 0))));
    nine.then(|s| s.returns(s.run()))
}

#[test]
fn a_turn_is_cut_at_its_bound_and_goes_on_at_once() {
    let whole = Bench::start(ten_in_a_row());
    assert!(!whole.turn.more && whole.turn.chunk.entries.len() == 21);
    let mut cut = in_turns_of(4, ten_in_a_row());
    let mut sizes = vec![cut.turn.chunk.entries.len()];
    while cut.turn.more {
        assert_eq!(cut.turn.standing, Standing::Working { wake_at: None });
        cut.go(0, Vec::new());
        sizes.push(cut.turn.chunk.entries.len());
    }
    assert_eq!(sizes, [4, 4, 4, 4, 4, 1]);
    assert_eq!(cut.log.records(), whole.log.records());
}

#[test]
fn a_turn_is_not_cut_where_nothing_is_left_to_deliver() {
    let play = Play::new(|s| {
        s.ask(s.run(), shell("x"));
        s.ask(s.run(), shell("y"));
        s.ask(s.run(), shell("z"));
    });
    let bench = in_turns_of(1, play);
    assert!(!bench.turn.more);
    assert_eq!((bench.kinds().len(), bench.turn.effects.len()), (3, 3));
}

/// A driver that dies after this commit must find the run again: what is parked is looked at by nobody.
#[test]
fn a_run_whose_turn_was_cut_is_not_parked() {
    let play = Play::new(|s| {
        s.ask(s.run(), wait("go"));
        s.ask(s.run(), wait("go"));
    })
    .then(|s| s.note_delivery())
    .then(|s| s.note_delivery());
    let mut bench = in_turns_of(1, play);
    bench.go(1, vec![signal("k", "go", json!(1))]);
    while bench.turn.more {
        assert_eq!(bench.turn.standing, Standing::Working { wake_at: None });
        bench.go(1, Vec::new());
    }
    assert_eq!(bench.notes(), ["/wait:go#1 = 1", "/wait:go#2 = 1"]);
}

#[test]
fn a_run_stands_as_what_it_waits_for() {
    let standing = |play| Bench::start(play).turn.standing;
    let at = |ms| Some(Timestamp(ms));
    let asks = |requests: fn() -> Vec<Request>| {
        Play::new(move |s| requests().into_iter().for_each(|request| s.ask(s.run(), request)))
    };
    assert_eq!(standing(asks(|| vec![shell("x")])), Standing::Working { wake_at: None });
    assert_eq!(
        standing(asks(|| vec![shell("x"), sleep("x", 9), sleep("y", 5)])),
        Standing::Working { wake_at: at(5) }
    );
    assert_eq!(standing(asks(|| vec![wait("go")])), Standing::Parked { wake_at: None });
    assert_eq!(
        standing(asks(|| vec![wait("go"), sleep("x", 9)])),
        Standing::Parked { wake_at: at(9) }
    );
    let retrying = Play::new(|s| s.step(s.run(), "a", thrice()))
        .then(|s| s.throws(s.body(), error("no luck")));
    assert_eq!(standing(retrying), Standing::Parked { wake_at: at(100) });
}

#[test]
fn a_run_that_is_over_stands_as_it_ended() {
    let completed = Bench::start(Play::new(|s| s.returns(s.run())));
    let failed = Bench::start(Play::new(|s| s.throws(s.run(), error("no luck"))));
    let mut cancelled =
        Bench::start(Play::new(|s| s.ask(s.run(), wait("go"))).then(|s| s.returns(s.run())));
    cancelled.go(1, vec![cancel("k")]);
    for (bench, status) in [
        (completed, EndStatus::Completed),
        (failed, EndStatus::Failed),
        (cancelled, EndStatus::Cancelled),
    ] {
        assert_eq!(bench.turn.standing, Standing::Ended { status });
        assert!(bench.turn.standing.is_ended());
        assert_eq!(bench.turn.standing.wake_at(), None);
    }
}

#[test]
fn a_standing_says_when_to_wake_the_run() {
    let wake_at = Some(Timestamp(5));
    assert_eq!(Standing::Working { wake_at }.wake_at(), wake_at);
    assert_eq!(Standing::Parked { wake_at }.wake_at(), wake_at);
    assert!(!Standing::Parked { wake_at }.is_ended());
}

#[test]
fn a_run_that_has_not_started_has_nothing_to_do() {
    let play = Play::new(|s| s.note_delivery());
    let (mut execution, turn) =
        Execution::replay(play, Journal::default(), Options::default(), Timestamp(5)).unwrap();
    assert!(turn.is_empty() && !turn.more && turn.effects.is_empty());
    assert_eq!(turn.standing, Standing::Parked { wake_at: None });
    assert!(execution.advance(Vec::new(), Timestamp(6)).unwrap().is_empty());
    assert!(execution.journal().is_empty() && execution.outcome().is_none());
    assert_eq!(execution.program().notes(), [""; 0]);
}

#[test]
fn what_the_world_owes_is_known() {
    let mut bench = Bench::start(
        Play::new(|s| {
            s.ask(s.run(), shell("x"));
            s.ask(s.run(), sleep("x", 5));
            s.ask(s.run(), shell("y"));
        })
        .then(|_| {}),
    );
    let owed = |bench: &Bench| -> Vec<(String, u32)> {
        let owed = bench.execution.performing();
        owed.map(|(id, r#try)| (id.to_string(), r#try.0)).collect()
    };
    assert_eq!(owed(&bench), [("/shell:x#1".to_owned(), 1), ("/shell:y#1".to_owned(), 1)]);
    bench.go(1, vec![interrupted("/shell:y#1", 1), ended("/shell:x#1", 1, Value::Null)]);
    assert_eq!(owed(&bench), [("/shell:y#1".to_owned(), 2)]);
    assert_eq!(bench.execution.journal().len(), 7);
}

#[test]
fn ids_and_spans_are_shown_as_the_numbers_they_are() {
    let shown = [
        Seq::FIRST.next().to_string(),
        Epoch(7).to_string(),
        Attempt::FIRST.to_string(),
        Try::FIRST.next().to_string(),
        Occurrence(3).to_string(),
        InboxKey("k".to_owned()).to_string(),
        Timestamp(-5).to_string(),
    ];
    assert_eq!(shown.join(" "), "1 7 1 2 3 k -5 ms");
    let uuid = "00000000-0000-0000-0000-00000000002a";
    assert_eq!(RunId(Uuid::from_u128(42)).to_string(), uuid);
    assert_eq!(OwnerId(Uuid::from_u128(42)).to_string(), uuid);
    assert_eq!(Seq(u64::MAX).next(), Seq(u64::MAX));
}

#[test]
fn spans_are_cut_to_ten_years_and_moments_do_not_overflow() {
    let ten_years = Millis::new(u64::MAX);
    assert_eq!(ten_years, Millis::from(bounds::DELAY_MS));
    assert_eq!(serde_json::from_str::<Millis>("18446744073709551615").unwrap(), ten_years);
    assert_eq!(serde_json::to_string(&Millis::new(5)).unwrap(), "5");
    assert!(Millis::ZERO.is_zero() && !ten_years.is_zero());
    assert_eq!(Timestamp(i64::MAX - 1).after(ten_years), Timestamp(i64::MAX));
}
