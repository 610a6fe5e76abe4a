//! Where the log lines of runs go.

use agentos_core::entry::RunStarted;
use agentos_core::id::RunId;
use agentos_core::turn::LogLine;

/// Keeps the log lines of runs: in a file, as a rule. Called on the thread that drives the run.
pub trait LineSink: Send + Sync + 'static {
    /// A run that started like this is driven from now on. The number of the last line that is kept of it; 0 if there is
    /// none.
    fn open(&self, start: &RunStarted) -> u64;

    /// Keeps lines of a run that is open, after the commit. They come in order, and not again if [`LineSink::open`] said
    /// that they are there.
    fn write(&self, run: RunId, lines: Vec<LogLine>);

    /// The run is not driven here any more.
    fn close(&self, run: RunId);
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLines;

impl LineSink for NoLines {
    fn open(&self, _: &RunStarted) -> u64 {
        0
    }

    fn write(&self, _: RunId, _: Vec<LogLine>) {}

    fn close(&self, _: RunId) {}
}
