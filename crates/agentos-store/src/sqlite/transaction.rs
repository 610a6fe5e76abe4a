//! What a piece of work sees while it is carried out.

use std::cell::RefCell;

use agentos_core::id::RunId;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _};

use super::error::Done;
use super::memory::Memory;
use super::owner::Owners;
use super::row::RunRow;
use super::tail;

/// An open transaction, and who else is around.
pub(super) struct Tx<'a> {
    pub(super) connection: &'a Connection,
    pub(super) owners: &'a Owners,
    pub(super) memory: &'a RefCell<Memory>,
}

impl Tx<'_> {
    pub(super) fn statement(&self, sql: &str) -> Done<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    /// The run's key and head, if there is such a run.
    pub(super) fn run(&self, run: RunId) -> Done<Option<RunRow>> {
        if let Some(row) = self.memory.borrow().head(run) {
            return Ok(Some(row));
        }
        let found = RunRow::find(self.connection, run)?;
        if let Some(row) = found {
            self.memory.borrow_mut().keep_head(run, row);
        }
        Ok(found)
    }

    /// Has to be called by whoever changes a run's head in another way than [`Self::remember`].
    pub(super) fn forget(&self, run: RunId) {
        self.memory.borrow_mut().forget_head(run);
    }

    /// The run's head is this from now on.
    pub(super) fn remember(&self, run: RunId, row: RunRow) {
        self.memory.borrow_mut().keep_head(run, row);
    }

    /// A position in the log that was never given out before.
    pub(super) fn next_position(&self) -> Done<i64> {
        let known = self.memory.borrow_mut().last_position();
        let last = match known {
            Some(last) => last,
            None => tail::last_position(self.connection)?,
        };
        self.memory.borrow_mut().give_out(last + 1);
        Ok(last + 1)
    }

    /// The key of what has this id in a table.
    pub(super) fn key_of(&self, sql: &str, id: &str) -> Done<Option<i64>> {
        Ok(self.statement(sql)?.query_row([id], |row| row.get(0)).optional()?)
    }
}
