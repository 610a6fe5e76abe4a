//! One process for each session at a time: agents keep a conversation in a file, and two who write it spoil it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Whose turn it is, by session. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns {
    sessions: Arc<Mutex<HashMap<String, Weak<Turn<()>>>>>,
}

impl Turns {
    /// Waits for the turn of whoever wants to go on with this session; it lasts as long as what is returned.
    pub(super) async fn take(&self, session: &str) -> OwnedMutexGuard<()> {
        self.of(session).lock_owned().await
    }

    fn of(&self, session: &str) -> Arc<Turn<()>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = sessions.get(session).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(Turn::new(()));
        sessions.insert(session.to_owned(), Arc::downgrade(&turn));
        turn
    }
}
