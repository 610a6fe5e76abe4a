//! Locks of git that stay in the repository which a command stands in.

use agentos_workspace::stale_lock::{self, FoundLock};

use crate::session::Session;

/// Which there are. None outside of repositories.
pub(crate) async fn find(session: &Session) -> Vec<FoundLock> {
    let Ok(location) = session.location() else { return Vec::new() };
    let Ok(Some(checkout)) = &location.checkout else { return Vec::new() };
    let repository = checkout.repository.clone();
    let found = tokio::task::spawn_blocking(move || stale_lock::find(&repository));
    found.await.unwrap_or_default()
}
