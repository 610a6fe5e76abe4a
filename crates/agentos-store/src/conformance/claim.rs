//! Claiming runs.

use agentos_core::id::Epoch;

use super::fixture::Fixture;
use super::given::{COMPLETED, Held, PARKED, commit_one, create, head, notes, send_all, waiting};
use crate::claim::{Claim, ClaimError, ClaimMode};
use crate::commit::CommitError;
use crate::run::Head;

pub(super) async fn every_claim_makes_the_epoch_larger(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (one, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let run = create(&*store, 1).await;

    let mut latest = Epoch(0);
    for owner in [one, one, other, one] {
        let claim = store.claim(run, owner, ClaimMode::TakeOver).await.expect("it may be claimed");
        assert!(claim.epoch > latest, "{:?} is larger than {latest:?}", claim.epoch);
        latest = claim.epoch;
        let head = head(&*store, run).await;
        assert_eq!((head.owner, head.epoch), (Some(owner), latest));
    }
    store.release(run, latest).await.expect("its owner releases it");
    let claim = store.claim(run, other, ClaimMode::IfFree).await.expect("it is free");
    assert!(claim.epoch > latest, "a release does not begin the epochs anew");
}

pub(super) async fn a_living_owners_run_is_not_given_away(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (by, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let mut held = Held::create(&*store, 1, by).await;
    let before = head(&*store, held.run).await;

    let refused = store.claim(held.run, other, ClaimMode::IfFree).await;
    let owned = ClaimError::Owned { run: held.run, by, epoch: held.epoch };
    assert_eq!(refused, Err(owned));
    assert_eq!(head(&*store, held.run).await, before, "a refused claim changes nothing");
    held.note(&*store, "still the owner").await;
}

pub(super) async fn a_dead_owners_run_is_given_away(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (dead, heir) = (fixture.new_owner().await, fixture.new_owner().await);
    let mut held = Held::create(&*store, 1, dead).await;
    held.note(&*store, "before").await;
    fixture.kill_owner(dead).await;

    let mut inherited = Held::claim(&*store, held.run, heir).await;
    assert_eq!(inherited.head, held.head);
    let late = commit_one(&*store, held.turn(&["of the dead"])).await;
    assert_eq!(late, Err(CommitError::Stale { run: held.run, current: inherited.epoch }));
    inherited.note(&*store, "after").await;
    assert_eq!(notes(&*store, held.run).await, ["before", "after"]);
}

pub(super) async fn a_living_owner_is_taken_over_only_on_demand(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (hung, next) = (fixture.new_owner().await, fixture.new_owner().await);
    let held = Held::create(&*store, 1, hung).await;

    assert!(store.claim(held.run, next, ClaimMode::IfFree).await.is_err(), "not without demand");
    let claim = store.claim(held.run, next, ClaimMode::TakeOver).await.expect("on demand");
    assert_eq!(head(&*store, held.run).await.owner, Some(next));
    let late = commit_one(&*store, held.turn(&["of the hung"])).await;
    assert_eq!(late, Err(CommitError::Stale { run: held.run, current: claim.epoch }));
}

/// It may have forgotten that it has the run, or have commits on their way of which it knows nothing any more.
pub(super) async fn an_owner_that_claims_again_shuts_out_its_older_self(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let older = Held::create(&*store, 1, owner).await;
    let mut newer = Held::claim(&*store, older.run, owner).await;

    let late = commit_one(&*store, older.turn(&["older"])).await;
    assert_eq!(late, Err(CommitError::Stale { run: older.run, current: newer.epoch }));
    newer.note(&*store, "newer").await;
    assert_eq!(notes(&*store, older.run).await, ["newer"]);
}

/// It could not keep the run: the next who looks would find it free.
pub(super) async fn a_dead_owner_claims_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let run = create(&*store, 1).await;
    fixture.kill_owner(owner).await;

    for mode in [ClaimMode::IfFree, ClaimMode::TakeOver] {
        let refused = store.claim(run, owner, mode).await;
        assert_eq!(refused, Err(ClaimError::NotAlive { owner }));
    }
    assert_eq!(head(&*store, run).await.owner, None);
}

pub(super) async fn an_ended_run_is_not_claimed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (owner, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let mut held = Held::create(&*store, 1, owner).await;
    held.stand(&*store, COMPLETED).await;
    let before = head(&*store, held.run).await;

    for (claimer, mode) in [(owner, ClaimMode::IfFree), (other, ClaimMode::TakeOver)] {
        let refused = store.claim(held.run, claimer, mode).await;
        assert_eq!(refused, Err(ClaimError::Ended { run: held.run }));
    }
    assert_eq!(head(&*store, held.run).await, before);
}

pub(super) async fn a_claim_leaves_log_inbox_and_standing_alone(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    held.leave(&*store, PARKED).await;
    send_all(&*store, held.run, &["m"]).await;
    let before = head(&*store, held.run).await;

    let claim = store.claim(held.run, owner, ClaimMode::IfFree).await.expect("it is free");
    assert_eq!(claim, Claim { epoch: claim.epoch, head: before.head, standing: PARKED });
    let expected = Head { epoch: claim.epoch, owner: Some(owner), ..before };
    assert_eq!(head(&*store, held.run).await, expected);
    assert_eq!(waiting(&*store, held.run).await, ["m"]);
    assert_eq!(notes(&*store, held.run).await, ["stands"]);
}
