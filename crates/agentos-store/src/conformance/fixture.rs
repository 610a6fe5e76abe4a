//! What a backend brings so that the suite can be run on it.

use std::pin::Pin;
use std::sync::Arc;

use agentos_core::id::OwnerId;
use async_trait::async_trait;

use super::block_on;
use crate::store::Store;

/// What a case returns: nothing, or it panics.
pub type Pending<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Something that is done beside others.
pub type Work = Pending<'static>;

/// One store, empty at first, and the processes around it.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// Opens the store as one more process would. All that is opened is the same store; what one of them has committed
    /// the others see.
    async fn open(&self) -> Arc<dyn Store>;

    /// A process that may own runs, and that lives until it is killed.
    async fn new_owner(&self) -> OwnerId;

    /// The process dies. From then on the store knows it to be dead.
    async fn kill_owner(&self, owner: OwnerId);

    /// Lets some time pass for a tail that shows commits late. Nothing, where the tail needs none.
    async fn pause(&self) {}

    /// Does all of it at once, on as many threads, and returns when all is done. A backend whose verbs need a certain
    /// executor replaces this.
    ///
    /// # Panics
    /// If any of it does.
    fn in_parallel(&self, work: Vec<Work>) {
        std::thread::scope(|scope| {
            for part in work {
                scope.spawn(|| block_on(part));
            }
        });
    }
}
