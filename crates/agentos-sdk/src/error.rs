//! What workflow code fails with.

use std::any::Any;
use std::fmt;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::program::BodyOutcome;

/// What the functions of a workflow return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a workflow, step or effect ends without a result.
///
/// Any error becomes one with `?`. A [`Failure`] keeps its kind; everything else is an ordinary failure, after which
/// steps are retried.
pub struct Error(Thrown);

enum Thrown {
    Failure(Failure),
    Skip(String),
}

impl Error {
    /// An ordinary failure with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Thrown::Failure(Failure::new(FailureKind::Error, message)))
    }

    /// A failure after which the step is not retried.
    pub fn non_retryable(message: impl Into<String>) -> Self {
        Self(Thrown::Failure(Failure::new(FailureKind::NonRetryable, message)))
    }

    /// The wish to end the step as skipped; see [`crate::Ctx::skip`].
    pub(crate) const fn skip(reason: String) -> Self {
        Self(Thrown::Skip(reason))
    }

    /// The failure, unless this is the wish to skip.
    #[must_use]
    pub const fn failure(&self) -> Option<&Failure> {
        match &self.0 {
            Thrown::Failure(failure) => Some(failure),
            Thrown::Skip(_) => None,
        }
    }

    /// Whether the run was cancelled, or what this belonged to ended first.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.failure().is_some_and(|failure| failure.kind == FailureKind::Cancelled)
    }

    /// How a body ends that returns this.
    pub(crate) fn into_outcome(self) -> BodyOutcome {
        match self.0 {
            Thrown::Failure(failure) => BodyOutcome::Threw(failure),
            Thrown::Skip(reason) => BodyOutcome::Skipped(reason),
        }
    }

    /// The failure that this is where nothing can be skipped.
    pub(crate) fn into_failure(self) -> Failure {
        match self.0 {
            Thrown::Failure(failure) => failure,
            Thrown::Skip(_) => {
                Failure::new(FailureKind::NonRetryable, "an effect can't be skipped, only a step")
            }
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        Self(Thrown::Failure(match any.downcast_ref::<Failure>() {
            Some(failure) => failure.clone(),
            None => Failure::new(FailureKind::Error, with_sources(&error)),
        }))
    }
}

/// The message and those of the errors behind it, which many errors leave out of their own.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
        source = error.source();
    }
    message
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Thrown::Failure(failure) => failure.fmt(f),
            Thrown::Skip(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Thrown::Failure(failure) => failure.fmt(f),
            Thrown::Skip(reason) => f.debug_tuple("Skip").field(reason).finish(),
        }
    }
}
