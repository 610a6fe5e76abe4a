//! Failures of the machinery below the verbs: the disk, the connection, the database file.

use thiserror::Error;

use crate::retry::Retry;

/// The backend could not do what it was asked for.
///
/// After a read nothing has changed. Creating, claiming, releasing and sending may have been carried out in spite of
/// the error; they are idempotent, so asking again settles it. A commit that fails with this was *not* applied, not
/// even in part; one that may have been is a [`CommitError::Unknown`](crate::commit::CommitError::Unknown).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the store {}: {message}", kind.as_str())]
pub struct BackendError {
    /// What the caller may do about it.
    pub kind: BackendErrorKind,
    /// What the backend said, for people.
    pub message: String,
}

/// The kinds of [`BackendError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackendErrorKind {
    /// Busy, locked, connection lost: asking again after a pause can help.
    Transient,
    /// No space is left: asking again helps once somebody has made room.
    Full,
    /// What is in the file is no database, or not all of one: somebody has to mend it, or bring it back.
    Damaged,
    /// Read-only, replaced, of another version: somebody has to look at it.
    Permanent,
}

impl BackendErrorKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "did not answer",
            Self::Full => "is full",
            Self::Damaged => "is damaged",
            Self::Permanent => "is not usable",
        }
    }
}

impl BackendError {
    /// A failure of some kind.
    pub fn new(kind: BackendErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self.kind {
            BackendErrorKind::Transient | BackendErrorKind::Full => Retry::SameAgain,
            BackendErrorKind::Damaged | BackendErrorKind::Permanent => Retry::Never,
        }
    }
}
