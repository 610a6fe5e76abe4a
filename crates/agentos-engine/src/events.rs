//! News for whoever watches: what was committed, and what goes on in between.
//!
//! Two classes. *Commits* are durable and have positions: who misses one (a slow watcher is told so) reads on in the
//! log. *Progress* has no position, is thinned out, and is gone when it is missed.

use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::id::RunId;
use agentos_core::path::OperationId;
use agentos_core::standing::Standing;
use agentos_core::value::Value;
use tokio::sync::broadcast;

/// How many events a watcher may be behind before it is told to catch up from the log.
const BEHIND: usize = 4_096;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// Entries are in a run's log.
    Committed {
        /// The run.
        run: RunId,
        /// The entries.
        chunk: Arc<Chunk>,
        /// How the run stands now.
        standing: Standing,
    },
    /// An operation has come further. Ephemeral.
    Progress {
        /// The run.
        run: RunId,
        /// The operation.
        operation: OperationId,
        /// How far.
        progress: Value,
    },
    /// A run can't be driven.
    Trouble {
        /// The run.
        run: RunId,
        /// What is wrong, for people.
        message: String,
        /// The engine has left the run alone, and tries it again later. Otherwise it waits until that has passed.
        is_left: bool,
    },
}

/// Where events come from.
#[derive(Debug, Clone)]
pub struct Events {
    sender: broadcast::Sender<Event>,
}

impl Default for Events {
    fn default() -> Self {
        Self { sender: broadcast::channel(BEHIND).0 }
    }
}

impl Events {
    /// Hears everything from now on.
    #[must_use]
    pub fn watch(&self) -> broadcast::Receiver<Event> {
        self.sender.subscribe()
    }

    pub(crate) fn tell(&self, event: Event) {
        // That nobody listens is no error.
        let _unheard = self.sender.send(event);
    }
}
