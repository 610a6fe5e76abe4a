//! Messages that wait for a run.

use agentos_core::bounds::{VALUE_BYTES, VALUE_DEPTH};
use agentos_core::id::{InboxKey, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::time::Timestamp;
use agentos_core::value::ValueError;
use serde_json::{Value, json};

use super::fixture::Fixture;
use super::given::{
    COMPLETED, Held, NOW, commit_one, create, head, key, message, name, send_all, waiting,
};
use crate::bounds::{INBOX_MESSAGES, KEY_BYTES};
use crate::commit::{CommitError, Committed, Outgoing, TurnCommit};
use crate::inbox::{MessageError, Received, SendError, Sent};

pub(super) async fn messages_wait_in_the_order_of_their_arrival(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;
    let keys = ["m", "a", "z", "b"];
    let mut expected = Vec::new();
    for (text, at) in keys.into_iter().zip([30, 10, 20, 40]) {
        let at = Timestamp(at);
        assert_eq!(store.send(run, message(text), at).await, Ok(Sent::New));
        expected.push(Received { at, message: message(text) });
    }
    for limit in [1, 3, 4, 100] {
        let inbox = store.inbox(run, limit).await.expect("an inbox can be read");
        assert_eq!(inbox, expected[..limit.min(expected.len())], "the first {limit}");
    }
    let least = store.inbox(run, 0).await.expect("an inbox can be read");
    assert_eq!(least.len(), 1, "a page holds at least one");
}

/// Who read it may crash before it commits.
pub(super) async fn reading_takes_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let run = create(&*store, 1).await;
    send_all(&*store, run, &["a", "b"]).await;

    assert_eq!(waiting(&*store, run).await, ["a", "b"]);
    let mut held = Held::claim(&*store, run, owner).await;
    assert_eq!(waiting(&*store, run).await, ["a", "b"], "nor does a claim");
    held.note(&*store, "about something else").await;
    assert_eq!(waiting(&*store, run).await, ["a", "b"], "nor does a commit about others");
}

pub(super) async fn a_commit_takes_exactly_what_it_consumes(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    send_all(&*store, held.run, &["a", "b", "c", "d"]).await;

    let turn = TurnCommit { consumed: vec![key("c"), key("a")], ..held.turn(&["c", "a"]) };
    held.commit(&*store, turn).await;
    assert_eq!(waiting(&*store, held.run).await, ["b", "d"]);
    let rest = TurnCommit { consumed: vec![key("b"), key("d")], ..held.turn(&["b", "d"]) };
    held.commit(&*store, rest).await;
    assert!(waiting(&*store, held.run).await.is_empty());
}

pub(super) async fn a_message_sent_twice_waits_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;
    send_all(&*store, run, &["m"]).await;

    let other = Message { key: key("m"), body: MessageBody::Cancel { reason: None } };
    for again in [message("m"), other] {
        let sent = store.send(run, again, Timestamp(NOW.0 + 1)).await;
        assert_eq!(sent, Ok(Sent::Duplicate), "the key is what counts");
    }
    let inbox = store.inbox(run, 100).await.expect("an inbox can be read");
    assert_eq!(inbox, [Received { at: NOW, message: message("m") }], "the first one counts");
}

pub(super) async fn a_consumed_message_never_comes_back(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    send_all(&*store, held.run, &["m"]).await;
    let turn = TurnCommit { consumed: vec![key("m")], ..held.turn(&["m"]) };
    held.commit(&*store, turn).await;

    assert_eq!(store.send(held.run, message("m"), NOW).await, Ok(Sent::Duplicate));
    assert!(waiting(&*store, held.run).await.is_empty());
    let run = held.run;
    let again = TurnCommit { consumed: vec![key("m")], ..held.turn(&["m again"]) };
    let refused = CommitError::NotInInbox { run, key: key("m") };
    assert_eq!(commit_one(&*store, again).await, Err(refused));
}

pub(super) async fn a_key_belongs_to_one_run(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut one = Held::create(&*store, 1, owner).await;
    let other = create(&*store, 2).await;
    send_all(&*store, one.run, &["m"]).await;
    send_all(&*store, other, &["m"]).await;

    let turn = TurnCommit { consumed: vec![key("m")], ..one.turn(&["m"]) };
    one.commit(&*store, turn).await;
    assert!(waiting(&*store, one.run).await.is_empty());
    assert_eq!(waiting(&*store, other).await, ["m"]);
}

