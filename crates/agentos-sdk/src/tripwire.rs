//! How waiting for anything but `ctx` is noticed.
//!
//! Futures of this crate need no waker: the program knows which body waits for which answer. So a waker is handed out
//! only as a tripwire. Whoever keeps a clone of it, or uses it, means to wake the workflow from outside: a timer of a
//! runtime, a channel, a socket, a thread. None of that is in the log, so a replay could not wait for it again. The
//! poll in which it happens is the same in every execution, so the failure is too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// The waker of one body.
#[derive(Debug, Default)]
pub(crate) struct Tripwire(AtomicBool);

impl Wake for Tripwire {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl Tripwire {
    /// Polls something, and says whether it touched the wire.
    pub(crate) fn watch<R>(self: &Arc<Self>, poll: impl FnOnce(&Waker) -> R) -> (R, bool) {
        let waker = Waker::from(Arc::clone(self));
        let polled = poll(&waker);
        drop(waker);
        let kept = Arc::strong_count(self) > 1;
        (polled, kept || self.0.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tripped(poll: impl FnOnce(&Waker)) -> bool {
        Arc::new(Tripwire::default()).watch(poll).1
    }

    #[test]
    fn looking_at_the_waker_is_allowed_keeping_or_using_it_is_not() {
        assert!(!tripped(|_| {}));
        assert!(!tripped(|waker| drop(waker.clone())));
        assert!(tripped(Waker::wake_by_ref));
        let mut kept = None;
        assert!(tripped(|waker| kept = Some(waker.clone())));
    }
}
