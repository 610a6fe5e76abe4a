//! `exit.json`: how a command ended. Where it is, nothing of the command is alive.

use serde::{Deserialize, Serialize};

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Why.
    pub reason: Reason,
    /// What it said of itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// How much of that its output could not be written because there was no room.
    #[serde(default)]
    pub waited_ms: u64,
    /// How much it wrote to its standard output, masked, in bytes.
    pub stdout_bytes: u64,
    /// How much it wrote to its standard error, masked, in bytes.
    pub stderr_bytes: u64,
    /// How much of both was left out because there was more than is kept, in bytes.
    pub dropped_bytes: u64,
    /// How many processes it left behind, which were ended.
    pub leftovers: u32,
    /// What else there is to say, for people.
    pub message: Option<String>,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// By itself, or by a signal that is not ours.
    Exited,
    /// It took longer than it may.
    Timeout,
    /// It said nothing for longer than it may.
    Idle,
    /// Somebody wanted it to stop.
    Stopped,
    /// Nobody had waited for it for longer than it may be alone.
    Orphaned,
    /// It could not be started: the message says why.
    NotStarted,
    /// Its supervisor died, or there was no room for what it wrote; what was left of it was ended.
    Lost,
}

impl Reason {
    /// Whether it came to no end of its own that says anything about the command: it may be executed again.
    #[must_use]
    pub const fn is_interruption(self) -> bool {
        matches!(self, Self::Orphaned | Self::Lost)
    }
}

impl Exit {
    /// The end of something of which nothing is known but why.
    pub(crate) fn bare(reason: Reason, message: Option<String>) -> Self {
        Self {
            reason,
            exit_code: None,
            signal: None,
            duration_ms: 0,
            waited_ms: 0,
            stdout_bytes: 0,
            stderr_bytes: 0,
            dropped_bytes: 0,
            leftovers: 0,
            message,
        }
    }
}
