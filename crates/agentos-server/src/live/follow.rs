//! Following one database: what is committed to it is read once, written once, and told to everybody who wants it.

use std::collections::HashMap;
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::id::RunId;
use agentos_store::backend::BackendError;
use agentos_store::records::RemarkCursor;
use agentos_store::sqlite::{SqliteStore, Watch};
use agentos_store::store::Store as _;
use agentos_store::tail::{TailCursor, TailError, TailEvent};
use agentos_store::unified::UnifiedView;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::batch::{batch, listed, remarked, touched};
use super::bounds::{AGAIN, FOLLOWED, LOOK};
use super::hub::{Hub, HubRef, Wanted};

/// How far a follower has come.
struct Place {
    log: TailCursor,
    remarks: RemarkCursor,
}

impl Place {
    /// Behind everything.
    async fn end(store: &SqliteStore) -> Result<Self, BackendError> {
        Ok(Self { log: store.tail_end().await?, remarks: store.remark_end().await? })
    }
}

/// Follows a database until nobody wants to hear of it.
pub(super) async fn follow(hub: HubRef, store: SqliteStore, ready: watch::Sender<bool>) {
    let mut watch = store.watch().ok();
    let mut place = Place::end(&store).await.ok();
    // Also without a place: as soon as there is one, everybody is told to read the log.
    ready.send_replace(true);
    loop {
        match &mut place {
            Some(_) => news(watch.as_mut()).await,
            None => sleep(AGAIN).await,
        }
        let Some(hub) = hub.upgrade() else { return };
        if !hub.is_wanted(store.path()) {
            return;
        }
        watch = watch.or_else(|| store.watch().ok());
        let read = match &mut place {
            Some(place) => read(&hub, &store, place).await,
            None => begin_anew(&hub, &store, &mut place).await.map_err(TailError::from),
        };
        if let Err(error) = read {
            tracing::warn!(path = %store.path().display(), %error, "a database can't be followed");
            place = None;
        }
    }
}

/// Waits until something was committed, or for a while.
async fn news(watch: Option<&mut Watch>) {
    match watch {
        // Both are reasons to look.
        Some(watch) => drop(timeout(LOOK, watch.changed()).await),
        None => sleep(AGAIN).await,
    }
}

/// Goes on from the end. What was committed meanwhile is in the log.
async fn begin_anew(
    hub: &Hub,
    store: &SqliteStore,
    place: &mut Option<Place>,
) -> Result<(), BackendError> {
    *place = Some(Place::end(store).await?);
    hub.lose(store.path());
    Ok(())
}

/// Tells everything that was committed since.
async fn read(hub: &Hub, store: &SqliteStore, place: &mut Place) -> Result<(), TailError> {
    loop {
        let page = store.tail(place.log.clone(), FOLLOWED).await?;
        place.log = page.next;
        if page.events.is_empty() {
            break;
        }
        let wanted = hub.wanted(store.path());
        for (run, chunks) in by_run(page.events) {
            tell(hub, store, &wanted, (run, chunks)).await;
        }
    }
    let (remarks, behind) = store.remarks(place.remarks).await?;
    place.remarks = behind;
    for remark in remarks {
        hub.tell_remark(remark.run, &remarked(&remark));
    }
    Ok(())
}

fn by_run(events: Vec<TailEvent>) -> HashMap<RunId, Vec<Chunk>> {
    let mut runs: HashMap<RunId, Vec<Chunk>> = HashMap::new();
    for TailEvent { run, chunk } in events {
        runs.entry(run).or_default().push(chunk);
    }
    runs
}

async fn tell(hub: &Hub, store: &SqliteStore, wanted: &Wanted, (run, chunks): (RunId, Vec<Chunk>)) {
    let is_wanted = wanted.runs.contains(&run);
    if !is_wanted && wanted.projects.is_empty() {
        return;
    }
    let rows = if is_wanted { touched(run, &chunks) } else { Default::default() };
    // A run that was deleted meanwhile has nothing to tell; another reason is met again by whoever reads its log.
    let Ok(mut rows) = store.touched_rows(run, rows).await else { return };
    hub.view().hosts().tell(&mut rows.run);
    if is_wanted {
        hub.tell(&Arc::new(batch(&chunks, &rows)));
    }
    if let Some(project) = rows.run.project_id.filter(|project| wanted.projects.contains(project)) {
        hub.tell_listed(project, run, &listed(project, &rows.run));
    }
}

/// Follows every database that comes, until nobody wants to hear of projects.
pub(super) async fn scout(hub: HubRef, mut views: watch::Receiver<Arc<UnifiedView>>) {
    loop {
        let is_over = matches!(timeout(LOOK, views.changed()).await, Ok(Err(_)));
        let Some(hub) = hub.upgrade() else { return };
        if is_over || !hub.is_scouting_wanted() {
            return;
        }
        let view = views.borrow_and_update().clone();
        for source in view.sources() {
            hub.follow(&source.store, None).await;
        }
    }
}
