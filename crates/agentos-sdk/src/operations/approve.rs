//! A question to a person.

use std::panic::Location;
use std::time::Duration;

use agentos_core::operation::Request;
use serde::{Deserialize, Serialize};

use super::{asks_when_awaited, hashed};
use crate::answer::Answer;
use crate::ctx::{Ctx, millis, named};

impl Ctx {
    /// Asks a person, and waits for the decision.
    #[track_caller]
    pub fn approve(&self, question: impl Into<String>) -> Approve<'_> {
        let question = question.into();
        Approve { ctx: self, question, name: None, timeout: None, from: Location::caller() }
    }
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Yes or no.
    pub approved: bool,
    /// Who.
    pub by: String,
    /// What they said.
    #[serde(default)]
    pub comment: Option<String>,
}

/// A question that is about to be asked.
#[derive(Debug)]
#[must_use = "a question is asked when it is awaited or started"]
pub struct Approve<'a> {
    ctx: &'a Ctx,
    question: String,
    name: Option<String>,
    timeout: Option<Duration>,
    from: &'static Location<'static>,
}

impl Approve<'_> {
    /// What the question is called in the log; otherwise a hash of its text.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How long to wait at most; then it fails with a timeout.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks, without waiting.
    pub fn start(self) -> Answer<Decision> {
        let Self { ctx, question, name, timeout, from } = self;
        let name = named(&name.unwrap_or_else(|| hashed(&question)));
        ctx.ask(name.map(|name| Request::approve(name, &question, timeout.map(millis))), from)
    }
}

asks_when_awaited!(Approve<'_> => Decision);
