//! What the cases are made of: runs, entries and messages without meaning, and the steps that many cases take.

use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Seed, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::{Millis, Timestamp};
use serde_json::json;
use uuid::Uuid;

use super::fixture::Fixture;
use crate::claim::ClaimMode;
use crate::commit::{CommitError, Committed, TurnCommit};
use crate::due::Except;
use crate::log::load_whole_log;
use crate::place::Place;
use crate::run::{Created, Head, NewRun};
use crate::store::Store;
use crate::tail::{TailCursor, TailEvent};

/// The time at which everything happens, unless a case is about time.
pub(super) const NOW: Timestamp = Timestamp(1_000_000);

pub(super) const WORKING: Standing = Standing::Working { wake_at: None };
pub(super) const PARKED: Standing = Standing::Parked { wake_at: None };
pub(super) const COMPLETED: Standing = Standing::Ended { status: EndStatus::Completed };

/// How many empty pages in a row are taken for the end of the tail, and how many are read to see that nothing follows.
const MAX_EMPTY_PAGES: usize = 1_000;
const AFTERWARDS: usize = 32;

pub(super) fn run_id(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

pub(super) fn name(text: &str) -> Name {
    Name::new(text).expect("the cases' names are short")
}

pub(super) fn new_run(number: u128) -> NewRun {
    let run = run_id(number);
    let first = Entry::RunStarted(RunStarted {
        definition: "0".repeat(64),
        input: json!({ "number": number.to_string() }),
        seed: Seed(7),
        grace_ms: Millis::new(1_000),
        ..RunStarted::new(run, name("conformance"))
    });
    NewRun { run, at: NOW, first, history: None, place: Place::default(), owner: None }
}

/// An entry without meaning that can be told from others.
pub(super) fn note(text: &str) -> Entry {
    Entry::SignalArrived {
        key: InboxKey(text.to_owned()),
        name: name("note"),
        payload: json!({ "text": text }),
    }
}

pub(super) fn key(text: &str) -> InboxKey {
    InboxKey(text.to_owned())
}

pub(super) fn message(text: &str) -> Message {
    Message {
        key: key(text),
        body: MessageBody::Signal { name: name("go"), payload: json!({ "text": text }) },
    }
}

/// Creates run `number`.
pub(super) async fn create(store: &dyn Store, number: u128) -> RunId {
    let created = store.create_run(new_run(number)).await;
    assert_eq!(created, Ok(Created::New), "an empty store creates run {number}");
    run_id(number)
}

/// A run with its owner's epoch and the end of its log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) run: RunId,
    pub(super) epoch: Epoch,
    pub(super) head: Seq,
}

impl Held {
    /// Creates run `number` and claims it.
    pub(super) async fn create(store: &dyn Store, number: u128, owner: OwnerId) -> Self {
        let run = create(store, number).await;
        Self::claim(store, run, owner).await
    }

    /// Claims a run that is free.
    pub(super) async fn claim(store: &dyn Store, run: RunId, owner: OwnerId) -> Self {
        let claim = store.claim(run, owner, ClaimMode::IfFree).await;
        let claim = claim.expect("a free run is given to who claims it");
        Self { run, epoch: claim.epoch, head: claim.head }
    }

    /// What a turn of this run would commit: these notes, and on goes the work.
    pub(super) fn turn(&self, notes: &[&str]) -> TurnCommit {
        let entries = notes.iter().map(|text| note(text)).collect();
        TurnCommit {
            run: self.run,
            epoch: self.epoch,
            expected: self.head,
            chunk: Chunk::new(self.head, NOW, entries),
            consumed: Vec::new(),
            standing: WORKING,
            outgoing: Vec::new(),
        }
    }

    /// Commits a turn that has to be applied.
    pub(super) async fn commit(&mut self, store: &dyn Store, turn: TurnCommit) {
        let committed = commit_one(store, turn).await;
        self.head = committed.expect("a turn of the owner at the end of the log is applied").head;
    }

    /// Commits one note.
    pub(super) async fn note(&mut self, store: &dyn Store, text: &str) {
        self.commit(store, self.turn(&[text])).await;
    }

    /// Commits one note after which the run stands so.
    pub(super) async fn stand(&mut self, store: &dyn Store, standing: Standing) {
        let turn = TurnCommit { standing, ..self.turn(&["stands"]) };
        self.commit(store, turn).await;
    }

    /// Commits one note after which the run stands so, and gives it back.
    pub(super) async fn leave(mut self, store: &dyn Store, standing: Standing) {
        self.stand(store, standing).await;
        assert_eq!(store.release(self.run, self.epoch).await, Ok(()), "an owner gives back");
    }
}

/// Commits a batch of one.
pub(super) async fn commit_one(
    store: &dyn Store,
    turn: TurnCommit,
) -> Result<Committed, CommitError> {
    let mut answers = store.commit(vec![turn]).await;
    assert_eq!(answers.len(), 1, "a batch of one has one answer");
    answers.remove(0)
}

/// Sends messages of these keys, all of them new.
pub(super) async fn send_all(store: &dyn Store, run: RunId, keys: &[&str]) {
    for text in keys {
        let sent = store.send(run, message(text), NOW).await;
        assert_eq!(sent, Ok(crate::inbox::Sent::New), "`{text}` is sent for the first time");
    }
}

/// The keys of what waits for a run.
pub(super) async fn waiting(store: &dyn Store, run: RunId) -> Vec<String> {
    let inbox = store.inbox(run, 100).await.expect("an inbox can be read");
    inbox.into_iter().map(|received| received.message.key.0).collect()
}

pub(super) async fn head(store: &dyn Store, run: RunId) -> Head {
    store.head(run).await.expect("the head of a run can be read")
}

/// The texts of a run's notes, in the order of its log; checks that the log is whole.
pub(super) async fn notes(store: &dyn Store, run: RunId) -> Vec<String> {
    let log = load_whole_log(store, run).await.expect("a log can be read");
    let mut expected = Seq::FIRST;
    let mut notes = Vec::new();
    for chunk in log {
        assert_eq!(chunk.first, expected, "chunks of a log follow each other without a gap");
        for record in chunk.into_records() {
            expected = record.seq.next();
            if let Entry::SignalArrived { key, .. } = record.entry {
                notes.push(key.0);
            }
        }
    }
    assert_eq!(head(store, run).await.head, expected, "the head is the number of entries");
    notes
}

/// The ids of what is due, in their own order.
pub(super) async fn due(store: &dyn Store, now: Timestamp) -> Vec<RunId> {
    let due = store.due(now, &Except::new(), 100).await.expect("what is due can be read");
    let mut runs: Vec<RunId> = due.into_iter().map(|due| due.run).collect();
    runs.sort();
    runs
}

/// Reads the tail in pages of `limit` until `count` more events were seen, and then some: there must be no others.
pub(super) async fn read_tail(
    fixture: &dyn Fixture,
    store: &Arc<dyn Store>,
    cursor: &mut TailCursor,
    (count, limit): (usize, usize),
) -> Vec<TailEvent> {
    let mut events: Vec<TailEvent> = Vec::new();
    let mut empty = 0;
    while events.len() < count || empty < AFTERWARDS {
        let page = store.tail(cursor.clone(), limit).await.expect("the tail can be read");
        *cursor = page.next;
        empty = if page.events.is_empty() { empty + 1 } else { 0 };
        events.extend(page.events);
        assert!(events.len() <= count, "the tail shows more than {count} chunks");
        assert!(empty < MAX_EMPTY_PAGES, "the tail shows {} of {count} chunks", events.len());
        if empty > 0 {
            fixture.pause().await;
        }
    }
    events
}
