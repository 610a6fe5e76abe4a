//! What an owner has to look to.

use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;

use super::fixture::Fixture;
use super::given::{Held, NOW, PARKED, commit_one, key, send_all};
use crate::commit::TurnCommit;
use crate::due::{Except, Outlook};

const SOON: Timestamp = Timestamp(NOW.0 + 1_000);
const LATER: Timestamp = Timestamp(NOW.0 + 60_000);

pub(super) async fn an_owner_is_told_of_messages_for_its_runs(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (owner, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let works = Held::create(&*store, 1, owner).await;
    let mut waits = Held::create(&*store, 2, owner).await;
    waits.stand(&*store, PARKED).await;
    let silent = Held::create(&*store, 3, owner).await;
    let of_another = Held::create(&*store, 4, other).await;
    let free = Held::create(&*store, 5, owner).await;
    free.leave(&*store, PARKED).await;
    assert_eq!(store.outlook(owner, &Except::new(), 100).await, Ok(Outlook::default()));

    for run in [works.run, waits.run, of_another.run, free.run] {
        send_all(&*store, run, &["m"]).await;
    }
    let mut told =
        store.outlook(owner, &Except::new(), 100).await.expect("the outlook can be read").addressed;
    told.sort();
    let mut expected = [works.run, waits.run];
    expected.sort();
    assert_eq!(told, expected, "not {}", silent.run);
    let told =
        store.outlook(owner, &Except::new(), 1).await.expect("the outlook can be read").addressed;
    assert_eq!(told.len(), 1, "at most so many");

    let take = TurnCommit { consumed: vec![key("m")], ..works.turn(&["m"]) };
    assert!(commit_one(&*store, take).await.is_ok(), "its owner consumes it");
    let told =
        store.outlook(owner, &Except::new(), 100).await.expect("the outlook can be read").addressed;
    assert_eq!(told, [waits.run], "what was consumed waits no more");
}

pub(super) async fn an_owner_is_told_when_the_next_parked_run_has_its_time(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (owner, mortal) = (fixture.new_owner().await, fixture.new_owner().await);
    let wake_at = async || {
        store.outlook(owner, &Except::new(), 100).await.expect("the outlook can be read").wake_at
    };
    assert_eq!(wake_at().await, None);

    let timed = Held::create(&*store, 1, owner).await;
    timed.leave(&*store, Standing::Parked { wake_at: Some(LATER) }).await;
    Held::create(&*store, 2, owner).await.leave(&*store, PARKED).await;
    let works = Held::create(&*store, 3, owner).await;
    works.leave(&*store, Standing::Working { wake_at: Some(NOW) }).await;
    assert_eq!(wake_at().await, Some(LATER), "only what is parked has to be woken");

    let mut held = Held::create(&*store, 4, mortal).await;
    held.stand(&*store, Standing::Parked { wake_at: Some(SOON) }).await;
    assert_eq!(wake_at().await, Some(LATER), "whoever holds a run wakes it");
    fixture.kill_owner(mortal).await;
    assert_eq!(wake_at().await, Some(SOON), "the dead wake nobody");
}
