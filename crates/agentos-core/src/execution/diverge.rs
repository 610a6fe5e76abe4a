//! When a program does not do again what the log says it did.

use thiserror::Error;

use crate::id::Seq;
use crate::journal::IllegalEntry;

/// The program and its log disagree. Nothing is committed; a person has to look.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Divergence {
    /// The same identity, asked for with something else.
    #[error("`{identity}` is recorded as {recorded}, but the workflow now says {found}")]
    Changed {
        /// The operation, step, note or scope.
        identity: String,
        /// What the log has.
        recorded: String,
        /// What the program says.
        found: String,
    },
    /// The log has it, the program did not ask for it.
    #[error("`{identity}` is recorded at position {seq}, but the workflow did not ask for it")]
    NotAsked {
        /// The operation, step or scope.
        identity: String,
        /// Where the log has it.
        seq: Seq,
    },
    /// The log has it as ordered or cancelled, the program never came to it.
    #[error("`{identity}` is recorded as ordered, but the workflow did not ask for it")]
    NotOrdered {
        /// The operation or step.
        identity: String,
    },
    /// The program decided something that its log has no place for.
    #[error("the workflow does not do what its log says it did: {0}")]
    Misplaced(IllegalEntry),
    /// The log says that it ended; in this execution it has not.
    #[error("`{identity}` is recorded as ended, but the workflow did not come to its end")]
    NotEnded {
        /// The step, or the run.
        identity: String,
    },
}

/// Why a turn could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AdvanceError {
    /// Program and log disagree.
    #[error(transparent)]
    Diverged(#[from] Divergence),
    /// The core itself decided something that its own rules forbid: a defect of AgentOS.
    #[error("a decision breaks the rules of the log: {0}")]
    Illegal(#[from] IllegalEntry),
}

impl Divergence {
    /// A disagreement about one identity, cut to a readable length.
    pub(super) fn changed(
        identity: impl ToString,
        recorded: &impl std::fmt::Debug,
        found: &impl std::fmt::Debug,
    ) -> Self {
        let cut = |value: String| value.chars().take(200).collect();
        Self::Changed {
            identity: identity.to_string(),
            recorded: cut(format!("{recorded:?}")),
            found: cut(format!("{found:?}")),
        }
    }
}
