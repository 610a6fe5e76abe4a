//! The tail: every commit to every run, once, in an order that each backend can keep.
//!
//! Databases that number rows before they commit them show the numbers out of order: row 8 may be seen before row 7.
//! A reader that remembers only the largest number it has seen would then miss 7. So the place in the tail is opaque,
//! and large enough for a backend to write down which numbers it still waits for.

use std::fmt;

use agentos_core::codec::{Chunk, DecodeError};
use agentos_core::id::RunId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::backend::BackendError;
use crate::retry::Retry;

/// A place in the tail. Opaque: only the store that made it can read it. It may be kept as text, and stays valid when
/// the store is opened again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TailCursor(String);

impl TailCursor {
    /// The place before the first commit of all.
    #[must_use]
    pub const fn start() -> Self {
        Self(String::new())
    }

    /// Whether this is the place before the first commit.
    #[must_use]
    pub const fn is_start(&self) -> bool {
        self.0.is_empty()
    }

    /// A place as some store writes it down. For backends, and for cursors that were kept as text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text to keep.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TailCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A commit, as the tail shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct TailEvent {
    /// The run.
    pub run: RunId,
    /// What was committed.
    pub chunk: Chunk,
}

/// One page of the tail.
#[derive(Debug, Clone, PartialEq)]
pub struct TailPage {
    /// What has become visible, in the order of positions within each run.
    pub events: Vec<TailEvent>,
    /// Where to go on. An empty page may have moved, too.
    pub next: TailCursor,
}

/// Why the tail can't be read.
#[derive(Debug, Error)]
pub enum TailError {
    /// The cursor was not made by this store. Begin again from the start, or from a cursor that is known.
    #[error("`{cursor}` is no place in the tail of this store")]
    Cursor {
        /// The cursor.
        cursor: TailCursor,
    },
    /// A commit can't be understood: it is damaged, or a newer version wrote it.
    #[error("what is stored of run {run} can't be read: {source}")]
    Damaged {
        /// The run.
        run: RunId,
        /// What is wrong, and at which position.
        source: DecodeError,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl TailError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Cursor { .. } | Self::Damaged { .. } => Retry::Never,
            Self::Backend(error) => error.retry(),
        }
    }
}
