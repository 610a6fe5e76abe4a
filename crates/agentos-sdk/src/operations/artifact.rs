//! A file kept with the run.

use std::panic::Location;

use agentos_core::failure::Failure;
use agentos_core::operation::OperationKind;
use agentos_core::value::Value;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::asks_when_awaited;
use crate::answer::Answer;
use crate::ctx::{Ctx, perform};
use crate::json;

impl Ctx {
    /// Keeps a file with the run, under this name. Say what: `.content(…)` or `.file(…)`.
    #[track_caller]
    pub fn artifact(&self, name: impl Into<String>) -> Artifact<'_> {
        let order = Ok(json!({ "type": ArtifactType::Other }));
        Artifact { ctx: self, name: name.into(), order, from: Location::caller() }
    }
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ArtifactType {
    /// A picture of a screen.
    Screenshot,
    /// A log.
    LogFile,
    /// An agent's session.
    SessionFile,
    /// The report of a test run.
    TestReport,
    /// What a build left.
    BuildOutput,
    /// A text for people.
    Document,
    /// Anything else.
    Other,
}

/// An artifact that is about to be stored.
#[derive(Debug)]
#[must_use = "an artifact is stored when it is awaited or started"]
pub struct Artifact<'a> {
    ctx: &'a Ctx,
    name: String,
    order: Result<Value, Failure>,
    from: &'static Location<'static>,
}

impl Artifact<'_> {
    /// This text.
    pub fn content(self, content: impl Into<String>) -> Self {
        self.with("content", Ok(Value::String(content.into())))
    }

    /// This file of the workspace (or input), a folder with everything in it, or whatever matches a pattern as `logs/*.txt`.
    /// Symbolic links and what is no file are left out.
    pub fn file(self, path: impl Into<String>) -> Self {
        self.with("file", Ok(Value::String(path.into())))
    }

    /// What it is.
    pub fn kind(self, kind: ArtifactType) -> Self {
        self.with("type", json::encode("the type", &kind))
    }

    /// Its media type.
    pub fn mime_type(self, mime_type: impl Into<String>) -> Self {
        self.with("mime_type", Ok(Value::String(mime_type.into())))
    }

    /// Whatever else is to be kept with it.
    pub fn metadata(self, metadata: impl Serialize) -> Self {
        self.with("metadata", json::encode("the metadata", &metadata))
    }

    fn with(mut self, key: &str, value: Result<Value, Failure>) -> Self {
        self.order = self.order.and_then(|mut order| {
            order[key] = value?;
            Ok(order)
        });
        self
    }

    /// Stores it, without waiting.
    pub fn start(self) -> Answer<Value> {
        let order = self.order;
        let request = order.and_then(|order| perform(OperationKind::Artifact, &self.name, order));
        self.ctx.ask(request, self.from)
    }
}

asks_when_awaited!(Artifact<'_> => Value);
