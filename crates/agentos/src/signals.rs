//! What the system asks of us while a run is in the foreground.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Result;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A person has pressed Ctrl-C: what runs is stopped, and the run can be resumed.
    Stop,
    /// The terminal is gone, or the program is to be replaced: what can go on without us does.
    Leave,
}

/// The signals that say so.
pub(crate) struct Signals {
    interrupt: Signal,
    hang_up: Signal,
    terminate: Signal,
}

impl Signals {
    /// Listens from now on; without that they would end the process at once.
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.hang_up.recv() => Wish::Leave,
            _ = self.terminate.recv() => Wish::Leave,
        }
    }
}
