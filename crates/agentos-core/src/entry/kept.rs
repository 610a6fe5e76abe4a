//! What a run keeps of its life under an earlier source, or in the run it was forked from.

use serde::{Deserialize, Serialize};

use super::CommentOn;
use super::part::{OperationResult, StepOutcome};
use crate::path::{OperationId, ScopePath, StepPath};
use crate::program::StepOptions;
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
    /// When all that happened, if it is known. In the log that has the answer it has the time at which it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<AnswerTimes>,
}

/// When an operation was asked for, and when it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerTimes {
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// When it was answered.
    pub answered_at: Timestamp,
}

/// A finished step as it once was: how it was retried, and all that its body did.
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
    /// What it did, in order. Without it, the body is executed, but retried and timed as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acts: Option<Vec<Act>>,
}

impl KeptBody {
    /// Whether the step is asked for with something else than what is kept.
    pub(crate) fn differs(&self, asked: &StepOptions) -> bool {
        let hash = asked.body.as_ref().map(|body| &body.hash);
        hash.is_some_and(|hash| *hash != self.body.hash) || self.has_other_policy(asked)
    }

    /// Whether the step is retried or timed otherwise now.
    pub(crate) fn has_other_policy(&self, asked: &StepOptions) -> bool {
        (asked.retry, asked.timeout) != (self.retry, self.timeout_ms)
    }
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
