//! Ways into a run: messages that wait until its owner turns them into entries.

use agentos_core::bounds::VALUE_BYTES;
use agentos_core::id::RunId;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::time::Timestamp;
use agentos_core::value::{self, ValueError};
use thiserror::Error;

use crate::backend::BackendError;
use crate::bounds::{INBOX_MESSAGES, KEY_BYTES};
use crate::counterpart::ElsewhereError;
use crate::retry::Retry;

/// A message that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// When it was sent; for one that another run's commit sent, the time of that commit.
    pub at: Timestamp,
    /// The message.
    pub message: Message,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sent {
    /// It waits in the inbox.
    New,
    /// The run has had a message of this key, which waits or was consumed; nothing has changed.
    Duplicate,
}

/// Why a message is taken into no inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MessageError {
    /// Its key has no character.
    #[error("the key of a message must not be empty")]
    KeyEmpty,
    /// Its key is over [`KEY_BYTES`].
    #[error("the key of a message has at most {KEY_BYTES} bytes")]
    KeyTooLong,
    /// What it carries is over a bound.
    #[error(transparent)]
    Value(#[from] ValueError),
}

/// Checks a message against the bounds. Every backend does so first.
///
/// # Errors
/// [`MessageError`] names the bound that is broken.
pub fn check(message: &Message) -> Result<(), MessageError> {
    match message.key.0.len() {
        0 => return Err(MessageError::KeyEmpty),
        1..=KEY_BYTES => {}
        _ => return Err(MessageError::KeyTooLong),
    }
    match &message.body {
        MessageBody::Signal { payload, .. } => Ok(value::check(payload)?),
        MessageBody::Approval { by, comment, .. } => {
            let length = by.len() + comment.as_ref().map_or(0, String::len);
            if length > VALUE_BYTES { Err(ValueError::TooLarge.into()) } else { Ok(()) }
        }
        // What a child ended with is in its own log, which has the same bounds.
        MessageBody::ChildEnded { .. } => Ok(()),
        MessageBody::Cancel { reason: Some(reason) } if reason.len() > VALUE_BYTES => {
            Err(ValueError::TooLarge.into())
        }
        MessageBody::Cancel { .. } => Ok(()),
    }
}

/// Why a message was not taken. Of several reasons the one that comes first here is told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SendError {
    /// The message is over a bound; make it smaller.
    #[error("the message for run {run} is not taken: {source}")]
    Message {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        source: MessageError,
    },
    /// The run does not go on in this store, and hears nothing here. Only a backend in a file tells that.
    #[error("run {run} hears nothing here: {source}")]
    Elsewhere {
        /// The run.
        run: RunId,
        /// Where it goes on.
        source: ElsewhereError,
    },
    /// No such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// The run is over and hears nothing more.
    #[error("run {run} has ended")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// [`INBOX_MESSAGES`] wait already. Send again when the run has consumed some.
    #[error(
        "{INBOX_MESSAGES} messages wait for run {run} already; send again when it has taken some"
    )]
    InboxFull {
        /// The run.
        run: RunId,
    },
    /// The backend failed; the message may or may not have arrived. Send it again under the same key.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl SendError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::NotFound { .. }
            | Self::Message { .. }
            | Self::Elsewhere { .. }
            | Self::Ended { .. } => Retry::Never,
            Self::InboxFull { .. } => Retry::SameAgain,
            Self::Backend(error) => error.retry(),
        }
    }
}
