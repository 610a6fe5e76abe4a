//! Listing runs, page by page.

use agentos_core::id::RunId;
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::backend::BackendError;
use crate::retry::Retry;
use crate::run::Head;

/// Which runs a listing shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RunFilter {
    /// Those that stand so.
    pub standing: StandingFilter,
}

/// Which standings a listing shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StandingFilter {
    /// All.
    #[default]
    Any,
    /// Those for which something is being performed.
    Working,
    /// Those that only wait.
    Parked,
    /// Those that are over, however they ended.
    Ended,
    /// Those that ended so.
    EndedAs(EndStatus),
}

impl StandingFilter {
    /// Whether a run that stands so is shown.
    #[must_use]
    pub fn shows(self, standing: &Standing) -> bool {
        match self {
            Self::Any => true,
            Self::Working => matches!(standing, Standing::Working { .. }),
            Self::Parked => matches!(standing, Standing::Parked { .. }),
            Self::Ended => standing.is_ended(),
            Self::EndedAs(wanted) => {
                matches!(standing, Standing::Ended { status } if *status == wanted)
            }
        }
    }
}

/// One run in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListedRun {
    /// The run.
    pub run: RunId,
    /// When it was created.
    pub created_at: Timestamp,
    /// Where it stands.
    pub head: Head,
}

/// A place in a listing. Opaque: only the store that made it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunCursor(pub String);

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    /// The runs, latest creation first.
    pub runs: Vec<ListedRun>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<RunCursor>,
}

/// Why runs can't be listed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ListError {
    /// The cursor was not made by this store. Begin again from the first page.
    #[error("`{cursor}` is no place in a listing; begin again from the first page", cursor = cursor.0)]
    Cursor {
        /// The cursor.
        cursor: RunCursor,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl ListError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Cursor { .. } => Retry::Never,
            Self::Backend(error) => error.retry(),
        }
    }
}
