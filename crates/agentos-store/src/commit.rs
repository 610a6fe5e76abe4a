//! What a turn hands to the store, and why it may not be taken.
//!
//! A commit is the only way into a log. What belongs together is one [`TurnCommit`]: the entries, the messages they
//! came from, how the run stands afterwards, and what other runs have to hear of it. It is applied whole or not at all.

use agentos_core::codec::{self, Chunk};
use agentos_core::id::{Epoch, InboxKey, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::standing::Standing;
use thiserror::Error;

use crate::backend::BackendError;
use crate::bounds;
use crate::inbox::{self, MessageError};
use crate::retry::Retry;

/// What one turn of one run decided.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnCommit {
    /// The run.
    pub run: RunId,
    /// The epoch it was claimed under.
    pub epoch: Epoch,
    /// How many entries the log had when the turn began.
    pub expected: Seq,
    /// The new entries; at least one, the first at `expected`.
    pub chunk: Chunk,
    /// The messages that became entries. They leave the inbox, and their keys stay used.
    pub consumed: Vec<InboxKey>,
    /// How the run stands afterwards.
    pub standing: Standing,
    /// What other runs have to hear of it.
    pub outgoing: Vec<Outgoing>,
}

/// A message for another run, sent by the commit: a child's end for its parent.
///
/// If that run does not exist or has ended there is nobody to hear it, and the message is dropped. If it has had a
/// message of this key, it has heard it already. Neither keeps the commit from being applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// The run that it is for.
    pub to: RunId,
    /// The message.
    pub message: Message,
}

impl TurnCommit {
    /// Checks what can be checked without the store, and answers with the chunk's text. Every backend does so first.
    ///
    /// # Errors
    /// [`MalformedCommit`] says what is wrong.
    pub fn check(&self) -> Result<String, MalformedCommit> {
        if self.chunk.entries.is_empty() {
            return Err(MalformedCommit::Empty);
        }
        if self.chunk.first != self.expected {
            return Err(MalformedCommit::Misplaced { first: self.chunk.first });
        }
        for Outgoing { to, message } in &self.outgoing {
            inbox::check(message)
                .map_err(|source| MalformedCommit::Outgoing { to: *to, source })?;
        }
        let text = codec::encode(&self.chunk);
        if text.len() > bounds::COMMIT_BYTES {
            return Err(MalformedCommit::TooLarge { bytes: text.len() });
        }
        Ok(text)
    }
}

/// A commit that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Committed {
    /// The number of entries in the log now: what the next commit has to expect.
    pub head: Seq,
}

/// Why a commit could never be applied, to whatever log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MalformedCommit {
    /// It has no entry. What is not in the log has not happened, so a message can't be consumed by nothing.
    #[error("it has no entries")]
    Empty,
    /// Its entries do not begin where it expects the log to end.
    #[error("its entries begin at position {first}, not at the expected head")]
    Misplaced {
        /// Where they begin.
        first: Seq,
    },
    /// Its entries together are over the bound. Nobody can make them smaller: the turn has to fail its run.
    #[error(
        "its entries are {bytes} bytes long, more than {}; make the largest values artifacts, and pass on their paths",
        bounds::COMMIT_BYTES
    )]
    TooLarge {
        /// How long they are.
        bytes: usize,
    },
    /// A message for another run is over a bound.
    #[error("its message for run {to} is not taken: {source}")]
    Outgoing {
        /// The run that the message is for.
        to: RunId,
        /// What is wrong with the message.
        source: MessageError,
    },
}

/// Why a commit was not applied, or is not known to be. In every case but [`CommitError::Unknown`] nothing of it was.
///
/// Of several reasons the one that comes first here is told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommitError {
    /// The commit could never be applied; the caller is wrong.
    #[error("the commit to run {run} is malformed: {source}")]
    Malformed {
        /// The run.
        run: RunId,
        /// What is wrong.
        source: MalformedCommit,
    },
    /// No such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// The run is over and takes nothing more. Told also to stale owners.
    #[error("run {run} has ended")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// The run is no longer held under the commit's epoch: it was claimed again, or released. Start no effect, drop
    /// what is in memory, and leave the run to whoever has it.
    #[error("run {run} is no longer held under this epoch; it is at epoch {current}")]
    Stale {
        /// The run.
        run: RunId,
        /// Its epoch now. The same as the commit's if the run was released.
        current: Epoch,
    },
    /// The log does not end where the commit expected it to: a commit of the same owner came first (perhaps this very
    /// one, whose answer was lost).
    #[error("the log of run {run} has {head} entries, not as many as expected")]
    Conflict {
        /// The run.
        run: RunId,
        /// The number of entries now.
        head: Seq,
    },
    /// A message that the commit consumes is not in the inbox: it was consumed before, or never came.
    #[error("run {run} has no message `{key}` to consume")]
    NotInInbox {
        /// The run.
        run: RunId,
        /// The message's key.
        key: InboxKey,
    },
    /// The backend failed and has applied nothing of the whole batch.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The backend failed in a way that leaves open whether the whole batch was applied, or still will be. Claim the
    /// run again: the new epoch shuts out what is still on its way, and [`Claim::head`](crate::claim::Claim::head)
    /// says whether it had arrived.
    #[error("the commit may or may not have been applied: {message}")]
    Unknown {
        /// What the backend said, for people.
        message: String,
    },
}

impl CommitError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::NotFound { .. }
            | Self::Malformed { .. }
            | Self::Ended { .. }
            | Self::Stale { .. } => Retry::Never,
            Self::Conflict { .. } | Self::NotInInbox { .. } | Self::Unknown { .. } => {
                Retry::AfterReload
            }
            Self::Backend(error) => error.retry(),
        }
    }
}
