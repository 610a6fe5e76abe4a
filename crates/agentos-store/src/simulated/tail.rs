//! The simulated tail: commits become visible late and out of order, as they do in a database that numbers rows before
//! it commits them.
//!
//! Each commit has a number and an operation from which on it is visible. A cursor is written `low+a,b,c`: everything
//! below `low` was seen, and of what is above only `a`, `b` and `c`. The numbers between are awaited.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::id::RunId;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use crate::bounds;
use crate::tail::{TailCursor, TailError, TailEvent, TailPage};

#[derive(Clone)]
pub(super) struct Tail {
    rows: Vec<Row>,
    /// From when on each run's latest commit is visible.
    latest: BTreeMap<RunId, u64>,
    random: Xoshiro256PlusPlus,
    most_delay: u64,
}

#[derive(Clone)]
struct Row {
    run: RunId,
    chunk: Arc<Chunk>,
    visible_from: u64,
}

/// What a cursor says was seen.
struct Seen {
    /// Every row before this one.
    low: usize,
    /// And these, all of them after `low`.
    above: BTreeSet<usize>,
}

impl Tail {
    pub(super) fn new(seed: u64, most_delay: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { rows: Vec::new(), latest: BTreeMap::new(), random, most_delay }
    }

    /// Adds a commit, to be visible at some later operation, but never before an earlier commit of the same run.
    pub(super) fn append(&mut self, run: RunId, chunk: Arc<Chunk>, now: u64) {
        let drawn = now + self.draw_delay();
        let latest = self.latest.entry(run).or_insert(drawn);
        *latest = drawn.max(*latest);
        self.rows.push(Row { run, chunk, visible_from: *latest });
    }

    /// Half of the commits are visible at once, so that others overtake them as often as not.
    fn draw_delay(&mut self) -> u64 {
        let drawn = self.random.next_u64();
        if self.most_delay == 0 || drawn & 1 == 0 { 0 } else { 1 + (drawn >> 1) % self.most_delay }
    }

    pub(super) fn page(
        &self,
        after: TailCursor,
        limit: usize,
        now: u64,
    ) -> Result<TailPage, TailError> {
        let mut seen = Seen::read(after, self.rows.len())?;
        let unseen = self.rows.iter().enumerate().skip(seen.low);
        let visible =
            unseen.filter(|(number, row)| row.visible_from <= now && !seen.above.contains(number));
        let page: Vec<_> = visible.take(bounds::page(limit)).collect();
        seen.above.extend(page.iter().map(|(number, _)| *number));
        let events = page
            .into_iter()
            .map(|(_, row)| TailEvent { run: row.run, chunk: Chunk::clone(&row.chunk) });
        Ok(TailPage { events: events.collect(), next: seen.write() })
    }
}

impl Seen {
    fn read(cursor: TailCursor, rows: usize) -> Result<Self, TailError> {
        if cursor.is_start() {
            return Ok(Self { low: 0, above: BTreeSet::new() });
        }
        let seen = Self::parse(cursor.as_str());
        seen.filter(|seen| seen.fits(rows)).ok_or(TailError::Cursor { cursor })
    }

    fn parse(text: &str) -> Option<Self> {
        let (low, above) = text.split_once('+')?;
        let above = above.split(',').filter(|number| !number.is_empty()).map(str::parse);
        Some(Self { low: low.parse().ok()?, above: above.collect::<Result<_, _>>().ok()? })
    }

    /// Whether these can have been seen of so many rows.
    fn fits(&self, rows: usize) -> bool {
        self.low <= rows && self.above.iter().all(|number| (self.low..rows).contains(number))
    }

    fn write(mut self) -> TailCursor {
        while self.above.remove(&self.low) {
            self.low += 1;
        }
        let above: Vec<String> = self.above.iter().map(usize::to_string).collect();
        TailCursor::from_text(format!("{}+{}", self.low, above.join(",")))
    }
}
