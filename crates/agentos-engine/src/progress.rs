//! How far operations have come, between those who perform them and those who watch.
//!
//! A performer may tell more often than anybody can listen. So there is no queue: of each operation only the latest is kept,
//! and what has changed is told at most ten times a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentos_core::path::OperationId;
use agentos_core::value::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Progress of one run is told no more often than this.
const PAUSE: Duration = Duration::from_millis(100);

/// The latest of each operation of one run that was not told yet. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Progress {
    untold: Arc<Untold>,
}

#[derive(Default)]
struct Untold {
    latest: Mutex<HashMap<OperationId, Value>>,
    changed: Notify,
}

impl Progress {
    fn latest(&self) -> MutexGuard<'_, HashMap<OperationId, Value>> {
        self.untold.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation has come further; whatever it said before is old.
    pub(crate) fn note(&self, operation: &OperationId, progress: Value) {
        let is_first = self.latest().insert(operation.clone(), progress).is_none();
        if is_first {
            self.untold.changed.notify_one();
        }
    }

    /// Waits until there is something to tell and the last time is a while ago.
    pub(crate) async fn ripe(&self, told_at: Option<Instant>) {
        while self.latest().is_empty() {
            self.untold.changed.notified().await;
        }
        if let Some(told_at) = told_at {
            tokio::time::sleep_until(told_at + PAUSE).await;
        }
    }

    /// What is to be told, of all operations.
    pub(crate) fn take(&self) -> HashMap<OperationId, Value> {
        std::mem::take(&mut self.latest())
    }

    /// The last word of an operation that is over.
    pub(crate) fn take_last(&self, operation: &OperationId) -> Option<Value> {
        self.latest().remove(operation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn of_a_flood_only_the_latest_is_kept() {
        let progress = Progress::default();
        let operation: OperationId = "/shell:x#1".parse().expect("an id");
        (0..100_000).for_each(|percent| progress.note(&operation, json!(percent)));
        progress.ripe(None).await;
        let told = progress.take();
        assert_eq!(told, HashMap::from([(operation.clone(), json!(99_999))]));
        progress.note(&operation, json!("next"));
        let now = Instant::now();
        progress.ripe(Some(now)).await;
        assert!(now.elapsed() >= PAUSE, "it is told of again after a while");
        assert_eq!(progress.take_last(&operation), Some(json!("next")));
        assert!(progress.take().is_empty());
    }
}