pub(super) async fn what_does_not_wait_is_not_consumed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 1, owner).await;
    let other = create(&*store, 2).await;
    send_all(&*store, held.run, &["m"]).await;
    send_all(&*store, other, &["of another"]).await;

    let run = held.run;
    for consumed in [["absent", "m"], ["m", "m"], ["of another", "m"]] {
        let wrong = if consumed[0] == consumed[1] { consumed[1] } else { consumed[0] };
        let turn = TurnCommit { consumed: consumed.map(key).to_vec(), ..held.turn(&["never"]) };
        let refused = CommitError::NotInInbox { run, key: key(wrong) };
        assert_eq!(commit_one(&*store, turn).await, Err(refused));
        assert_eq!(waiting(&*store, run).await, ["m"]);
        assert_eq!(waiting(&*store, other).await, ["of another"]);
    }
    let second = Held { head: Seq(2), ..held };
    let take = |held: Held| TurnCommit { consumed: vec![key("m")], ..held.turn(&["m"]) };
    let answers = store.commit(vec![take(held), take(second)]).await;
    let refused = CommitError::NotInInbox { run, key: key("m") };
    assert_eq!(answers, [Ok(Committed { head: Seq(2) }), Err(refused)], "one batch, one message");
}

pub(super) async fn an_ended_run_hears_nothing_more(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    send_all(&*store, held.run, &["left", "consumed"]).await;
    let last = TurnCommit {
        consumed: vec![key("consumed")],
        standing: COMPLETED,
        ..held.turn(&["consumed"])
    };
    held.commit(&*store, last).await;

    let run = held.run;
    assert_eq!(store.send(run, message("new"), NOW).await, Err(SendError::Ended { run }));
    for text in ["left", "consumed"] {
        let sent = store.send(run, message(text), NOW).await;
        assert_eq!(sent, Ok(Sent::Duplicate), "`{text}` did arrive, whoever asks again");
    }
    assert_eq!(waiting(&*store, run).await, ["left"], "what was left stays readable");
}

pub(super) async fn a_message_over_a_bound_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;
    let before = head(&*store, run).await;
    let signal = |payload| MessageBody::Signal { name: name("go"), payload };
    let deep = (0..VALUE_DEPTH).fold(Value::Null, |inner, _| json!([inner]));
    let long = "x".repeat(VALUE_BYTES + 1);
    let too_large = MessageError::Value(ValueError::TooLarge);
    let refused = [
        (String::new(), signal(Value::Null), MessageError::KeyEmpty),
        ("k".repeat(KEY_BYTES + 1), signal(Value::Null), MessageError::KeyTooLong),
        ("large".to_owned(), signal(json!(long)), too_large),
        ("deep".to_owned(), signal(deep), MessageError::Value(ValueError::TooDeep)),
        ("reason".to_owned(), MessageBody::Cancel { reason: Some(long) }, too_large),
    ];
    for (text, body, source) in refused {
        let sent = store.send(run, Message { key: InboxKey(text), body }, NOW).await;
        assert_eq!(sent, Err(SendError::Message { run, source }));
    }
    assert!(waiting(&*store, run).await.is_empty());
    assert_eq!(head(&*store, run).await, before);
    let longest = "k".repeat(KEY_BYTES);
    assert_eq!(store.send(run, message(&longest), NOW).await, Ok(Sent::New), "the bound itself");
}

/// It is filled by a commit: that is not refused, and takes one transaction where sending takes thousands.
pub(super) async fn a_full_inbox_refuses_until_something_is_consumed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    let mut sender = Held::create(&*store, 2, owner).await;
    let run = held.run;
    let outgoing = |number: usize| Outgoing { to: run, message: message(&number.to_string()) };
    let flood = TurnCommit {
        outgoing: (0..INBOX_MESSAGES).map(outgoing).collect(),
        ..sender.turn(&["flood"])
    };
    sender.commit(&*store, flood).await;

    let full = Err(SendError::InboxFull { run });
    assert_eq!(store.send(run, message("more"), NOW).await, full);
    assert_eq!(store.send(run, message("7"), NOW).await, Ok(Sent::Duplicate), "it waits already");
    let beyond = TurnCommit {
        outgoing: vec![Outgoing { to: run, message: message("a child's end") }],
        ..sender.turn(&["beyond"])
    };
    sender.commit(&*store, beyond).await;
    let take = TurnCommit { consumed: vec![key("0"), key("1")], ..held.turn(&["take"]) };
    held.commit(&*store, take).await;
    assert_eq!(store.send(run, message("more"), NOW).await, Ok(Sent::New));
    assert_eq!(store.send(run, message("and more"), NOW).await, full);
}
