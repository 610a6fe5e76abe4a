//! A program made of scenes: each time it is resumed, the next scene is played.
//!
//! The language of the simulation behaves as workflows do; these behave as badly as a test wants.

use std::collections::{HashMap, VecDeque};

use agentos_core::failure::Failure;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::{BodyOutcome, Delivery, Door, Program, ScopeId, StepOptions, Ticket};
use agentos_core::retry::RetryPolicy;
use agentos_core::time::Millis;
use agentos_core::value::Value;
use serde_json::json;

use super::fact::{name, thrice};

type Scene = Box<dyn FnOnce(&mut Stage<'_, '_>)>;

/// The scenes to come, and what was seen in those that were.
#[derive(Default)]
pub(crate) struct Play {
    scenes: VecDeque<Scene>,
    memory: Memory,
}

/// What one scene leaves for the next.
#[derive(Default)]
struct Memory {
    scopes: Vec<ScopeId>,
    tickets: Vec<Ticket>,
    notes: Vec<String>,
    unhandled: HashMap<ScopeId, Failure>,
}

/// What a scene is played on.
pub(crate) struct Stage<'a, 'd> {
    pub(crate) door: &'a mut Door<'d>,
    /// Why the program was resumed.
    pub(crate) delivery: Delivery,
    memory: &'a mut Memory,
}

impl Play {
    /// A program whose first scene is this one.
    pub(crate) fn new(scene: impl FnOnce(&mut Stage<'_, '_>) + 'static) -> Self {
        Self::default().then(scene)
    }

    /// The same with another scene at its end.
    pub(crate) fn then(mut self, scene: impl FnOnce(&mut Stage<'_, '_>) + 'static) -> Self {
        self.scenes.push_back(Box::new(scene));
        self
    }

    /// What the scenes noted.
    pub(crate) fn notes(&self) -> Vec<&str> {
        self.memory.notes.iter().map(String::as_str).collect()
    }

    /// How many scenes were not played.
    pub(crate) fn left(&self) -> usize {
        self.scenes.len()
    }
}

impl Program for Play {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        if let Delivery::Run { scope, .. } | Delivery::Body { scope, .. } = &delivery {
            self.memory.scopes.push(*scope);
        }
        if let Some(scene) = self.scenes.pop_front() {
            scene(&mut Stage { door, delivery, memory: &mut self.memory });
        }
    }

    fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        self.memory.unhandled.get(&scope).cloned()
    }
}

impl Stage<'_, '_> {
    /// The scopes whose bodies have begun, the run's first.
    pub(crate) fn scope(&self, nth: usize) -> ScopeId {
        self.memory.scopes[nth]
    }

    /// The run's scope.
    pub(crate) fn run(&self) -> ScopeId {
        self.scope(0)
    }

    /// The scope whose body began last.
    pub(crate) fn body(&self) -> ScopeId {
        self.scope(self.memory.scopes.len() - 1)
    }

    /// What was asked for, in the order of asking.
    pub(crate) fn ticket(&self, nth: usize) -> Ticket {
        self.memory.tickets[nth]
    }

    /// Remembers something for the end of the test.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.memory.notes.push(note.into());
    }

    /// Notes what the program was resumed with.
    pub(crate) fn note_delivery(&mut self) {
        let note = match &self.delivery {
            Delivery::Run { input, .. } => format!("run {input}"),
            Delivery::Body { scope, .. } => format!("body {}", self.door.path(*scope)),
            Delivery::Answer { ticket, result } => {
                let asked = self.door.identity(*ticket);
                match result {
                    Ok(value) => format!("{asked} = {value}"),
                    Err(failure) => format!("{asked} ! {:?}: {failure}", failure.kind),
                }
            }
        };
        self.note(note);
    }

    /// Asks for something, and notes a refusal.
    pub(crate) fn ask(&mut self, scope: ScopeId, request: Request) {
        let asked = self.door.request(scope, request);
        self.keep(asked);
    }

    pub(crate) fn step(&mut self, scope: ScopeId, step: &str, retry: RetryPolicy) {
        let asked =
            self.door.step(scope, name(step), StepOptions { retry, ..StepOptions::default() });
        self.keep(asked);
    }

    /// A step whose attempts may take so long.
    pub(crate) fn step_within(&mut self, scope: ScopeId, step: &str, ms: u64) {
        let timeout = Some(Millis::new(ms));
        let asked = self.door.step(
            scope,
            name(step),
            StepOptions { retry: thrice(), timeout, ..StepOptions::default() },
        );
        self.keep(asked);
    }

    pub(crate) fn phase(&mut self, scope: ScopeId, phase: &str) {
        let asked = self.door.phase(scope, name(phase));
        self.keep(asked);
    }

    fn keep(&mut self, asked: Result<Ticket, Failure>) {
        match asked {
            Ok(ticket) => self.memory.tickets.push(ticket),
            Err(failure) => self.note(format!("refused {:?}: {failure}", failure.kind)),
        }
    }

    pub(crate) fn returns(&mut self, scope: ScopeId) {
        self.door.finish(scope, BodyOutcome::Returned(Value::Null));
    }

    pub(crate) fn throws(&mut self, scope: ScopeId, failure: Failure) {
        self.door.finish(scope, BodyOutcome::Threw(failure));
    }

    /// From now on a rejection in this scope is unhandled.
    pub(crate) fn leave_unhandled(&mut self, scope: ScopeId, failure: Failure) {
        self.memory.unhandled.insert(scope, failure);
    }
}

pub(crate) fn shell(operation: &str) -> Request {
    shell_with(operation, json!({}))
}

pub(crate) fn shell_with(operation: &str, args: Value) -> Request {
    Request::perform(OperationKind::Shell, name(operation), args).expect("a shell is performed")
}

pub(crate) fn sleep(operation: &str, ms: u64) -> Request {
    Request::sleep(name(operation), Millis::new(ms))
}

pub(crate) fn invoke(workflow: &str) -> Request {
    Request::invoke(name(workflow), json!({}))
}

pub(crate) fn approve(question: &str) -> Request {
    Request::approve(name(question), "may it go on?", None)
}

pub(crate) fn wait(signal: &str) -> Request {
    Request::wait(name(signal), None)
}

pub(crate) fn wait_for(signal: &str, ms: u64) -> Request {
    Request::wait(name(signal), Some(Millis::new(ms)))
}
