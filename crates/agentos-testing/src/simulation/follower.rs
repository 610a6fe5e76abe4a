//! Somebody who watches: reads the tail while the run is driven, and must see each commit once and in order.

use agentos_core::codec::Chunk;
use agentos_core::id::RunId;
use agentos_store::simulated::SimulatedStore;
use agentos_store::store::Store;
use agentos_store::tail::TailCursor;
use pollster::block_on;

/// How many pages without anything new mean that there is nothing more.
const QUIET_PAGES: u32 = 40;

/// A reader of the tail.
#[derive(Debug)]
pub(super) struct Follower {
    cursor: TailCursor,
    seen: Vec<Chunk>,
}

impl Follower {
    pub(super) fn new() -> Self {
        Self { cursor: TailCursor::start(), seen: Vec::new() }
    }

    /// Reads a page; whether there was anything in it.
    pub(super) fn read(&mut self, store: &SimulatedStore, run: RunId) -> bool {
        let Ok(page) = block_on(store.tail(self.cursor.clone(), 8)) else {
            return false;
        };
        self.cursor = page.next;
        let found = !page.events.is_empty();
        self.seen.extend(
            page.events.into_iter().filter(|event| event.run == run).map(|event| event.chunk),
        );
        found
    }

    /// Reads to the end and compares with the log.
    pub(super) fn check(
        mut self,
        store: &SimulatedStore,
        run: RunId,
        log: &[Chunk],
    ) -> Result<(), String> {
        let mut quiet = 0;
        while quiet < QUIET_PAGES {
            quiet = if self.read(store, run) { 0 } else { quiet + 1 };
        }
        if self.seen == log {
            return Ok(());
        }
        let place = self.seen.iter().zip(log).take_while(|(seen, logged)| seen == logged).count();
        Err(format!(
            "the tail shows {:?} where the log has {:?}",
            self.seen.get(place),
            log.get(place)
        ))
    }
}
