//! What a commit sends to other runs.

use agentos_core::bounds::VALUE_BYTES;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::time::Timestamp;
use agentos_core::value::ValueError;
use serde_json::json;

use super::fixture::Fixture;
use super::given::{
    COMPLETED, Held, NOW, commit_one, create, head, key, message, name, notes, run_id, send_all,
    waiting,
};
use crate::commit::{CommitError, MalformedCommit, Outgoing, TurnCommit};
use crate::inbox::{MessageError, Received, Sent};

pub(super) async fn a_commit_sends_to_other_runs(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut child = Held::create(&*store, 1, owner).await;
    let parent = create(&*store, 2).await;
    let sibling = create(&*store, 3).await;
    send_all(&*store, parent, &["before"]).await;

    let at = Timestamp(NOW.0 + 5);
    let mut last = TurnCommit { standing: COMPLETED, ..child.turn(&["the end"]) };
    last.chunk.at = at;
    last.outgoing = vec![
        Outgoing { to: parent, message: message("z") },
        Outgoing { to: sibling, message: message("s") },
        Outgoing { to: parent, message: message("a") },
    ];
    child.commit(&*store, last).await;
    send_all(&*store, parent, &["after"]).await;

    let inbox = store.inbox(parent, 100).await.expect("an inbox can be read");
    let expected = [("before", NOW), ("z", at), ("a", at), ("after", NOW)];
    let expected = expected.map(|(text, at)| Received { at, message: message(text) });
    assert_eq!(inbox, expected);
    assert_eq!(waiting(&*store, sibling).await, ["s"]);
}

pub(super) async fn a_commit_sends_once_under_one_key(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut sender = Held::create(&*store, 1, owner).await;
    let mut target = Held::create(&*store, 2, owner).await;
    send_all(&*store, target.run, &["waits", "consumed"]).await;
    let take = TurnCommit { consumed: vec![key("consumed")], ..target.turn(&["consumed"]) };
    target.commit(&*store, take).await;

    let outgoing = ["waits", "consumed", "new", "new"];
    let outgoing = outgoing.map(|text| Outgoing { to: target.run, message: message(text) });
    let turn = TurnCommit { outgoing: outgoing.to_vec(), ..sender.turn(&["sends"]) };
    sender.commit(&*store, turn).await;

    assert_eq!(waiting(&*store, target.run).await, ["waits", "new"]);
    assert_eq!(store.send(target.run, message("new"), NOW).await, Ok(Sent::Duplicate));
}

/// The parent may have ended, or be gone: that is no reason for the child to go on for ever.
pub(super) async fn a_commit_is_applied_though_nobody_hears_it(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut sender = Held::create(&*store, 1, owner).await;
    let mut ended = Held::create(&*store, 2, owner).await;
    ended.stand(&*store, COMPLETED).await;

    let to = |run| Outgoing { to: run, message: message("end") };
    let outgoing = vec![to(run_id(99)), to(ended.run)];
    let turn = TurnCommit { outgoing, ..sender.turn(&["sends"]) };
    sender.commit(&*store, turn).await;

    assert_eq!(notes(&*store, sender.run).await, ["sends"]);
    assert!(waiting(&*store, ended.run).await.is_empty());
    assert!(store.head(run_id(99)).await.is_err(), "no run comes of a message");
}

pub(super) async fn a_message_of_a_commit_is_bounded(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    let to = create(&*store, 2).await;
    let payload = json!("x".repeat(VALUE_BYTES));
    let large = Message { key: key("m"), body: MessageBody::Signal { name: name("go"), payload } };
    let outgoing = vec![Outgoing { to, message: message("ok") }, Outgoing { to, message: large }];

    let refused = commit_one(&*store, TurnCommit { outgoing, ..held.turn(&["sends"]) }).await;
    let source = MessageError::Value(ValueError::TooLarge);
    let source = MalformedCommit::Outgoing { to, source };
    assert_eq!(refused, Err(CommitError::Malformed { run: held.run, source }));
    assert!(waiting(&*store, to).await.is_empty());
}

/// Else a parent would hear of an end that has not happened.
pub(super) async fn a_refused_commit_sends_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    let parent = create(&*store, 2).await;
    let behind = held;
    held.note(&*store, "first").await;

    let outgoing = vec![Outgoing { to: parent, message: message("end") }];
    let turn = TurnCommit { outgoing: outgoing.clone(), ..behind.turn(&["second"]) };
    assert!(commit_one(&*store, turn).await.is_err(), "it expects a shorter log");
    assert!(waiting(&*store, parent).await.is_empty());
    assert_eq!(head(&*store, parent).await.head.0, 1);

    let turn = TurnCommit { outgoing, ..held.turn(&["second"]) };
    held.commit(&*store, turn).await;
    assert_eq!(waiting(&*store, parent).await, ["end"], "its key was not used up");
}
