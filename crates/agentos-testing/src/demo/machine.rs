//! What outlives a process: the store, the commands that run, the clock.

use agentos_core::codec::Chunk;
use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{OperationResult, Record};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{InboxKey, OwnerId, RunId, Seq, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use agentos_store::place::Place;
use agentos_store::run::NewRun;
use agentos_store::simulated::SimulatedStore;
use agentos_store::store::Store;
use pollster::block_on;
use serde_json::json;
use uuid::Uuid;

use super::workflow;
use crate::simulation::Scenario;

/// The whole log in one page.
const EVERYTHING: usize = 1_000;

/// A command that was started.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) operation: OperationId,
    /// How often it was started: more than once is what must not happen.
    pub(super) starts: u32,
    pub(super) ends_at: i64,
    result: OperationResult,
}

/// Whether a command had to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Performed {
    /// It was started.
    Started,
    /// It was running already.
    Found,
}

/// The machine that the run is on.
pub(super) struct Machine {
    pub(super) store: SimulatedStore,
    pub(super) run: RunId,
    pub(super) now: i64,
    owners: u64,
    /// In the order in which they were started.
    commands: Vec<Command>,
    approved: bool,
}

impl Machine {
    /// A machine whose store holds the run, which nobody has executed yet.
    pub(super) fn new() -> Self {
        let store = SimulatedStore::new(1);
        let scenario = Scenario::new(workflow::program());
        let (run, at) = (scenario.run(), scenario.start());
        let new = NewRun {
            run,
            at,
            first: scenario.first_entry(),
            history: None,
            place: Place::default(),
            owner: None,
        };
        block_on(store.create_run(new)).expect("an empty store takes a run");
        Self { store, run, now: at.0, owners: 0, commands: Vec::new(), approved: false }
    }

    /// Whoever executes the run at the moment.
    pub(super) const fn owner(&self) -> OwnerId {
        OwnerId(Uuid::from_u64_pair(1, self.owners))
    }

    /// The process that held the run is gone; the next one has another id.
    pub(super) fn owner_dies(&mut self) {
        self.store.owner_died(self.owner());
        self.owners += 1;
    }

    pub(super) fn log(&self) -> Vec<Record> {
        let log = block_on(self.store.load_log(self.run, Seq::FIRST, EVERYTHING));
        let log = log.expect("the simulated store reads what it holds");
        log.into_iter().flat_map(Chunk::into_records).collect()
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter()
    }

    /// Performs an effect. What runs is found; what has ended is not, and would be started again. The workflow stops
    /// nothing.
    pub(super) fn perform(&mut self, effect: &Effect) -> Performed {
        let (operation, now) = (effect.operation(), self.now);
        let (takes, result) = fate(operation);
        let ends_at = now + takes;
        match self.commands.iter_mut().find(|command| command.operation == *operation) {
            Some(command) if command.ends_at > now => return Performed::Found,
            Some(command) => {
                command.starts += 1;
                command.ends_at = ends_at;
            }
            None => {
                let operation = operation.clone();
                self.commands.push(Command { operation, starts: 1, ends_at, result });
            }
        }
        Performed::Started
    }

    /// Waits until something happens: a command ends, a timer's time comes, or a person approves.
    pub(super) fn wait(&mut self, timer: Option<Timestamp>) -> Vec<Happening> {
        let ends = self.commands.iter().map(|command| command.ends_at);
        let approval = (!self.approved).then_some(workflow::APPROVED_AT_MS);
        let next = ends.filter(|end| *end > self.now).chain(approval).chain(timer.map(|due| due.0));
        self.now = next.min().map_or(self.now, |next| self.now.max(next));
        self.approve_in_time();
        self.news()
    }

    fn approve_in_time(&mut self) {
        if self.approved || self.now < workflow::APPROVED_AT_MS {
            return;
        }
        let body = MessageBody::Signal { name: name(workflow::APPROVED), payload: json!("Ada") };
        let message = Message { key: InboxKey("approval".to_owned()), body };
        self.approved = block_on(self.store.send(self.run, message, Timestamp(self.now))).is_ok();
    }

    /// What the world has to say by now; what the run knows already it will drop.
    fn news(&self) -> Vec<Happening> {
        let ended = self.commands.iter().filter(|command| command.ends_at <= self.now);
        let ended = ended.map(|command| Happening::Ended {
            operation: command.operation.clone(),
            r#try: Try::FIRST,
            result: command.result.clone(),
        });
        let inbox = block_on(self.store.inbox(self.run, EVERYTHING)).unwrap_or_default();
        ended
            .chain(inbox.into_iter().map(|received| Happening::Message(received.message)))
            .collect()
    }
}

fn fate(operation: &OperationId) -> (i64, OperationResult) {
    let name = operation.name();
    let command = name.as_ref().map_or("", Name::as_str);
    let (takes, result) = workflow::fate(command, operation.scope().attempt().0);
    let result = match result {
        Ok(value) => OperationResult::Ok { value: json!(value) },
        Err(message) => {
            OperationResult::Failed { failure: Failure::new(FailureKind::Error, message) }
        }
    };
    (takes, result)
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a short name")
}
