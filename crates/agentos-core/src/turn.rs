//! What one turn decided: to be committed first, then made visible.

use serde::{Deserialize, Serialize};

use crate::codec::Chunk;
use crate::effect::Effect;
use crate::id::{InboxKey, RunId, StepNumber};
use crate::inbox::Message;
use crate::path::{ScopePath, StepPath};
use crate::standing::Standing;
use crate::time::Timestamp;

/// How loud a log line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Every detail.
    Trace,
    /// For whoever looks for a fault.
    Debug,
    /// Worth knowing.
    Info,
    /// Worth a look.
    Warn,
    /// Something went wrong.
    Error,
    /// Nothing works any more.
    Fatal,
}

/// A line for the run's log files. Not an entry: it can be made again by executing the program again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Larger than that of the line before. The same line has the same number in every execution, so a file that
    /// knows its last number gets each line once.
    pub ordinal: u64,
    /// When.
    pub at: Timestamp,
    /// Where in the run.
    pub scope: ScopePath,
    /// The step that it belongs to; none if it was said outside of all steps.
    pub step: Option<LineStep>,
    /// How loud.
    pub level: LogLevel,
    /// What.
    pub message: String,
    /// Whether it warns of the workflow's code, so that it belongs on the run as well.
    pub is_warning: bool,
}

/// The step that a log line belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineStep {
    /// The step.
    pub path: StepPath,
    /// Its number.
    pub number: StepNumber,
}

/// A message for another run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// The run that it is for.
    pub to: RunId,
    /// The message.
    pub message: Message,
}

/// One turn: commit `chunk` and `consumed` together, then perform the effects.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The new entries; there may be none.
    pub chunk: Chunk,
    /// Messages that are now in the log and leave the inbox with this commit.
    pub consumed: Vec<InboxKey>,
    /// Messages for other runs, sent by this commit: a child's end for its parent.
    pub outgoing: Vec<Outgoing>,
    /// What to do in the world after the commit.
    pub effects: Vec<Effect>,
    /// What to write to the log files after the commit.
    pub lines: Vec<LogLine>,
    /// Where the run stands after this turn.
    pub standing: Standing,
    /// The turn was cut at its bound: commit, then take another turn at once.
    pub more: bool,
}

impl Turn {
    /// Whether there is anything to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunk.entries.is_empty()
    }
}
