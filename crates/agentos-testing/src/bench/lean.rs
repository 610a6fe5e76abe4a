//! Programs as lean as a program can be: state machines without an interpreter in between.
//!
//! What they cost is what the core costs.

use agentos_core::failure::Failure;
use agentos_core::name::Name;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::{BodyOutcome, Delivery, Door, Program, ScopeId, StepOptions};

use agentos_core::value::Value;
use serde_json::json;

fn name(text: &str) -> Name {
    Name::new(text).expect("a short name")
}

fn effect(name: &Name) -> Request {
    let args = json!({ "command": "true" });
    Request::perform(OperationKind::Effect, name.clone(), args).expect("effects are performed")
}

/// Operations in a row, outside of any step.
#[derive(Debug)]
pub(super) struct Operations {
    left: usize,
    name: Name,
    run: Option<ScopeId>,
}

impl Operations {
    pub(super) fn new(count: usize) -> Self {
        Self { left: count, name: name("append"), run: None }
    }
}

impl Program for Operations {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        if let Delivery::Run { scope, .. } = delivery {
            self.run = Some(scope);
        }
        let Some(run) = self.run else { return };
        if self.left == 0 {
            door.finish(run, BodyOutcome::Returned(Value::Null));
            return;
        }
        self.left -= 1;
        door.request(run, effect(&self.name)).expect("a run takes operations");
    }

    fn unhandled(&self, _: ScopeId) -> Option<Failure> {
        None
    }
}

/// What the body of a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// One operation.
    Effect,
    /// Nothing that the world would have to know of.
    Pure,
}

/// Steps in a row.
#[derive(Debug)]
pub(super) struct Steps {
    left: usize,
    body: Body,
    step: Name,
    operation: Name,
    run: Option<ScopeId>,
    /// The attempt whose body has begun and not ended.
    attempt: Option<ScopeId>,
}

impl Steps {
    pub(super) fn new(count: usize, body: Body) -> Self {
        let (step, operation) = (name("work"), name("append"));
        Self { left: count, body, step, operation, run: None, attempt: None }
    }

    fn next(&mut self, door: &mut Door<'_>) {
        let Some(run) = self.run else { return };
        if self.left == 0 {
            door.finish(run, BodyOutcome::Returned(Value::Null));
            return;
        }
        self.left -= 1;
        let step = door.step(run, self.step.clone(), StepOptions::default());
        step.expect("a run takes steps");
    }

    fn begin(&mut self, attempt: ScopeId, door: &mut Door<'_>) {
        if self.body == Body::Pure {
            door.finish(attempt, BodyOutcome::Returned(Value::Null));
            return;
        }
        self.attempt = Some(attempt);
        door.request(attempt, effect(&self.operation)).expect("a step takes operations");
    }
}

impl Program for Steps {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        match delivery {
            Delivery::Run { scope, .. } => {
                self.run = Some(scope);
                self.next(door);
            }
            Delivery::Body { scope, .. } => self.begin(scope, door),
            Delivery::Answer { result, .. } => match self.attempt.take() {
                Some(attempt) => {
                    let output = result.unwrap_or_default();
                    door.finish(attempt, BodyOutcome::Returned(output));
                }
                None => self.next(door),
            },
        }
    }

    fn unhandled(&self, _: ScopeId) -> Option<Failure> {
        None
    }
}
