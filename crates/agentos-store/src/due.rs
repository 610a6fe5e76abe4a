//! Runs that need an owner.

use std::collections::HashSet;

use agentos_core::id::RunId;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;

/// A run that nobody who lives holds, and for which something is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Due {
    /// The run.
    pub run: RunId,
    /// When its next timer fires or should have fired, if it has one.
    pub wake_at: Option<Timestamp>,
}

/// Runs that are left out: whoever asks knows that it can't do anything for them now.
pub type Except = HashSet<RunId>;

/// What an owner has to look to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outlook {
    /// Runs of its own for which messages wait.
    pub addressed: Vec<RunId>,
    /// When the next parked run that nobody holds has its time.
    pub wake_at: Option<Timestamp>,
}

/// Whether a run that nobody holds needs an owner: it was interrupted (or has not begun), its time has come, or a
/// message waits.
#[must_use]
pub fn is_due(standing: &Standing, now: Timestamp, has_messages: bool) -> bool {
    match standing {
        Standing::Working { .. } => true,
        Standing::Parked { wake_at } => has_messages || wake_at.is_some_and(|at| at <= now),
        Standing::Ended { .. } => false,
    }
}
