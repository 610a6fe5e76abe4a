//! Folders of runs that a process was about to create when it died: removed by the next process that drives runs.

use std::path::Path;

use agentos_store::folder::{Left, executions, find_creating};
use agentos_store::log::ReadError;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;

use crate::databases::others::{self, Others};
use crate::session::Session;

/// Removes them. What can't be removed now is left to the next process.
pub(crate) async fn sweep(session: &Session, store: &SqliteStore) {
    let Ok(Ok(project)) = session.location().map(|location| location.project_path()) else {
        return;
    };
    let left = find_creating(&executions(project));
    if left.is_empty() {
        return;
    }
    let own = store.path().canonicalize().unwrap_or_else(|_| store.path().to_owned());
    let others = Others::ask(&others::paths(session, &own)).await;
    for left in left {
        remove(store, &others, left).await;
    }
}

async fn remove(store: &SqliteStore, others: &Others, left: Left) {
    let run = left.run;
    // Asked while it is locked: nobody creates it any more.
    match store.head(run).await {
        Ok(_) => left.forget(),
        Err(ReadError::NotFound { .. }) if !others.may_know(run) => {
            let folder = left.folder.clone();
            match left.remove() {
                Ok(()) => {
                    tracing::info!(%run, "removed what was left of a run that was never created")
                }
                Err(error) => told(&folder, &error),
            }
        }
        Err(_) => {}
    }
}

fn told(folder: &Path, error: &std::io::Error) {
    tracing::warn!(path = %folder.display(), %error, "what is left of a run can't be removed");
}
