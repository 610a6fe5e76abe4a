//! A question to a person.

use std::panic::Location;
use std::time::Duration;

use agentos_core::operation::Request;
use serde::{Deserialize, Serialize};

use super::git::Diff;
use super::{asks_when_awaited, hashed};
use crate::answer::Answer;
use crate::ctx::{Ctx, millis, named};
use crate::json;

/// How many changed files are named beside a question.
const FILES: usize = 50;

impl Ctx {
    /// Asks a person, and waits for the decision.
    #[track_caller]
    pub fn approve(&self, question: impl Into<String>) -> Approve<'_> {
        let question = question.into();
        let from = Location::caller();
        Approve { ctx: self, question, name: None, timeout: None, diff: None, from }
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
    diff: Option<Diff>,
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

    /// What was changed, shown beside the question: `ctx.git().diff().stat().await?`. That is what is not committed; after
    /// a commit, say since when with `from`. Its text is left out, and so are files beyond the first fifty.
    pub fn diff(mut self, mut diff: Diff) -> Self {
        diff.files.truncate(FILES);
        diff.truncated = diff.files.len() < diff.files_changed;
        self.diff = Some(Diff { text: None, text_truncated: false, ..diff });
        self
    }

    /// Asks, without waiting.
    pub fn start(self) -> Answer<Decision> {
        let Self { ctx, question, name, timeout, diff, from } = self;
        let request = named(&name.unwrap_or_else(|| hashed(&question))).and_then(|name| {
            let request = Request::approve(name, &question, timeout.map(millis));
            match diff {
                Some(diff) => Ok(request.about("diff", json::encode("the diff", &diff)?)),
                None => Ok(request),
            }
        });
        ctx.ask(request, from)
    }
}

asks_when_awaited!(Approve<'_> => Decision);
