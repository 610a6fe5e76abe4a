//! What entries are made of: outcomes, results, lists.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::{Failure, FailureKind};
use crate::id::{RunId, Try};
use crate::path::{OperationId, ScopePath, StepPath};
use crate::time::Timestamp;
use crate::value::Value;

/// Why a scope stopped accepting ordinary work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseCause {
    /// Its body ended and left something open.
    Finished,
    /// The run was cancelled.
    Cancelled,
    /// Its grace ran out.
    Expired,
}

/// What was cancelled when a scope closed. Replay uses this list: what was open *then* can't be seen from the log
/// as it is *now*.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeClosing {
    /// The scope.
    pub scope: ScopePath,
    /// Why.
    pub cause: CloseCause,
    /// Operations to cancel, in the scope and below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationId>,
    /// Steps to cancel, in the scope and below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepPath>,
    /// Until when cleanup may still ask for operations; without it, not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_until: Option<Timestamp>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum StepOutcome {
    /// Its body returned.
    Completed {
        /// What it returned.
        output: Value,
    },
    /// Its last attempt failed.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// Its body said that there was nothing to do.
    Skipped {
        /// Why.
        reason: String,
    },
    /// What it belonged to ended first, or the run was cancelled.
    Cancelled {},
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum RunOutcome {
    /// The workflow returned.
    Completed {
        /// What it returned.
        output: Value,
    },
    /// The workflow failed.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// The run was active for too long, or its deadline came.
    TimedOut {
        /// Which of both.
        failure: Failure,
    },
    /// The run was cancelled.
    Cancelled {
        /// What the workflow threw while it was cleaning up, if that was anything else than the cancellation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
}

/// The result of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum OperationResult {
    /// It worked.
    Ok {
        /// What came out.
        value: Value,
    },
    /// It did not.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// It was cancelled, and nothing of it is alive.
    Cancelled {},
}

/// An operation that a source switch left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abandoned {
    /// The operation.
    pub operation: OperationId,
    /// The try that was under way.
    pub r#try: Try,
    /// The child run, if it is an invocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<RunId>,
}

impl OperationResult {
    /// Whether it was cancelled. One that has something to say about how far it came says so in a failure of that kind.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Ok { .. } => false,
            Self::Failed { failure } => failure.kind == FailureKind::Cancelled,
            Self::Cancelled {} => true,
        }
    }

    /// What a child's end is to whoever invoked it.
    pub(crate) fn of_child(outcome: RunOutcome, cancel_ordered: bool) -> Self {
        match outcome {
            RunOutcome::Completed { output } => Self::Ok { value: output },
            RunOutcome::Failed { failure } | RunOutcome::TimedOut { failure } => {
                Self::Failed { failure }
            }
            RunOutcome::Cancelled { .. } if cancel_ordered => Self::Cancelled {},
            RunOutcome::Cancelled { .. } => Self::Failed {
                failure: Failure::new(FailureKind::NonRetryable, "the child run was cancelled"),
            },
        }
    }
}

impl From<Result<Value, Failure>> for OperationResult {
    fn from(answer: Result<Value, Failure>) -> Self {
        match answer {
            Ok(value) => Self::Ok { value },
            Err(failure) => Self::Failed { failure },
        }
    }
}

/// What a decision tells the workflow that asked for it.
pub(crate) fn decision(approved: bool, by: &str, comment: Option<&str>) -> Value {
    json!({ "approved": approved, "by": by, "comment": comment })
}
