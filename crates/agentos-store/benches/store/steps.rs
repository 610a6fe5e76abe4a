//! Runs whose every commit is one effectful step: the answer of the last one, and the order of the next.

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, OperationResult, RunStarted, StepOutcome};
use agentos_core::id::{Attempt, Epoch, Occurrence, OwnerId, RunId, Seq, StepNumber, Try};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::{ScopePath, StepPath};
use agentos_core::retry::RetryPolicy;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_store::claim::ClaimMode;
use agentos_store::commit::TurnCommit;
use agentos_store::conformance::block_on;
use agentos_store::place::Place;
use agentos_store::run::NewRun;
use agentos_store::sqlite::{Owner, SqliteStore};
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

/// What a commit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// One entry that changes no row but the run's own.
    LogOnly,
    /// Five entries: a step ends, the next begins.
    Step,
}

/// A run that is being driven.
pub(crate) struct Driven {
    store: SqliteStore,
    run: RunId,
    epoch: Epoch,
    head: Seq,
    step: u32,
    load: Load,
}

/// As many runs as there are waiters.
pub(crate) fn start(store: &SqliteStore, waiters: usize, load: Load) -> (Vec<Driven>, Owner) {
    let owner = store.enlist(OwnerId(Uuid::from_u128(1 << 90))).expect("an owner is enlisted");
    let runs = (0..waiters).map(|number| {
        let run = RunId(Uuid::from_u128((number as u128) << 64 | 7));
        let started = RunStarted::new(run, Name::new("bench").expect("a short name"));
        let first = Entry::RunStarted(started);
        let new = NewRun {
            run,
            at: Timestamp(0),
            first,
            history: None,
            place: Place::default(),
            owner: None,
        };
        block_on(store.create_run(new)).expect("a run is created");
        let claim =
            block_on(store.claim(run, owner.id(), ClaimMode::IfFree)).expect("it is claimed");
        Driven { store: store.clone(), run, epoch: claim.epoch, head: claim.head, step: 0, load }
    });
    (runs.collect(), owner)
}

impl Driven {
    /// The next commit of this run.
    pub(crate) async fn commit(&mut self) {
        let entries = match self.load {
            Load::LogOnly => vec![Entry::RunResumed { away_ms: agentos_core::time::Millis::ZERO }],
            Load::Step => step(self.step),
        };
        self.step += 1;
        let chunk = Chunk::new(self.head, Timestamp(self.step.into()), entries);
        let turn = TurnCommit {
            run: self.run,
            epoch: self.epoch,
            expected: self.head,
            chunk,
            consumed: Vec::new(),
            standing: Standing::Working { wake_at: None },
            outgoing: Vec::new(),
        };
        let committed = self.store.commit(vec![turn]).await.remove(0);
        self.head = committed.expect("an owner's turn is applied").head;
    }
}

/// The entries with which step `number` ends, if there was one, and the next begins.
pub(crate) fn step(number: u32) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(5);
    let name = |text: &str| Name::new(text).expect("a short name");
    let path = |number| ScopePath::root().step(&name("step"), Occurrence(number));
    let operation = |step: &StepPath| {
        step.attempt(Attempt(1)).operation(OperationKind::Shell, &name("append"), Occurrence(1))
    };
    if number > 0 {
        let step = path(number);
        let value = json!({ "exitCode": 0, "stdout": "ok\n" });
        let result = OperationResult::Ok { value };
        entries.push(Entry::OperationEnded { operation: operation(&step), result });
        let outcome = StepOutcome::Completed { output: json!({ "lines": 1 }) };
        entries.push(Entry::StepEnded { step, outcome });
    }
    let step = path(number + 1);
    entries.push(Entry::StepRequested {
        step: step.clone(),
        number: Some(StepNumber(number + 1)),
        retry: RetryPolicy::default(),
        timeout_ms: None,
        rolls_back: false,
        body: None,
        site: None,
    });
    entries.push(Entry::AttemptStarted { scope: step.attempt(Attempt(1)), counts_from: None });
    entries.push(Entry::OperationOrdered {
        operation: operation(&step),
        number: None,
        args: json!({ "cmd": "echo line >> file" }),
        due: None,
        child: None,
        r#try: Try::FIRST,
        site: None,
    });
    entries
}
