//! The document of a run, kept in its folder for whoever looks there.
//!
//! It is written when the run begins and when it ends. It decides nothing, so nobody waits for it and a failure is only
//! told.

use std::path::Path;

use agentos_core::id::RunId;
use agentos_engine::events::Event;
use agentos_store::folder::RunFolder;
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Writes the document of a run as it stands.
pub(crate) async fn write(store: &SqliteStore, run: RunId) {
    let detail = match store.run_detail(run).await {
        Ok(detail) => detail,
        Err(error) => return tracing::warn!(%run, %error, "the run's document is not written"),
    };
    let Some(project) = detail.run.work_dir.clone() else { return };
    let folder = RunFolder::new(Path::new(&project), run);
    let written = folder.create().and_then(|()| folder.write_metadata(&detail));
    if let Err(error) = written {
        tracing::warn!(%run, %error, "the run's document is not written");
    }
}

/// Writes the document of every run that ends, until there are no more events.
pub(crate) async fn follow(store: SqliteStore, mut events: Receiver<Event>) {
    loop {
        match events.recv().await {
            Ok(Event::Committed { run, standing, .. }) if standing.is_ended() => {
                write(&store, run).await;
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
