//! Asking the store again, as long as that can help.

use std::time::Duration;

use crate::shared::Shared;

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(5);

/// Pauses between questions that could not be answered: each longer than the one before.
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new() -> Self {
        Self { next: FIRST }
    }

    /// Waits a while. The answer is no if the engine leaves meanwhile.
    pub(crate) async fn pause(&mut self, shared: &Shared) -> bool {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        tokio::select! {
            biased;
            () = shared.leaving.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }
}
