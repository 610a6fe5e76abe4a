//! Directories of commands go away when their run has ended.
//!
//! What commands wrote is in their steps' logs by then, and what they answered is in the run's log. Until the end is
//! committed a directory is the only proof that a command has begun, so nothing is removed before. Whoever is killed in
//! between leaves directories behind; whoever drives runs next removes them.

use std::path::{Path, PathBuf};

use agentos_core::id::RunId;
use agentos_engine::events::Event;
use agentos_engine::shell::run_folder;
use agentos_process::sweep;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::supervise::commands_folder;

/// How many folders of runs are looked at before anything else is done; the next one looks at others.
const RUNS: usize = 1_000;

/// Removes what others have left, and then the directories of every run that ends, until there are no more events.
pub(crate) async fn follow(store: SqliteStore, mut events: Receiver<Event>) {
    let folder = commands_folder(store.path());
    remove_left(&store, &folder).await;
    loop {
        match events.recv().await {
            Ok(Event::Committed { run, standing, .. }) if standing.is_ended() => {
                remove(run_folder(&folder, run)).await;
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Removes the directories of a run that has ended without being driven.
pub(crate) async fn of_run(store: &SqliteStore, run: RunId) {
    remove(run_folder(&commands_folder(store.path()), run)).await;
}

/// Removes the directories of runs that have ended. A run that is not known here may be one of another database in the same
/// folder, so its directories are left alone.
async fn remove_left(store: &SqliteStore, folder: &Path) {
    for path in children(folder).into_iter().take(RUNS) {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(Ok(run)) = name.map(|name| name.parse().map(RunId)) else { continue };
        if store.head(run).await.is_ok_and(|head| head.standing.is_ended()) {
            remove(path).await;
        }
    }
}

/// Removes the directories of a run, except where somebody is at work.
async fn remove(folder: PathBuf) {
    let removed = tokio::task::spawn_blocking(move || {
        for path in children(&folder) {
            match sweep::remove(&path) {
                Ok(true) => {}
                Ok(false) => tracing::warn!(path = %path.display(), "a command outlives its run"),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a command's files are left");
                }
            }
        }
        // It stays while there is something in it.
        let _left = std::fs::remove_dir(&folder);
    });
    if let Err(error) = removed.await {
        tracing::warn!(%error, "whoever removes the files of commands panicked");
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
