//! What the tests of the SQLite store are made of.

use std::path::Path;

use agentos_core::codec::{self, Chunk};
use agentos_core::entry::{Entry, RunOutcome, RunStarted};
use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::name::Name;
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::Timestamp;
use agentos_store::claim::ClaimMode;
use agentos_store::commit::{CommitError, Committed, TurnCommit};
use agentos_store::conformance::block_on;
use agentos_store::place::Place;
use agentos_store::run::NewRun;
use agentos_store::sqlite::{Owner, SqliteStore};
use agentos_store::store::Store;
use serde_json::json;
use uuid::Uuid;

pub(crate) const WORKING: Standing = Standing::Working { wake_at: None };

pub(crate) fn run_id(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("the tests' names are short")
}

pub(crate) fn new_run(number: u128, place: Place) -> NewRun {
    let run = run_id(number);
    let mut started = RunStarted::new(run, name("build"));
    started.input = json!({ "number": number.to_string() });
    NewRun {
        run,
        at: Timestamp(1_000),
        first: Entry::RunStarted(started),
        history: None,
        place,
        owner: None,
    }
}

/// An owner with a run.
pub(crate) struct Held {
    pub(crate) store: SqliteStore,
    pub(crate) run: RunId,
    pub(crate) epoch: Epoch,
    pub(crate) head: Seq,
    _owner: Owner,
}

impl Held {
    /// Creates run `number` and claims it.
    pub(crate) fn create(store: &SqliteStore, number: u128) -> Self {
        Self::create_at(store, number, Place::default())
    }

    pub(crate) fn create_at(store: &SqliteStore, number: u128, place: Place) -> Self {
        Self::start(store, new_run(number, place))
    }

    pub(crate) fn start(store: &SqliteStore, new: NewRun) -> Self {
        let run = new.run;
        block_on(store.create_run(new)).expect("a run is created");
        Self::claim(store, run)
    }

    pub(crate) fn claim(store: &SqliteStore, run: RunId) -> Self {
        let owner = store.enlist(OwnerId(Uuid::from_u128(run.0.as_u128() | 1 << 100)));
        let owner = owner.expect("an owner is enlisted");
        let claim = block_on(store.claim(run, owner.id(), ClaimMode::TakeOver));
        let claim = claim.expect("a run is claimed");
        Self { store: store.clone(), run, epoch: claim.epoch, head: claim.head, _owner: owner }
    }

    pub(crate) fn turn(&self, at: i64, entries: Vec<Entry>) -> TurnCommit {
        TurnCommit {
            run: self.run,
            epoch: self.epoch,
            expected: self.head,
            chunk: Chunk::new(self.head, Timestamp(at), entries),
            consumed: Vec::new(),
            standing: WORKING,
            outgoing: Vec::new(),
        }
    }

    pub(crate) fn try_commit(&self, turn: TurnCommit) -> Result<Committed, CommitError> {
        block_on(self.store.commit(vec![turn])).remove(0)
    }

    /// Commits what has to be applied.
    pub(crate) fn commit(&mut self, at: i64, entries: Vec<Entry>) {
        let standing = standing_after(&entries);
        let turn = TurnCommit { standing, ..self.turn(at, entries) };
        self.head = self.try_commit(turn).expect("an owner's turn is applied").head;
    }

    /// Ends the run well.
    pub(crate) fn end(&mut self, at: i64) {
        self.commit(
            at,
            vec![Entry::RunEnded { outcome: RunOutcome::Completed { output: json!("done") } }],
        );
    }
}

/// How a run stands after these entries, as far as they say.
pub(crate) fn standing_after(entries: &[Entry]) -> Standing {
    let Some(Entry::RunEnded { outcome }) = entries.last() else { return WORKING };
    let status = match outcome {
        RunOutcome::Completed { .. } => EndStatus::Completed,
        RunOutcome::Failed { .. } => EndStatus::Failed,
        RunOutcome::TimedOut { .. } => EndStatus::TimedOut,
        RunOutcome::Cancelled { .. } => EndStatus::Cancelled,
    };
    Standing::Ended { status }
}

/// A remark without meaning.
pub(crate) fn note(text: &str) -> Entry {
    entry(
        &json!({ "kind": "comment.added", "operation": "/comment:comment#1", "on": "run", "message": text }),
    )
}

/// An entry as it stands in a log.
pub(crate) fn entry(json: &serde_json::Value) -> Entry {
    serde_json::from_value(json.clone()).expect("the entry is well formed")
}

/// The recorded logs of the core, by name.
pub(crate) fn recorded_logs() -> Vec<(String, Vec<Chunk>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agentos-core/tests/fixtures/logs");
    let mut logs = Vec::new();
    for found in std::fs::read_dir(folder).expect("there are recorded logs") {
        let path = found.expect("the folder can be read").path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let text = std::fs::read_to_string(&path).expect("a recorded log can be read");
            let chunks = text.lines().map(|line| codec::decode(line).expect("it is a chunk"));
            let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
            logs.push((name, chunks.collect()));
        }
    }
    logs.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(logs.len() > 10, "the recorded logs are there");
    logs
}

/// Has a recorded log committed chunk by chunk, as its owner did.
pub(crate) fn replay(store: &SqliteStore, log: &[Chunk]) -> RunId {
    let Some(Entry::RunStarted(started)) = log[0].entries.first() else {
        panic!("a log begins with its start")
    };
    let first = Entry::RunStarted(started.clone());
    let new = NewRun {
        run: started.run,
        at: log[0].at,
        first,
        history: None,
        place: Place::default(),
        owner: None,
    };
    let mut held = Held::start(store, new);
    for chunk in &log[1..] {
        held.commit(chunk.at.0, chunk.entries.clone());
    }
    held.run
}
