//! Giving runs back.

use super::fixture::Fixture;
use super::given::{Held, commit_one, head, notes};
use crate::claim::{ClaimMode, ReleaseError};
use crate::commit::CommitError;
use crate::run::Head;

pub(super) async fn a_released_run_is_free(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (owner, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let mut held = Held::create(&*store, 1, owner).await;
    held.note(&*store, "work").await;
    let before = head(&*store, held.run).await;

    assert_eq!(store.release(held.run, held.epoch).await, Ok(()));
    assert_eq!(head(&*store, held.run).await, Head { owner: None, ..before });
    let next = store.claim(held.run, other, ClaimMode::IfFree).await.expect("it is free");
    assert_eq!(next.head, held.head);
}

/// Else two would write: who has released it, and who has not claimed it yet.
pub(super) async fn a_released_run_takes_no_commit(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    store.release(held.run, held.epoch).await.expect("its owner releases it");

    let late = commit_one(&*store, held.turn(&["late"])).await;
    assert_eq!(late, Err(CommitError::Stale { run: held.run, current: held.epoch }));
    assert!(notes(&*store, held.run).await.is_empty());
}

pub(super) async fn releasing_twice_is_releasing_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;

    assert_eq!(store.release(held.run, held.epoch).await, Ok(()));
    let before = head(&*store, held.run).await;
    assert_eq!(store.release(held.run, held.epoch).await, Ok(()));
    assert_eq!(head(&*store, held.run).await, before);
}

pub(super) async fn a_stale_release_changes_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (slow, next) = (fixture.new_owner().await, fixture.new_owner().await);
    let old = Held::create(&*store, 1, slow).await;
    let claim = store.claim(old.run, next, ClaimMode::TakeOver).await.expect("it is taken over");
    let before = head(&*store, old.run).await;

    let refused = store.release(old.run, old.epoch).await;
    assert_eq!(refused, Err(ReleaseError::Stale { run: old.run, current: claim.epoch }));
    assert_eq!(head(&*store, old.run).await, before);
    let mut held = Held { epoch: claim.epoch, ..old };
    held.note(&*store, "still the owner").await;
}
