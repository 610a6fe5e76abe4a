//! Learning of commits in any of several databases.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::{Source, UnifiedView};
use crate::sqlite::Watch;

/// Says when something was committed in one of the databases.
pub struct UnifiedWatch {
    watches: Vec<Watch>,
}

impl UnifiedView {
    /// Begins to watch. A database that can't be watched is left out: whoever watches looks again from time to time anyway.
    #[must_use]
    pub fn watch(&self) -> UnifiedWatch {
        let watch = |source: &Source| source.store.watch().ok();
        UnifiedWatch { watches: self.sources.iter().filter_map(watch).collect() }
    }
}

impl UnifiedWatch {
    /// Waits until something was committed in one of them since this was last asked.
    pub async fn changed(&mut self) {
        let mut waits: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = Vec::new();
        for watch in &mut self.watches {
            waits.push(Box::pin(watch.changed()));
        }
        poll_fn(|context| {
            let is_ready = |wait: &mut Pin<Box<dyn Future<Output = ()> + Send + '_>>| {
                wait.as_mut().poll(context).is_ready()
            };
            // Whoever else has news keeps them for the next time.
            match waits.iter_mut().any(is_ready) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
