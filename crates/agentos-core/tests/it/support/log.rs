//! A log under construction.

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Record};
use agentos_core::id::Seq;
use agentos_core::journal::Journal;
use agentos_core::time::Timestamp;

use super::fact;

/// Records with their places, and the time of the next one.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    at: Timestamp,
    records: Vec<Record>,
}

impl Log {
    pub(crate) fn empty() -> Self {
        Self { at: Timestamp(0), records: Vec::new() }
    }

    /// A log that begins as every log does, at 0.
    pub(crate) fn started() -> Self {
        Self::empty().with(fact::run_started())
    }

    /// A log with the step `/a#1` and its first attempt under way.
    pub(crate) fn in_step() -> Self {
        Self::started().with(fact::requested("/a#1", 1)).with(fact::attempt("/a#1@1"))
    }

    /// What follows is recorded at this time.
    pub(crate) fn at(mut self, ms: i64) -> Self {
        self.at = Timestamp(ms);
        self
    }

    pub(crate) fn with(mut self, entry: Entry) -> Self {
        self.records.push(self.next(entry));
        self
    }

    pub(crate) fn with_all(self, entries: impl IntoIterator<Item = Entry>) -> Self {
        entries.into_iter().fold(self, Self::with)
    }

    /// The first records only.
    pub(crate) fn cut(mut self, len: usize) -> Self {
        self.records.truncate(len);
        self
    }

    /// The record that an entry would be if it came next.
    pub(crate) fn next(&self, entry: Entry) -> Record {
        Record::new(Seq(self.records.len() as u64), self.at, entry)
    }

    /// A chunk comes to the end of the log.
    pub(crate) fn extend(&mut self, chunk: Chunk) {
        assert_eq!(chunk.first, Seq(self.records.len() as u64), "a turn continues its log");
        self.at = chunk.at;
        self.records.extend(chunk.into_records());
    }

    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    pub(crate) fn entries(&self) -> Vec<&Entry> {
        self.records.iter().map(|record| &record.entry).collect()
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::fold(self.records.clone()).expect("the log folds")
    }
}
