//! What a process that comes later finds: everything that was answered with success.

use super::fixture::Fixture;
use super::given::{
    Held, NOW, PARKED, commit_one, head, key, message, notes, read_tail, send_all, waiting,
};
use crate::claim::{ClaimError, ClaimMode};
use crate::commit::{CommitError, TurnCommit};
use crate::inbox::Sent;
use crate::list::RunFilter;
use crate::log::load_whole_log;
use crate::tail::TailCursor;

pub(super) async fn a_run_survives_reopening(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    held.note(&*store, "work").await;
    held.leave(&*store, PARKED).await;
    let log = load_whole_log(&*store, held.run).await.expect("a log can be read");
    let before = head(&*store, held.run).await;
    drop(store);

    let store = fixture.open().await;
    assert_eq!(head(&*store, held.run).await, before);
    let again = load_whole_log(&*store, held.run).await.expect("a log can be read");
    assert_eq!(again, log);
    assert_eq!(notes(&*store, held.run).await, ["work", "stands"]);
    let listed = store.list_runs(RunFilter::default(), None, 10).await.expect("it can be listed");
    assert_eq!(listed.runs.len(), 1);
    let next = Held::claim(&*store, held.run, owner).await;
    assert!(next.epoch > held.epoch, "epochs do not begin anew");
}

pub(super) async fn an_inbox_survives_reopening(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    send_all(&*store, held.run, &["b", "consumed", "a"]).await;
    let take = TurnCommit { consumed: vec![key("consumed")], ..held.turn(&["consumed"]) };
    held.commit(&*store, take).await;
    drop(store);

    let store = fixture.open().await;
    assert_eq!(waiting(&*store, held.run).await, ["b", "a"]);
    assert_eq!(store.send(held.run, message("consumed"), NOW).await, Ok(Sent::Duplicate));
    assert_eq!(waiting(&*store, held.run).await, ["b", "a"]);
}

/// A process that opens the store is not thereby the owner of anything, nor does it drive anybody out.
pub(super) async fn an_owner_survives_reopening(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (by, other) = (fixture.new_owner().await, fixture.new_owner().await);
    let mut held = Held::create(&*store, 1, by).await;
    let another = fixture.open().await;

    let refused = another.claim(held.run, other, ClaimMode::IfFree).await;
    assert_eq!(refused, Err(ClaimError::Owned { run: held.run, by, epoch: held.epoch }));
    held.note(&*store, "still the owner").await;
    fixture.kill_owner(by).await;
    let heir = Held::claim(&*another, held.run, other).await;
    assert_eq!(heir.head, held.head, "what one has committed the other sees");
    let late = commit_one(&*store, held.turn(&["late"])).await;
    assert_eq!(late, Err(CommitError::Stale { run: held.run, current: heir.epoch }));
}

pub(super) async fn a_tail_cursor_survives_reopening(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut cursor = TailCursor::start();
    let mut held = Held::create(&*store, 1, owner).await;
    held.note(&*store, "before").await;
    read_tail(fixture, &store, &mut cursor, (2, 10)).await;
    held.note(&*store, "between").await;
    let text = cursor.as_str().to_owned();
    drop(store);

    let store = fixture.open().await;
    let mut cursor = TailCursor::from_text(text);
    held.note(&*store, "after").await;
    let events = read_tail(fixture, &store, &mut cursor, (2, 10)).await;
    let firsts: Vec<u64> = events.iter().map(|event| event.chunk.first.0).collect();
    assert_eq!(firsts, [2, 3], "what came since, and nothing twice");
}
