//! Owners: who may commit to a run, and until when.
//!
//! A run has at most one owner, and every claim makes its epoch larger. A commit names the epoch it was made under, so
//! an owner that lost the run without noticing (it hung, it was suspended) can't write any more.
//!
//! Whether an owner *lives* is the backend's to know: a lock file that its process holds on the same machine, a lease
//! between machines. The trait only asks that an owner which is dead stays dead, and that one which lives is not
//! called dead because it is slow.

use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::standing::Standing;
use thiserror::Error;

use crate::backend::BackendError;
use crate::counterpart::ElsewhereError;
use crate::retry::Retry;

/// Whom a claim may take the run from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimMode {
    /// From nobody who lives: the run has to be free, the claimer's own, or a dead owner's.
    IfFree,
    /// From whoever has it. For an owner that lives but hangs; somebody has decided that.
    TakeOver,
}

/// A run that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The epoch to commit under. Larger than every one before.
    pub epoch: Epoch,
    /// The number of entries in the log at the moment of the claim. Nothing that an earlier owner has on its way
    /// arrives after it.
    pub head: Seq,
    /// How the run stands.
    pub standing: Standing,
}

/// Why a run was not claimed. Of several reasons the one that comes first here is told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClaimError {
    /// The run does not go on in this store. Only a backend in a file tells that.
    #[error("run {run} does not go on here: {source}")]
    Elsewhere {
        /// The run.
        run: RunId,
        /// Where it goes on.
        source: ElsewhereError,
    },
    /// The store takes the claimer itself for dead: its lock or lease is gone. It can hold nothing; it has to begin
    /// again under a new id.
    #[error("{owner} can't own a run: its lock or lease is gone")]
    NotAlive {
        /// The claimer.
        owner: OwnerId,
    },
    /// No such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// The run is over; nothing is to be done for it.
    #[error("run {run} has ended")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// Somebody who lives has it. Leave it to them, or take it over if they hang.
    #[error("run {run} belongs to {by}, which is alive; take it over if that hangs")]
    Owned {
        /// The run.
        run: RunId,
        /// Its owner.
        by: OwnerId,
        /// The owner's epoch.
        epoch: Epoch,
    },
    /// The backend failed; the claim may or may not have been made. Claim again: an owner may claim its own run.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl ClaimError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Elsewhere { .. }
            | Self::NotFound { .. }
            | Self::Ended { .. }
            | Self::NotAlive { .. } => Retry::Never,
            Self::Owned { .. } => Retry::SameAgain,
            Self::Backend(error) => error.retry(),
        }
    }
}

/// Why a run was not released.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// No such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// Somebody claimed it since. Nothing has changed, and nothing is left to be released.
    #[error("run {run} is no longer held under this epoch; it is at epoch {current}")]
    Stale {
        /// The run.
        run: RunId,
        /// Its epoch now.
        current: Epoch,
    },
    /// The backend failed; the run may or may not be released. Release it again: that is idempotent.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl ReleaseError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::NotFound { .. } | Self::Stale { .. } => Retry::Never,
            Self::Backend(error) => error.retry(),
        }
    }
}
