//! Where the log lines of runs go.

use agentos_core::id::RunId;
use agentos_core::turn::LogLine;

/// Keeps the log lines of runs: in a file, as a rule. Called on the thread that drives the run, after the commit.
pub trait LineSink: Send + Sync + 'static {
    /// The number of the last line that is kept of a run; 0 if there is none.
    fn last_written(&self, run: RunId) -> u64;

    /// Keeps lines. They come in order, and not again if [`LineSink::last_written`] says that they are there.
    fn write(&self, run: RunId, lines: Vec<LogLine>);
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLines;

impl LineSink for NoLines {
    fn last_written(&self, _: RunId) -> u64 {
        0
    }

    fn write(&self, _: RunId, _: Vec<LogLine>) {}
}
