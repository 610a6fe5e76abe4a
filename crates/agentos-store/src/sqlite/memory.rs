//! What the writer remembers between transactions, so that it need not ask for what it has just written itself.
//!
//! All of it can be had from the database again. It is thrown away when a transaction came to nothing, and what others may
//! have changed is thrown away when others have committed.

use std::collections::HashMap;

use agentos_core::id::RunId;

use super::row::RunRow;
use crate::projection::Projection;

/// Most runs of which something is remembered.
const RUNS: usize = 10_000;

/// What the writer remembers.
#[derive(Default)]
pub(super) struct Memory {
    /// SQLite's mark of what others have committed.
    data_version: i64,
    /// The last position in the log that was given out.
    position: Option<i64>,
    /// How many were given out in this transaction.
    given: u64,
    heads: HashMap<RunId, RunRow>,
    /// What of each run's log is still open, by the run's key.
    folds: HashMap<i64, Projection>,
    /// The rows of open steps, by the run's key and their number.
    steps: HashMap<(i64, u32), i64>,
}

impl Memory {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets what is outdated if others have committed since.
    pub(super) fn come_to(&mut self, data_version: i64) {
        if self.data_version != data_version {
            // A fold says itself where it stands, and is made again if that is not where the log ends.
            self.position = None;
            self.heads.clear();
            self.steps.clear();
            self.data_version = data_version;
        }
    }

    pub(super) const fn last_position(&self) -> Option<i64> {
        self.position
    }

    pub(super) const fn give_out(&mut self, position: i64) {
        self.position = Some(position);
        self.given += 1;
    }

    /// How many positions were given out since this was last asked.
    pub(super) const fn take_given(&mut self) -> u64 {
        std::mem::replace(&mut self.given, 0)
    }

    pub(super) fn head(&self, run: RunId) -> Option<RunRow> {
        self.heads.get(&run).copied()
    }

    pub(super) fn keep_head(&mut self, run: RunId, row: RunRow) {
        if self.heads.len() >= RUNS {
            self.heads.clear();
        }
        self.heads.insert(run, row);
    }

    pub(super) fn forget_head(&mut self, run: RunId) {
        self.heads.remove(&run);
    }

    pub(super) fn take_fold(&mut self, key: i64) -> Option<Projection> {
        self.folds.remove(&key)
    }

    pub(super) fn keep_fold(&mut self, key: i64, fold: Projection) {
        if self.folds.len() >= RUNS {
            self.folds.clear();
        }
        self.folds.insert(key, fold);
    }

    pub(super) fn step(&self, run: i64, number: u32) -> Option<i64> {
        self.steps.get(&(run, number)).copied()
    }

    pub(super) fn keep_step(&mut self, run: i64, number: u32, key: i64) {
        if self.steps.len() >= RUNS {
            self.steps.clear();
        }
        self.steps.insert((run, number), key);
    }

    pub(super) fn forget_step(&mut self, run: i64, number: u32) {
        self.steps.remove(&(run, number));
    }

    /// Forgets what is derived from the log of a run.
    pub(super) fn forget_rows(&mut self, key: i64) {
        self.folds.remove(&key);
        self.steps.retain(|(run, _), _| *run != key);
    }
}
