//! Commits that are refused.

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, Seq};

use super::fixture::Fixture;
use super::given::{
    COMPLETED, Held, PARKED, commit_one, create, head, key, message, notes, send_all, waiting,
};
use crate::bounds;
use crate::claim::ClaimMode;
use crate::commit::{CommitError, MalformedCommit, Outgoing, TurnCommit};

pub(super) async fn a_run_taken_over_takes_no_commit_of_the_old_owner(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (old, new) = (fixture.new_owner().await, fixture.new_owner().await);
    let held = Held::create(&*store, 1, old).await;
    let claim = store.claim(held.run, new, ClaimMode::TakeOver).await.expect("taken over");
    let stale = Err(CommitError::Stale { run: held.run, current: claim.epoch });

    assert_eq!(commit_one(&*store, held.turn(&["late"])).await, stale);
    let mut taken = Held { epoch: claim.epoch, ..held };
    taken.note(&*store, "of the new owner").await;
    // The old owner learns that it lost the run, not merely that the log is longer.
    assert_eq!(commit_one(&*store, held.turn(&["later"])).await, stale);
    assert_eq!(notes(&*store, held.run).await, ["of the new owner"]);
}

pub(super) async fn a_run_nobody_has_claimed_takes_no_commit(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;
    let current = head(&*store, run).await.epoch;

    let nobody = Held { run, epoch: current, head: Seq(1) };
    let refused = commit_one(&*store, nobody.turn(&["of nobody"])).await;
    assert_eq!(refused, Err(CommitError::Stale { run, current }));
    assert!(notes(&*store, run).await.is_empty());
}

pub(super) async fn an_ended_run_takes_no_commit(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    let behind = held;
    held.stand(&*store, COMPLETED).await;

    for late in [held, behind] {
        let refused = commit_one(&*store, late.turn(&["late"])).await;
        assert_eq!(refused, Err(CommitError::Ended { run: held.run }));
    }
    assert_eq!(notes(&*store, held.run).await, ["stands"]);
}

pub(super) async fn a_commit_without_entries_is_malformed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    send_all(&*store, held.run, &["m"]).await;
    let before = head(&*store, held.run).await;

    let empty = TurnCommit { consumed: vec![key("m")], standing: PARKED, ..held.turn(&[]) };
    let error = CommitError::Malformed { run: held.run, source: MalformedCommit::Empty };
    assert_eq!(commit_one(&*store, empty).await, Err(error));
    assert_eq!(head(&*store, held.run).await, before);
    assert_eq!(waiting(&*store, held.run).await, ["m"]);
}

pub(super) async fn a_commit_whose_entries_begin_elsewhere_is_malformed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;

    let mut elsewhere = held.turn(&["elsewhere"]);
    elsewhere.chunk.first = Seq(2);
    let source = MalformedCommit::Misplaced { first: Seq(2) };
    let error = CommitError::Malformed { run: held.run, source };
    assert_eq!(commit_one(&*store, elsewhere).await, Err(error));
    assert!(notes(&*store, held.run).await.is_empty());
}

pub(super) async fn a_commit_that_is_too_large_is_malformed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;

    let large = held.turn(&["x".repeat(bounds::COMMIT_BYTES / 2).as_str()]);
    let refused = commit_one(&*store, large).await;
    let Err(CommitError::Malformed { source: MalformedCommit::TooLarge { bytes }, .. }) = refused
    else {
        panic!("it is too large, and the answer was {refused:?}")
    };
    assert!(bytes > bounds::COMMIT_BYTES);
    assert!(notes(&*store, held.run).await.is_empty());
}

/// Whatever the reason, nothing of it has happened: not the entries, not the standing, no message came or went.
pub(super) async fn a_refused_commit_leaves_no_trace(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    let other = create(&*store, 2).await;
    send_all(&*store, held.run, &["m"]).await;
    let before = head(&*store, held.run).await;
    let whole = TurnCommit {
        consumed: vec![key("m")],
        standing: COMPLETED,
        outgoing: vec![Outgoing { to: other, message: message("out") }],
        ..held.turn(&["never"])
    };

    let behind = Chunk { first: Seq(0), ..whole.chunk.clone() };
    let mut misplaced = whole.clone();
    misplaced.chunk.first = Seq(9);
    let refused = [
        TurnCommit { epoch: Epoch(0), ..whole.clone() },
        TurnCommit { epoch: held.epoch.next(), ..whole.clone() },
        TurnCommit { expected: Seq(0), chunk: behind, ..whole.clone() },
        TurnCommit { consumed: vec![key("m"), key("absent")], ..whole.clone() },
        misplaced,
    ];
    for commit in refused {
        let answer = commit_one(&*store, commit.clone()).await;
        assert!(answer.is_err(), "{commit:?} has to be refused");
        assert_eq!(head(&*store, held.run).await, before, "after {answer:?}");
        assert!(notes(&*store, held.run).await.is_empty(), "after {answer:?}");
        assert_eq!(waiting(&*store, held.run).await, ["m"], "after {answer:?}");
        assert!(waiting(&*store, other).await.is_empty(), "after {answer:?}");
    }
    assert!(commit_one(&*store, whole).await.is_ok(), "nothing is in its way afterwards");
}

/// It was decided on the ground of what the refused one would have done.
pub(super) async fn after_a_refused_commit_the_next_of_its_run_conflicts(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    let run = held.run;

    let bad = TurnCommit { consumed: vec![key("absent")], ..held.turn(&["a"]) };
    let next = Held { head: Seq(2), ..held }.turn(&["b"]);
    let answers = store.commit(vec![bad, next]).await;
    let expected = [
        Err(CommitError::NotInInbox { run, key: key("absent") }),
        Err(CommitError::Conflict { run, head: Seq(1) }),
    ];
    assert_eq!(answers, expected);
    assert!(notes(&*store, run).await.is_empty());
}
