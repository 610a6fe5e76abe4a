//! Runs that come from another store, or go to one.
//!
//! See [`crate::transfer`] for what is carried. Here it is read, in one read transaction a run, and written, in one
//! transaction a run.

pub(super) mod give;
mod place;
pub(super) mod take;

use std::path::Path;

use agentos_core::id::RunId;

use super::SqliteStore;
use super::error::{Done, Fault};
use super::lock::WriterLock;
use super::probe::beside;
use super::{connection, migrate};
use crate::backend::BackendError;
use crate::transfer::{Candidate, RunCopy, Taken, TransferError, UnreadableRun};

/// Columns of a run's row that follow neither from its log nor from where it is kept.
const COLUMNS: [&str; 19] = [
    "run_id",
    "workflow",
    "definition_hash",
    "worktree_id",
    "work_dir",
    "workspace_dir",
    "workspace_id",
    "context_dir",
    "branch_name",
    "commit_sha",
    "pr_url",
    "log_file_path",
    "parent_run_id",
    "forked_from",
    "created_at",
    "updated_at",
    "head",
    "epoch",
    "wake_at",
];

impl SqliteStore {
    /// Every run, the oldest first.
    ///
    /// # Errors
    /// [`BackendError`].
    pub async fn candidates(&self) -> Result<Vec<Candidate>, BackendError> {
        let owners = self.inner.owners.clone();
        self.read(move |connection| give::candidates(connection, &owners).map(Ok)).await
    }

    /// Every run whose row can be read, the oldest first, and what is wrong with the others.
    ///
    /// # Errors
    /// [`BackendError`] if there is none that can be read.
    pub async fn readable_candidates(
        &self,
    ) -> Result<(Vec<Candidate>, Vec<UnreadableRun>), BackendError> {
        let owners = self.inner.owners.clone();
        self.read(move |connection| give::readable_candidates(connection, &owners).map(Ok)).await
    }

    /// Those who live, with their processes where they can be seen.
    ///
    /// # Errors
    /// [`BackendError`].
    pub fn living_owners(&self) -> Result<Vec<String>, BackendError> {
        Ok(self.inner.owners.living()?)
    }

    /// Whether an older program made this database, so that its rows may not be what this one expects.
    ///
    /// # Errors
    /// [`BackendError`].
    pub fn has_older_schema(&self) -> Result<bool, BackendError> {
        let frozen = connection::frozen(&self.inner.path)?;
        Ok(migrate::version(&frozen)? < migrate::VERSION)
    }

    /// Waits until every transaction is over that is under way in the database at this real path. Those that begin later see
    /// what was written beside the database before.
    ///
    /// # Errors
    /// [`BackendError`].
    pub fn wait_for_writers(path: &Path) -> Result<(), BackendError> {
        let failed = |error| Fault::io("can't take the writer lock of", path, &error);
        let mut lock = WriterLock::open(beside(path, ".lock")).map_err(failed)?;
        drop(lock.lock().map_err(failed)?);
        Ok(())
    }

    /// Reads everything about one run, as of one moment.
    ///
    /// # Errors
    /// [`TransferError`].
    pub async fn copy_of(&self, run: RunId) -> Result<RunCopy, TransferError> {
        self.read(move |connection| give::copy(connection, run)).await
    }

    /// What would become of a run if it were taken in.
    ///
    /// # Errors
    /// [`TransferError`].
    pub async fn compare(&self, copy: RunCopy) -> Result<Taken, TransferError> {
        let owners = self.inner.owners.clone();
        self.read(move |connection| take::compare(connection, &owners, &copy)).await
    }

    /// Takes a run in that was read from another store: all of it or nothing, by one transaction. Before that ends, what
    /// was written is read back and compared.
    ///
    /// # Errors
    /// [`TransferError`]; then nothing has changed.
    pub async fn take_in(&self, copy: RunCopy) -> Result<Taken, TransferError> {
        self.write(move |tx| take::take(tx, &copy)).await
    }
}

/// The texts of a run's log in order, with where each begins.
pub(in crate::sqlite) fn log_of(
    connection: &rusqlite::Connection,
    key: i64,
) -> Done<Vec<(i64, String)>> {
    let mut read = connection
        .prepare_cached("SELECT first, chunk FROM run_log WHERE run = ?1 ORDER BY first")?;
    let rows = read.query_map([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
