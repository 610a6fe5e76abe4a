//! What the engine's tests share: programs, an outside world that counts, and lives of an engine.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentos_core::entry::{Entry, OperationResult, RunOutcome, RunStarted, StepOutcome};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{OwnerId, RunId, Seed, Try};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::time::Millis;
use agentos_engine::engine::{Builder, Engine, Limits};
use agentos_engine::library::{Invocation, Library, LibraryError, Opened};
use agentos_engine::performer::{Order, Performed, Performer, Performers, Ticket};
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::sqlite::{Options, Owner, SqliteStore};
use agentos_store::store::Store as _;
use agentos_testing::script::{Node, Script};
use agentos_testing::wait::{TIMEOUT, until};
use async_trait::async_trait;
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

/// The name of the workflow that tests start.
pub(crate) const MAIN: &str = "main";

/// Trees as workflows.
#[derive(Default)]
pub(crate) struct Scripts {
    programs: HashMap<String, Node>,
}

impl Scripts {
    pub(crate) fn of(main: Node) -> Self {
        Self::default().with(MAIN, main)
    }

    pub(crate) fn with(mut self, name: &str, program: Node) -> Self {
        self.programs.insert(name.to_owned(), program);
        self
    }
}

impl Library for Scripts {
    fn open(&self, start: &RunStarted) -> Result<Opened, LibraryError> {
        let workflow = start.workflow.to_string();
        let Some(program) = self.programs.get(&workflow) else {
            return Err(LibraryError::Unknown { workflow, definition: start.definition.clone() });
        };
        let program = Box::new(Script::new(Rc::new(program.clone())));
        Ok(Opened { program, actions: None })
    }

    fn start_of_child(&self, invocation: Invocation) -> Result<RunStarted, Failure> {
        if !self.programs.contains_key(invocation.workflow.as_str()) {
            let message = format!("there is no workflow `{}`", invocation.workflow);
            return Err(Failure::new(FailureKind::NonRetryable, message));
        }
        let parent = Some(invocation.parent);
        Ok(RunStarted { parent, ..RunStarted::new(invocation.child, invocation.workflow) })
    }
}

/// An outside file in which every effect writes itself down.
#[derive(Clone)]
pub(crate) struct Ledger {
    path: PathBuf,
}

impl Ledger {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { path: folder.join("ledger") }
    }

    fn note(&self, line: &str) {
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.expect("the ledger can be opened")
            .write_all(format!("{line}\n").as_bytes())
            .expect("the ledger can be written");
    }

    /// What was performed, whether or not it was stopped.
    pub(crate) fn performed(&self) -> BTreeSet<String> {
        self.counts().into_keys().filter(|line| !line.starts_with("stopped")).collect()
    }

    /// How often each operation was performed, and stopped.
    pub(crate) fn counts(&self) -> BTreeMap<String, u32> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }
}

/// Performs commands by writing them into the ledger. Those that are called `slow` take until they are stopped.
struct Scribe {
    ledger: Ledger,
}

