//! What killed processes have left in the repository: workspaces that are half made, and locks of git.

use agentos_engine::workspaces::workspace_of;
use agentos_store::records::Records as _;
use agentos_workspace::stale_lock::LockKind;
use agentos_workspace::workspace::{Workspace, interrupted};

use crate::databases::locks;
use crate::error::Result;
use crate::session::Session;

/// What was found there.
pub(super) struct Findings {
    /// What is wrong, each with what helps.
    pub(super) problems: Vec<String>,
    /// What goes by itself.
    pub(super) notes: Vec<String>,
}

/// Looks at all of it. Nothing is changed.
pub(super) async fn look(session: &Session) -> Result<Findings> {
    // A database that can't be opened is told of elsewhere.
    let rows = match session.look() {
        Ok(Some(store)) => store.workspaces().await?,
        Ok(None) | Err(_) => Vec::new(),
    };
    let workspaces: Vec<Workspace> = rows.iter().filter_map(workspace_of).collect();
    let left = interrupted::find(&workspaces);
    let mut problems: Vec<String> = left.iter().map(ToString::to_string).collect();
    let mut notes = Vec::new();
    for lock in locks::find(session).await {
        match lock.kind {
            LockKind::StaleLock => problems.push(format!(
                "{lock}; `agentos db check --fix` removes it, and so does the next command that needs it"
            )),
            LockKind::HeldLock => notes.push(lock.to_string()),
            LockKind::UnseenLock => problems.push(lock.to_string()),
        }
    }
    Ok(Findings { problems, notes })
}
