//! How a run starts: the first entry of every log.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::id::{RunId, Seed};
use crate::name::Name;
use crate::path::OperationId;
use crate::time::{Millis, Timestamp};
use crate::value::Value;

/// Who invoked a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parent {
    /// The run.
    pub run: RunId,
    /// The operation that waits for the end.
    pub operation: OperationId,
}

/// What a run calls itself and where it works: what workflow code may read, so it has to be the same in every execution.
///
/// An empty text means that whoever created the run did not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Home {
    /// The short readable id, unique in its store.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run_id: String,
    /// The project's id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project_id: String,
    /// Where the project is, absolute.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project_path: String,
    /// Where the run works, absolute.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workspace_path: String,
    /// Where the files are that it was started with, absolute. It reads them and does not write them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context_path: String,
    /// What is executed in its workspace before its code begins.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub setup: String,
    /// How many runs are around it: those that invoked it, one another.
    #[serde(skip_serializing_if = "is_outermost")]
    pub depth: u32,
    /// Who works in the place of which agent, for this run and those that it invokes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, String>,
    /// The files that the run was started with, as whoever started it named them, by the properties of the input that name
    /// their copies: relative to the project, or absolute if they are elsewhere. Only people are told.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub given_files: BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
const fn is_outermost(depth: &u32) -> bool {
    *depth == 0
}

impl Home {
    /// Whether nothing of it is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// What a run starts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: Name,
    /// The hash of the workflow's modules; the run keeps the source it started with.
    pub definition: String,
    /// The input, already validated.
    pub input: Value,
    /// Where the run's randomness comes from.
    pub seed: Seed,
    /// How long cleanup may go on after something was closed or cancelled.
    pub grace_ms: Millis,
    /// How long the run may be active: have something open that is not a wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Millis>,
    /// When the run ends at the latest, whatever it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Who invoked this run, and waits for its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The run that this one was forked from, or whose failure it mends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<RunId>,
    /// What it calls itself and where it works, for its code to read.
    #[serde(default, skip_serializing_if = "Home::is_unknown")]
    pub home: Box<Home>,
}

impl RunStarted {
    /// A start with nothing special about it.
    #[must_use]
    pub fn new(run: RunId, workflow: Name) -> Self {
        Self {
            run,
            workflow,
            definition: String::new(),
            input: Value::Null,
            seed: Seed(0),
            grace_ms: Millis::new(bounds::GRACE_MS),
            timeout_ms: None,
            deadline: None,
            parent: None,
            forked_from: None,
            home: Box::default(),
        }
    }

    /// The input as people are told it: files under the names that they were given by, and not under those of their copies.
    #[must_use]
    pub fn told_input(&self) -> Cow<'_, Value> {
        let given = &self.home.given_files;
        if given.is_empty() {
            return Cow::Borrowed(&self.input);
        }
        let mut input = self.input.clone();
        for (property, path) in given {
            if let Some(value) = input.get_mut(property) {
                *value = Value::String(path.clone());
            }
        }
        Cow::Owned(input)
    }
}
