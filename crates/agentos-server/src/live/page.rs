//! Pages of a run's log, for whoever is behind.

use agentos_core::codec::Chunk;
use agentos_core::id::{RunId, Seq};
use agentos_store::log::ReadError;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use agentos_store::unified::UnifiedView;
use tokio::sync::Semaphore;

use super::batch::{Batch, batch, touched};
use super::bounds::{PAGE_BYTES, PAGE_CHUNKS, READERS};

/// Where somebody reads in a run's log.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) store: SqliteStore,
    pub(super) run: RunId,
    /// The position of the next entry, counted from 1.
    pub(super) next: u64,
    /// How many commits are read at once: fewer where they are large.
    chunks: usize,
}

/// Few read at once, so that a crowd that comes back together needs little room.
static READING: Semaphore = Semaphore::const_new(READERS);

impl Place {
    pub(super) const fn new(store: SqliteStore, run: RunId, next: u64) -> Self {
        Self { store, run, next, chunks: PAGE_CHUNKS }
    }

    /// The next entries, without those before the place; none if the log ends here. The place stays where it is.
    pub(super) async fn chunks(&self, most: usize) -> Result<Vec<Chunk>, ReadError> {
        let from = Seq(self.next.saturating_sub(1));
        let mut chunks = self.store.load_log(self.run, from, most).await?;
        // A page begins with a whole commit, of which a part may be known.
        if let Some(first) = chunks.first_mut()
            && first.first < from
        {
            let known = usize::try_from(from.0 - first.first.0).unwrap_or(usize::MAX);
            first.entries.drain(..known.min(first.entries.len()));
            first.first = from;
        }
        chunks.retain(|chunk| !chunk.entries.is_empty());
        Ok(chunks)
    }

    /// The messages about the next entries, as the view tells them; none if the log ends here. The place moves behind them.
    pub(super) async fn batch(&mut self, view: &UnifiedView) -> Result<Option<Batch>, ReadError> {
        // It is never closed.
        let _reading = READING.acquire().await;
        let chunks = self.chunks(self.chunks).await?;
        if chunks.is_empty() {
            return Ok(None);
        }
        let mut rows = self.store.touched_rows(self.run, touched(self.run, &chunks)).await?;
        view.hosts().tell(&mut rows.run);
        let batch = batch(&chunks, &rows);
        self.next = batch.end();
        let is_large = batch.bytes > PAGE_BYTES;
        self.chunks = if is_large { self.chunks / 4 } else { self.chunks * 2 };
        self.chunks = self.chunks.clamp(1, PAGE_CHUNKS);
        Ok(Some(batch))
    }
}
