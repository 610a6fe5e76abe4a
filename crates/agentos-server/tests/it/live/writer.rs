//! Somebody who drives a run: commits that look like those of the engine.

use std::path::Path;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunOutcome, RunStarted};
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Seq};
use agentos_core::name::Name;
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::Timestamp;
use agentos_store::claim::ClaimMode;
use agentos_store::commit::TurnCommit;
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::run::NewRun;
use agentos_store::sqlite::{Options, Owner, SqliteStore};
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

const HISTORY: Uuid = Uuid::from_u128(0x5eed);

pub(crate) fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::quiet(HISTORY)).expect("the store opens")
}

pub(crate) fn run_id(number: u128) -> RunId {
    RunId(Uuid::from_u128(0x0192_d4e0_0000_7000_8000_0000_0000_0000 | number))
}

/// A run, and whoever drives it.
pub(crate) struct Writer {
    pub(crate) store: SqliteStore,
    pub(crate) run: RunId,
    epoch: Epoch,
    head: Seq,
    now: i64,
    _owner: Owner,
}

impl Writer {
    pub(crate) async fn start(store: &SqliteStore, number: u128) -> Self {
        Self::start_at(store, number, Place::default()).await
    }

    pub(crate) async fn start_at(store: &SqliteStore, number: u128, place: Place) -> Self {
        let run = run_id(number);
        let first = Entry::RunStarted(RunStarted::new(run, Name::new("build").unwrap()));
        let new = NewRun { run, at: Timestamp(1_000), first, history: None, place, owner: None };
        store.create_run(new).await.unwrap();
        let owner = store.enlist(OwnerId(Uuid::from_u128(run.0.as_u128() ^ 1 << 100))).unwrap();
        let claim = store.claim(run, owner.id(), ClaimMode::IfFree).await.unwrap();
        let (epoch, head) = (claim.epoch, claim.head);
        Self { store: store.clone(), run, epoch, head, now: 2_000, _owner: owner }
    }

    pub(crate) async fn commit(&mut self, entries: Vec<Entry>) {
        let standing = match entries.last() {
            Some(Entry::RunEnded { .. }) => Standing::Ended { status: EndStatus::Completed },
            _ => Standing::Working { wake_at: None },
        };
        self.now += 1;
        let turn = TurnCommit {
            run: self.run,
            epoch: self.epoch,
            expected: self.head,
            chunk: Chunk::new(self.head, Timestamp(self.now), entries),
            consumed: Vec::new(),
            standing,
            outgoing: Vec::new(),
        };
        self.head = self.store.commit(vec![turn]).await.remove(0).unwrap().head;
    }

    /// Entries without meaning.
    pub(crate) async fn note(&mut self, texts: &[&str]) {
        self.commit(texts.iter().map(|text| note(text)).collect()).await;
    }

    pub(crate) async fn end(&mut self) {
        self.commit(vec![Entry::RunEnded {
            outcome: RunOutcome::Completed { output: json!("done") },
        }])
        .await;
    }

    /// The whole log: positions and kinds.
    pub(crate) async fn log(&self) -> Vec<(u64, String)> {
        log(&self.store, self.run).await
    }
}

/// The whole log of a run: positions, counted from 1, and kinds.
pub(crate) async fn log(store: &SqliteStore, run: RunId) -> Vec<(u64, String)> {
    let chunks = load_whole_log(store, run).await.unwrap();
    let records = chunks.into_iter().flat_map(Chunk::into_records);
    records.map(|record| (record.seq.0 + 1, record.entry.kind().to_owned())).collect()
}

pub(crate) fn note(text: &str) -> Entry {
    Entry::SignalArrived {
        key: InboxKey(text.to_owned()),
        name: Name::new("note").unwrap(),
        payload: json!({ "text": text }),
    }
}
