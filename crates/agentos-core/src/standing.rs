//! Where a run stands between two turns: what the store has to know to wake it.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EndStatus {
    /// The workflow returned.
    Completed,
    /// The workflow failed.
    Failed,
    /// It took too long.
    TimedOut,
    /// Somebody ended it.
    Cancelled,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// Something is being performed for it.
    Working {
        /// When its next timer fires, if it has one.
        wake_at: Option<Timestamp>,
    },
    /// It only waits: for a time, or for a message. It needs no memory until then.
    Parked {
        /// When its next timer fires, if it has one.
        wake_at: Option<Timestamp>,
    },
    /// It is over, and stays so.
    Ended {
        /// How.
        status: EndStatus,
    },
}

impl Standing {
    /// When the run has to be woken by the clock.
    #[must_use]
    pub const fn wake_at(&self) -> Option<Timestamp> {
        match self {
            Self::Working { wake_at } | Self::Parked { wake_at } => *wake_at,
            Self::Ended { .. } => None,
        }
    }

    /// Whether the run is over.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }
}
