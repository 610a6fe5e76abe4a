//! What a process does before it ends: the write-ahead logs of the databases that it wrote to go into their files.
//!
//! SQLite does that when the last connection is closed. A process that ends does not close all of its connections, so everything would
//! stay in the log, and the database file by itself would be empty or old for a person who copies it. Other processes are not waited
//! for: what one of them still reads stays in the log until it leaves.

use std::sync::{Mutex, PoisonError, Weak};

use super::Inner;

static OPEN: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// Remembers a store that this process may write to.
pub(super) fn remember(store: Weak<Inner>) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|known| known.strong_count() > 0);
    open.push(store);
}

/// Moves what the write-ahead logs of this process's open stores hold into their database files; a store that was dropped has done
/// it. To be called when the process is about to end. Failing is no harm: the log has everything.
pub fn checkpoint_before_exit() {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    for store in open.iter().filter_map(Weak::upgrade) {
        if let Some(writer) = &store.writer {
            writer.checkpoint();
        }
    }
}
