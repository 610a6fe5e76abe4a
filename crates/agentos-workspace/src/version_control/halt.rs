//! Tells a verb of several programs to start no more of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by whoever works and whoever may stop it.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<AtomicBool>);

impl Halt {
    /// From now on nothing more is started.
    pub fn now(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it was said.
    #[must_use]
    pub fn is_now(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
