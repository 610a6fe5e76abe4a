//! Takes turns: who changes a worktree.
//!
//! The worktree itself sees to it that one changes it at a time, also between processes. But whoever waits there keeps a
//! thread. A workflow may commit in a thousand branches at once; these wait here, where waiting costs nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The worktrees that somebody changes, or waits for.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>);

impl Turns {
    /// Waits for its turn, which ends when the answer is dropped.
    pub(super) async fn of(&self, worktree: &Path) -> OwnedMutexGuard<()> {
        self.queue(worktree).lock_owned().await
    }

    fn queue(&self, worktree: &Path) -> Arc<AsyncMutex<()>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(worktree).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(worktree.to_owned(), Arc::downgrade(&queue));
        queue
    }
}
