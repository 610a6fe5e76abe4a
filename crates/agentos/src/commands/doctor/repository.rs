//! What killed processes have left in the repository: workspaces that are half made, and locks of git.

use agentos_engine::workspaces::workspace_of;
use agentos_store::records::Records as _;
use agentos_workspace::workspace::{Workspace, interrupted};

use crate::databases::locks;
use crate::error::Result;
use crate::session::Session;

/// What is wrong there, each with what helps. Nothing is changed.
pub(super) async fn problems(session: &Session) -> Result<Vec<String>> {
    // A database that can't be opened is told of elsewhere.
    let rows = match session.look() {
        Ok(Some(store)) => store.workspaces().await?,
        Ok(None) | Err(_) => Vec::new(),
    };
    let workspaces: Vec<Workspace> = rows.iter().filter_map(workspace_of).collect();
    let left = interrupted::find(&workspaces);
    let mut problems: Vec<String> = left.iter().map(ToString::to_string).collect();
    for lock in locks::find(session).await {
        problems.push(if lock.is_stale {
            format!("{lock}; `agentos db check --fix` removes it, and so does the next command that needs it")
        } else {
            lock.to_string()
        });
    }
    Ok(problems)
}
