//! Tells an engine when the user's settings have changed.
//!
//! Limits and workspace settings are asked for when they are needed, so most changes hold by themselves. A run that waits has to
//! be told: for a slot, because the limit may be higher now; for room on the disk, because less may have to stay free.

use std::sync::Arc;
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_engine::engine::SettingsListener;
use agentos_engine::held::Held;
use agentos_store::projection::WaitKind;
use agentos_store::records::{Records as _, RunQuery};
use agentos_store::sqlite::SqliteStore;

use crate::config::{Config, LiveConfig};

/// How often the files of the configuration are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How many runs that wait for room are tried again at once; the others have their own time.
const WAITING_RUNS: usize = 1_000;

/// Tells a background executor's engine of changes until it leaves. Runs that wait for room are tried again at its start, too: the
/// settings may have changed while there was no executor.
pub(crate) async fn follow_in_background(
    config: Arc<LiveConfig>,
    store: SqliteStore,
    engine: SettingsListener,
) {
    let mut known = None;
    loop {
        let now = config.current();
        if known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &now)) {
            let waiting = waiting_for_room(&store).await;
            engine.changed(Some(now.run.concurrency.value as usize), waiting);
            known = Some(now);
        }
        if engine.left_within(LOOK).await {
            return;
        }
    }
}

/// Tells the engine of one run of changes until it leaves. `known` is the configuration that the engine was started with.
pub(crate) async fn follow_in_foreground(
    config: Arc<LiveConfig>,
    mut known: Arc<Config>,
    engine: SettingsListener,
) {
    while !engine.left_within(LOOK).await {
        let now = config.current();
        if !Arc::ptr_eq(&known, &now) {
            engine.changed(None, []);
            known = now;
        }
    }
}

/// Runs that wait for room on the disk, without those that were stopped on purpose.
async fn waiting_for_room(store: &SqliteStore) -> Vec<RunId> {
    let query =
        RunQuery { waiting: vec![WaitKind::Disk], limit: WAITING_RUNS, ..RunQuery::default() };
    let found = match store.query_runs(query).await {
        Ok(found) => found.runs,
        Err(error) => {
            tracing::warn!(%error, "runs that wait for room are tried again at their own time");
            return Vec::new();
        }
    };
    let stopped = Held::of(store.path()).all();
    found.into_iter().map(|run| run.id).filter(|run| !stopped.contains(run)).collect()
}
