//! Locks of git that stay in the repository which a command stands in.

use std::path::Path;

use agentos_workspace::stale_lock::{self, FoundLock};

use crate::error::{CommandError, Result};
use crate::session::Session;

/// Which there are. None outside of repositories.
pub(crate) async fn find(session: &Session) -> Vec<FoundLock> {
    let Ok(location) = session.location() else { return Vec::new() };
    let Ok(Some(checkout)) = &location.checkout else { return Vec::new() };
    let repository = checkout.repository.clone();
    let found = tokio::task::spawn_blocking(move || stale_lock::find(&repository));
    found.await.unwrap_or_default()
}

/// Removes a lock if its git is dead. Answers with what was done; none if it stays.
pub(crate) async fn clear(lock: &FoundLock) -> Result<Option<String>> {
    let path = lock.path.clone();
    let removed = tokio::task::spawn_blocking(move || stale_lock::remove(&path)).await;
    let removed = removed.map_err(|error| CommandError::failed(error.to_string()))?;
    let removed = removed.map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(removed.then(|| format!("removed {}", lock.path.display())))
}

/// Names the locks in a checkout that stay because their gits can't be seen. Something has failed there, maybe over one of them.
pub(crate) async fn tell_of_unseen(session: &Session, root: &Path) {
    let root = root.to_owned();
    let found = tokio::task::spawn_blocking(move || stale_lock::find_unseen_in(&root)).await;
    for lock in found.unwrap_or_default() {
        session.output.note(&format!(
            "{lock}; until then what needs it fails (`agentos doctor` lists such locks)"
        ));
    }
}