#[async_trait]
impl Performer for Scribe {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        if order.recovered {
            return Performed::Interrupted;
        }
        ticket.started(json!({ "try": order.r#try }));
        self.ledger.note(&format!("{} {}", order.run, order.operation));
        if order.operation.as_str().contains(":slow") {
            ticket.stop.cancelled().await;
            self.ledger.note(&format!("stopped {}", order.operation));
            return Performed::Ended(OperationResult::Cancelled {});
        }
        tokio::task::yield_now().await;
        Performed::Ended(OperationResult::Ok { value: json!(7) })
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

/// A folder with a store in it, and a ledger beside.
pub(crate) struct House {
    folder: PathBuf,
    _keep: Option<TempDir>,
    library: Arc<dyn Library>,
    births: AtomicU64,
}

/// One life of an engine.
pub(crate) struct Life {
    pub(crate) engine: Engine,
    pub(crate) store: SqliteStore,
    pub(crate) owner: Owner,
}

impl House {
    pub(crate) fn new(library: impl Library) -> Self {
        let keep = tempfile::tempdir().expect("a folder");
        Self {
            folder: keep.path().to_owned(),
            _keep: Some(keep),
            ..Self::at(Path::new(""), library)
        }
    }

    /// The same house, entered by another process. Its owners have the process's number in their names.
    pub(crate) fn at(folder: &Path, library: impl Library) -> Self {
        let births = AtomicU64::new(u64::from(std::process::id()) << 20);
        Self { folder: folder.to_owned(), _keep: None, library: Arc::new(library), births }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::new(&self.folder)
    }

    pub(crate) fn store(&self) -> SqliteStore {
        let path = self.folder.join("runs.db");
        SqliteStore::open(&path, Options::quiet(Uuid::from_u128(1))).expect("the store opens")
    }

    /// The store, only to be looked at.
    pub(crate) fn look(&self) -> SqliteStore {
        SqliteStore::open_to_look(&self.folder.join("runs.db")).expect("the store opens")
    }

    /// The workflows.
    pub(crate) fn library(&self) -> Arc<dyn Library> {
        Arc::clone(&self.library)
    }

    /// Those who write what they perform into the ledger.
    pub(crate) fn performers(&self) -> Performers {
        let scribe = || Scribe { ledger: self.ledger() };
        Performers::new()
            .with(OperationKind::Shell, scribe())
            .with(OperationKind::Artifact, scribe())
    }

    /// A new process, as far as the store can tell.
    pub(crate) fn live(&self, change: impl FnOnce(Builder) -> Builder) -> Life {
        let store = self.store();
        let birth = self.births.fetch_add(1, Ordering::Relaxed);
        let owner = store.enlist(OwnerId(Uuid::from_u64_pair(9, birth))).expect("an owner");
        let builder = Builder::new(Arc::new(store.clone()), owner.id(), self.library())
            .performers(self.performers())
            .bell(store.watch().expect("the store can be watched"))
            .limits(Limits { workers: 2, linger: Duration::ZERO, ..Limits::default() });
        let engine = change(builder).start().expect("the engine starts");
        Life { engine, store, owner }
    }

    /// The log of a run, as kinds of entries.
    pub(crate) async fn kinds(&self, run: RunId) -> Vec<&'static str> {
        let log = load_whole_log(&self.store(), run).await.expect("the log can be read");
        log.iter().flat_map(|chunk| &chunk.entries).map(Entry::kind).collect()
    }

    /// How the steps of a run ended.
    pub(crate) async fn step_ends(&self, run: RunId) -> BTreeMap<String, &'static str> {
        let log = load_whole_log(&self.store(), run).await.expect("the log can be read");
        let entries = log.into_iter().flat_map(|chunk| chunk.entries);
        let ends = entries.filter_map(|entry| match entry {
            Entry::StepEnded { step, outcome } => Some((
                step.to_string(),
                match outcome {
                    StepOutcome::Completed { .. } => "completed",
                    StepOutcome::Failed { .. } => "failed",
                    StepOutcome::Skipped { .. } => "skipped",
                    StepOutcome::Cancelled {} => "cancelled",
                },
            )),
            _ => None,
        });
        ends.collect()
    }

    /// How a run ended.
    pub(crate) async fn outcome(&self, run: RunId) -> RunOutcome {
        let log = load_whole_log(&self.store(), run).await.expect("the log can be read");
        let mut entries = log.into_iter().flat_map(|chunk| chunk.entries);
        let end = entries.find_map(|entry| match entry {
            Entry::RunEnded { outcome } => Some(outcome),
            _ => None,
        });
        end.expect("the run has ended")
    }
}

impl Life {
    /// Starts the main workflow.
    pub(crate) async fn start(&self, number: u128) -> RunId {
        let run = RunId(Uuid::from_u128(number));
        let start = RunStarted {
            seed: Seed(5),
            grace_ms: Millis::new(50),
            ..RunStarted::new(run, Name::new(MAIN).expect("a name"))
        };
        self.engine.create(start, Place::default()).await.expect("the run is created");
        run
    }

    /// Waits for the end of a run.
    pub(crate) async fn ends(&self, run: RunId) {
        let ended = tokio::time::timeout(TIMEOUT, self.engine.ended(run)).await;
        let head = self.store.head(run).await;
        ended.unwrap_or_else(|_| panic!("{run} does not end: {head:?}")).expect("it can be read");
    }

    /// Waits until nothing is driven.
    pub(crate) async fn rests(&self) {
        until("the engine comes to rest", async || self.engine.driven() == 0).await;
    }
}
