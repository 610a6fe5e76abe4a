//! What a snapshot is of, and what it is called.

use std::fmt;

use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::SnapshotError;
use super::bounds::NOTE_BYTES;
use crate::workspace::id::WorkspaceId;

/// On which side of a step's attempt a snapshot was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Nothing of the attempt has happened.
    Before,
    /// The attempt is over.
    After,
    /// What came before the attempt was taken back.
    RolledBack,
    /// The run is over.
    End,
    /// Somebody wanted one.
    ByHand,
}

impl Side {
    /// The spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::RolledBack => "rolled_back",
            Self::End => "end",
            Self::ByHand => "by_hand",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a snapshot is of. No two snapshots of a run have the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Label {
    /// The run, whose chain it belongs to.
    pub run: String,
    /// The number of the step.
    pub step: u32,
    /// Which attempt at it.
    pub attempt: u32,
    /// On which side of it.
    pub side: Side,
    /// The position in the run's log that it belongs to.
    pub position: u64,
    /// Whatever else tells it from others, or should be known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Label {
    /// Refuses what can't be the name of a chain.
    pub(super) fn check(&self) -> Result<(), SnapshotError> {
        check_run(&self.run)?;
        match &self.note {
            Some(note) if note.len() > NOTE_BYTES => {
                Err(SnapshotError::Label { why: format!("its note is over {NOTE_BYTES} bytes") })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, step, attempt, side, .. } = self;
        write!(f, "{run} step {step} attempt {attempt} {side}")
    }
}

/// Refuses what is no run: its name becomes a part of a ref. The rules are those for workspaces.
pub(super) fn check_run(run: &str) -> Result<(), SnapshotError> {
    let checked: Result<WorkspaceId, _> = run.parse();
    checked.map(drop).map_err(|error| SnapshotError::Label { why: error.to_string() })
}

/// A snapshot that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The commit that holds it; its tree is the files.
    pub commit: String,
    /// Its place in the chain of its run; the first is 1.
    pub number: u32,
    /// What it is of.
    pub label: Label,
    /// When it was taken.
    pub at: Timestamp,
}
