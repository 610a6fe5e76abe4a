//! Why something did not work, in a form that can be stored, shown and acted on.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::value::{self, Value, present};

/// What the engine has to know about a failure; everything else is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Thrown by workflow code or reported by an operation. Steps are retried after it.
    Error,
    /// As [`FailureKind::Error`], but a step is not retried after it.
    NonRetryable,
    /// A limit of time was reached.
    Timeout,
    /// The operation was cancelled: by a person, or because what it belonged to ended first. Never retried.
    Cancelled,
    /// The scope takes no more operations. Never retried.
    Closed,
    /// A bound of the core was reached. Never retried.
    Limit,
    /// An operation was interrupted more often than it may be tried.
    Interrupted,
    /// The run waited for nothing that could ever happen. Never retried.
    Stalled,
}

/// A failure of an operation, step or run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What the engine does about it.
    pub kind: FailureKind,
    /// What happened, in a sentence.
    pub message: String,
    /// Whatever else is known: exit status, stack, field names.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

impl Failure {
    /// A failure without detail.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: None }
    }

    /// The failure of everything that is cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(FailureKind::Cancelled, "cancelled")
    }

    /// The failure as the log takes it: what is over a bound is cut off, and said so.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        if self.message.len() > bounds::MESSAGE_BYTES {
            let end = self.message.floor_char_boundary(bounds::MESSAGE_BYTES);
            self.message.truncate(end);
            self.message.push('…');
        }
        if self.detail.as_ref().is_some_and(|detail| value::check(detail).is_err()) {
            self.detail = Some(Value::String("left out: over a bound".into()));
        }
        self
    }

    /// Whether another attempt at the step may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self.kind, FailureKind::Error | FailureKind::Timeout | FailureKind::Interrupted)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
