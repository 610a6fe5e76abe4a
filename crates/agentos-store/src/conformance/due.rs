//! Which runs need an owner.

use std::collections::BTreeSet;

use agentos_core::id::RunId;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;

use super::fixture::Fixture;
use super::given::{
    COMPLETED, Held, NOW, PARKED, WORKING, commit_one, create, due, key, run_id, send_all,
};
use crate::claim::ClaimMode;
use crate::commit::TurnCommit;
use crate::due::{Due, Except};

const LATER: Timestamp = Timestamp(NOW.0 + 60_000);
const JUST_BEFORE: Timestamp = Timestamp(LATER.0 - 1);

pub(super) async fn a_run_nobody_holds_is_due_while_it_works(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let fresh = create(&*store, 1).await;
    assert_eq!(
        store.due(NOW, &Except::new(), 100).await,
        Ok(vec![Due { run: fresh, wake_at: None }])
    );

    let interrupted = Held::create(&*store, 2, owner).await;
    interrupted.leave(&*store, Standing::Working { wake_at: Some(LATER) }).await;
    let mut all = store.due(NOW, &Except::new(), 100).await.expect("what is due can be read");
    all.sort_by_key(|due| due.run);
    let second = Due { run: interrupted.run, wake_at: Some(LATER) };
    assert_eq!(all, [Due { run: fresh, wake_at: None }, second]);
}

pub(super) async fn a_run_held_by_a_living_owner_is_not_due(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    send_all(&*store, held.run, &["m"]).await;

    assert!(due(&*store, LATER).await.is_empty(), "its owner sees to it");
    held.stand(&*store, Standing::Parked { wake_at: Some(NOW) }).await;
    assert!(due(&*store, LATER).await.is_empty(), "its owner sees to it, parked or not");
}

pub(super) async fn an_interrupted_run_is_due_when_its_owner_has_died(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (mortal, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let mut interrupted = Held::create(&*store, 1, mortal).await;
    interrupted.stand(&*store, WORKING).await;
    let mut waits = Held::create(&*store, 2, mortal).await;
    waits.stand(&*store, PARKED).await;
    let of_another = Held::create(&*store, 3, other).await;

    fixture.kill_owner(mortal).await;
    assert_eq!(due(&*store, NOW).await, [interrupted.run], "the other one only waits");
    send_all(&*store, waits.run, &["m"]).await;
    assert_eq!(due(&*store, NOW).await, [interrupted.run, waits.run]);
    fixture.kill_owner(other).await;
    assert_eq!(due(&*store, NOW).await, [interrupted.run, waits.run, of_another.run]);
}

pub(super) async fn a_parked_run_is_due_when_its_time_has_come(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let timed = Held::create(&*store, 1, owner).await;
    timed.leave(&*store, Standing::Parked { wake_at: Some(LATER) }).await;
    Held::create(&*store, 2, owner).await.leave(&*store, PARKED).await;

    assert_eq!(
        store.due(JUST_BEFORE, &Except::new(), 100).await,
        Ok(Vec::new()),
        "nobody is due yet"
    );
    let expected = vec![Due { run: timed.run, wake_at: Some(LATER) }];
    assert_eq!(
        store.due(LATER, &Except::new(), 100).await,
        Ok(expected.clone()),
        "at the very time"
    );
    assert_eq!(
        store.due(Timestamp(i64::MAX), &Except::new(), 100).await,
        Ok(expected),
        "and ever after"
    );
}

pub(super) async fn a_parked_run_is_due_while_a_message_waits(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    held.leave(&*store, PARKED).await;
    assert!(due(&*store, NOW).await.is_empty());

    send_all(&*store, held.run, &["m"]).await;
    assert_eq!(due(&*store, NOW).await, [held.run]);
    let woken = Held::claim(&*store, held.run, owner).await;
    let take = TurnCommit {
        consumed: vec![key("m")],
        standing: Standing::Parked { wake_at: Some(LATER) },
        ..woken.turn(&["m"])
    };
    assert!(commit_one(&*store, take).await.is_ok(), "its owner consumes it");
    store.release(woken.run, woken.epoch).await.expect("its owner releases it");
    assert!(due(&*store, NOW).await.is_empty(), "nothing waits any more");
}

pub(super) async fn an_ended_run_is_never_due(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    send_all(&*store, held.run, &["left behind"]).await;
    held.stand(&*store, COMPLETED).await;

    assert!(due(&*store, LATER).await.is_empty());
    fixture.kill_owner(owner).await;
    assert!(due(&*store, LATER).await.is_empty());
}

pub(super) async fn whoever_claims_what_is_due_sees_the_others_next(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut all = BTreeSet::new();
    for number in 1..=5 {
        all.insert(create(&*store, number).await);
    }
    let mut claimed = BTreeSet::new();
    while claimed.len() < all.len() {
        let page = store.due(NOW, &Except::new(), 2).await.expect("what is due can be read");
        assert!((1..=2).contains(&page.len()), "a page of two holds one or two while some are due");
        for Due { run, .. } in page {
            store.claim(run, owner, ClaimMode::IfFree).await.expect("what is due may be claimed");
            assert!(claimed.insert(run), "{run} is due though it was claimed");
        }
    }
    assert_eq!(claimed, all);
    assert!(due(&*store, NOW).await.is_empty());
}

pub(super) async fn those_left_out_make_room_for_the_others(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let (first, second) = (create(&*store, 1).await, create(&*store, 2).await);
    for (number, at) in [(3, NOW), (4, LATER)] {
        let parked = Held::create(&*store, number, owner).await;
        parked.leave(&*store, Standing::Parked { wake_at: Some(at) }).await;
    }
    let (overdue, timed) = (run_id(3), run_id(4));
    let due = async |except: &[RunId], limit| {
        let except: Except = except.iter().copied().collect();
        let due = store.due(NOW, &except, limit).await.expect("what is due can be read");
        due.into_iter().map(|due| due.run).collect::<BTreeSet<_>>()
    };
    assert_eq!(due(&[], 100).await, BTreeSet::from([first, second, overdue]));
    assert_eq!(due(&[first, overdue], 1).await, BTreeSet::from([second]));
    assert_eq!(due(&[first, second], 1).await, BTreeSet::from([overdue]));
    assert_eq!(due(&[first, second, overdue], 1).await, BTreeSet::new());

    let wake_at = async |except: &[RunId]| {
        let except: Except = except.iter().copied().collect();
        let outlook = store.outlook(owner, &except, 1).await;
        outlook.expect("the outlook can be read").wake_at
    };
    assert_eq!(wake_at(&[]).await, Some(NOW));
    assert_eq!(wake_at(&[overdue]).await, Some(LATER), "the next one is not hidden");
    assert_eq!(wake_at(&[overdue, timed]).await, None);
}
