//! What a run keeps of its life under an earlier source, or in the run it was forked from.

use serde::{Deserialize, Serialize};

use super::CommentOn;
use super::part::{OperationResult, StepOutcome};
use crate::path::{OperationId, ScopePath, StepPath};
use crate::retry::RetryPolicy;
use crate::source::BodyText;
use crate::time::{Millis, Timestamp};
use crate::value::{Value, present};

/// An answer kept for an operation that was not asked for yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptAnswer {
    /// The operation.
    pub operation: OperationId,
    /// The answer.
    pub result: OperationResult,
}

/// The body of a finished step as it once was: not its text, but all that it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptBody {
    /// The step.
    pub step: StepPath,
    /// What its body said.
    pub body: BodyText,
    /// How it was retried.
    pub retry: RetryPolicy,
    /// How long each of its attempts was allowed to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Millis>,
    /// What it did, in order.
    pub acts: Vec<Act>,
}

/// Something that a body did, and what made it do so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// What the code was resumed with.
    pub by: ActCause,
    /// What it did then.
    pub deed: Deed,
}

/// What code is resumed with. Named by identity, not by position: the log that this goes into is another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActCause {
    /// An attempt began.
    Attempt(ScopePath),
    /// An operation was answered.
    Operation(OperationId),
    /// A step was answered.
    Step(StepPath),
}

/// Something that a body did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "deed", rename_all = "snake_case", deny_unknown_fields)]
pub enum Deed {
    /// It asked for an operation.
    Ordered {
        /// The operation.
        operation: OperationId,
        /// With what.
        args: Value,
        /// When its timer fires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
    },
    /// It asked for a step or phase.
    Asked {
        /// The step.
        step: StepPath,
        /// How it was retried.
        retry: RetryPolicy,
        /// How long each of its attempts was allowed to take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<Millis>,
        /// What its body said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<BodyText>,
    },
    /// It wrote to the run's state.
    Wrote {
        /// The write.
        operation: OperationId,
        /// The new value.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },
    /// It made a remark.
    Remarked {
        /// The remark's identity.
        operation: OperationId,
        /// What it belongs to.
        on: CommentOn,
        /// The remark.
        message: String,
        /// Whatever else was said.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        meta: Value,
    },
    /// It came to its end.
    Ended {
        /// The attempt.
        scope: ScopePath,
        /// How.
        outcome: StepOutcome,
    },
}

impl Deed {
    /// The scope in which it was done.
    pub(crate) fn scope(&self) -> ScopePath {
        match self {
            Self::Ordered { operation, .. }
            | Self::Wrote { operation, .. }
            | Self::Remarked { operation, .. } => operation.scope(),
            Self::Asked { step, .. } => step.scope(),
            Self::Ended { scope, .. } => scope.clone(),
        }
    }
}
