//! Commits that are applied, and their neighbours in the batch.

use agentos_core::id::{Epoch, Seq};

use super::fixture::Fixture;
use super::given::{COMPLETED, Held, PARKED, commit_one, head, notes};
use crate::claim::ClaimMode;
use crate::commit::{CommitError, Committed, MalformedCommit, TurnCommit};
use crate::run::Head;
use crate::store::Store;

pub(super) async fn a_commit_appends_and_says_where_the_log_ends(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;

    let turn = TurnCommit { standing: PARKED, ..held.turn(&["a", "b"]) };
    assert_eq!(commit_one(&*store, turn).await, Ok(Committed { head: Seq(3) }));
    let next = Held { head: Seq(3), ..held }.turn(&["c"]);
    let next = TurnCommit { standing: PARKED, ..next };
    assert_eq!(commit_one(&*store, next).await, Ok(Committed { head: Seq(4) }));

    assert_eq!(notes(&*store, held.run).await, ["a", "b", "c"]);
    let expected = Head { head: Seq(4), epoch: held.epoch, owner: Some(owner), standing: PARKED };
    assert_eq!(head(&*store, held.run).await, expected);
}

pub(super) async fn commits_of_one_run_in_a_batch_are_applied_in_order(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    let second = Held { head: Seq(2), ..held };
    let third = Held { head: Seq(4), ..held };

    let batch = vec![held.turn(&["a"]), second.turn(&["b", "c"]), third.turn(&["d"])];
    let answers = store.commit(batch).await;
    let heads = [2, 4, 5].map(|head| Ok(Committed { head: Seq(head) }));
    assert_eq!(answers, heads);
    assert_eq!(notes(&*store, held.run).await, ["a", "b", "c", "d"]);
}

pub(super) async fn answers_come_in_the_order_of_the_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut batch = Vec::new();
    let mut expected = Vec::new();
    // Lengths differ, so that every answer differs; ids run against the order of the batch.
    for length in 1..=5_u64 {
        let held = Held::create(&*store, 100 - u128::from(length), owner).await;
        let texts = vec!["x"; usize::try_from(length).expect("five fits")];
        batch.push(held.turn(&texts));
        expected.push(Ok(Committed { head: Seq(1 + length) }));
    }
    assert_eq!(store.commit(batch).await, expected);
}

pub(super) async fn an_empty_batch_has_no_answers(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.commit(Vec::new()).await, []);
}

/// A stale owner in the same process must not take down the runs that it shares a transaction with.
pub(super) async fn a_commit_made_here_is_like_any_other(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    let other = Held::create(&*store, 2, owner).await;
    held.note(&*store, "before").await;

    let stale = TurnCommit { epoch: Epoch(0), ..other.turn(&["stale"]) };
    let answers = store.commit_here(vec![held.turn(&["here"]), stale]).await;
    let current = other.epoch;
    let applied = Committed { head: held.head.next() };
    let refused = CommitError::Stale { run: other.run, current };
    assert_eq!(answers, [Ok(applied), Err(refused)]);

    held.head = applied.head;
    held.note(&*store, "after").await;
    assert_eq!(notes(&*store, held.run).await, ["before", "here", "after"]);
    assert_eq!(notes(&*store, other.run).await, [""; 0]);
}

pub(super) async fn a_stale_commit_fails_alone_in_its_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (owner, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let stale = Held::create(&*store, 2, owner).await;
    let claim = store.claim(stale.run, other, ClaimMode::TakeOver).await.expect("taken over");

    let error = CommitError::Stale { run: stale.run, current: claim.epoch };
    assert_fails_alone(fixture, &*store, stale.turn(&["stale"]), error).await;
}

pub(super) async fn a_conflicting_commit_fails_alone_in_its_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 2, owner).await;
    let behind = held;
    held.note(&*store, "first").await;

    let error = CommitError::Conflict { run: held.run, head: held.head };
    assert_fails_alone(fixture, &*store, behind.turn(&["second"]), error.clone()).await;
    let ahead = Held { head: Seq(held.head.0 + 1), ..held };
    assert_eq!(commit_one(&*store, ahead.turn(&["gap"])).await, Err(error), "no gaps either");
}

pub(super) async fn a_malformed_commit_fails_alone_in_its_batch(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 2, owner).await;

    let error = CommitError::Malformed { run: held.run, source: MalformedCommit::Empty };
    assert_fails_alone(fixture, &*store, held.turn(&[]), error).await;
}

/// Commits `bad` between two good ones of runs 1 and 3: it gets `error`, they are applied.
async fn assert_fails_alone(
    fixture: &dyn Fixture,
    store: &dyn Store,
    bad: TurnCommit,
    error: CommitError,
) {
    let owner = fixture.new_owner().await;
    let before = Held::create(store, 1, owner).await;
    let after = Held::create(store, 3, owner).await;
    let untouched = (head(store, bad.run).await, notes(store, bad.run).await);
    let run = bad.run;

    let batch = vec![before.turn(&["before"]), bad, after.turn(&["after"])];
    let answers = store.commit(batch).await;

    let applied = Ok(Committed { head: Seq(2) });
    assert_eq!(answers, [applied.clone(), Err(error), applied]);
    assert_eq!(notes(store, before.run).await, ["before"]);
    assert_eq!(notes(store, after.run).await, ["after"]);
    assert_eq!((head(store, run).await, notes(store, run).await), untouched);
}

/// An answer may be lost, and the commit be made again.
pub(super) async fn a_commit_carried_out_twice_is_applied_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    let turn = held.turn(&["once"]);

    assert_eq!(commit_one(&*store, turn.clone()).await, Ok(Committed { head: Seq(2) }));
    let again = CommitError::Conflict { run: held.run, head: Seq(2) };
    assert_eq!(commit_one(&*store, turn.clone()).await, Err(again.clone()));
    assert_eq!(store.commit(vec![turn.clone(), turn]).await, [Err(again.clone()), Err(again)]);
    assert_eq!(notes(&*store, held.run).await, ["once"]);
}

/// Who is dead is known only roughly; the epoch is what counts.
pub(super) async fn an_owner_presumed_dead_commits_until_somebody_claims(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    fixture.kill_owner(owner).await;

    held.note(&*store, "on its way when it died").await;
    let heir = fixture.new_owner().await;
    let claimed = Held::claim(&*store, held.run, heir).await;
    assert_eq!(claimed.head, held.head);
    assert!(commit_one(&*store, held.turn(&["too late"])).await.is_err(), "not afterwards");
}

pub(super) async fn a_commit_that_ends_the_run_releases_it(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    held.stand(&*store, COMPLETED).await;

    let ended = Head { head: Seq(2), epoch: held.epoch, owner: None, standing: COMPLETED };
    assert!(ended.epoch > Epoch(0), "it was claimed");
    assert_eq!(head(&*store, held.run).await, ended);
    assert_eq!(store.release(held.run, held.epoch).await, Ok(()), "releasing it again is fine");
    assert_eq!(head(&*store, held.run).await, ended);
}
