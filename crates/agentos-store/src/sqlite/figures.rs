//! Sums and single rows that only those who look from outside want: how much there is of everything, how the runs of a
//! workflow went, which run keeps a file.

use std::collections::BTreeMap;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};
use uuid::Uuid;

use super::SqliteStore;
use super::error::Done;
use super::query;
use crate::backend::BackendError;
use crate::records::ArtifactRecord;

/// How much there is of everything in a database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Runs, by status.
    pub runs: BTreeMap<String, u64>,
    /// Runs that have not ended and are waiting or at work.
    pub queue: u64,
    /// How long the runs that have ended took, in milliseconds, and how many those are.
    pub run_duration: (i64, u64),
    /// Steps, by status.
    pub steps: BTreeMap<String, u64>,
    /// Commits of turns.
    pub commits: u64,
    /// Tokens that agents have read, written, and read from a cache.
    pub tokens: (i64, i64, i64),
    /// What that cost, as far as it is known.
    pub cost_usd: f64,
    /// Workspaces, by status.
    pub workspaces: BTreeMap<String, u64>,
    /// Bytes of artifacts.
    pub artifact_bytes: i64,
}

/// How the runs of a workflow went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DefinitionFigures {
    /// Runs, by status.
    pub runs: BTreeMap<String, u64>,
    /// How long those that were completed took on average, in milliseconds.
    pub average_duration: Option<f64>,
    /// When the latest was started.
    pub last_started_at: Option<Timestamp>,
}

impl SqliteStore {
    /// How much there is of everything. Reads whole indexes, so it is nothing to be asked at every moment.
    ///
    /// # Errors
    /// [`BackendError`]
    pub async fn figures(&self) -> Result<Figures, BackendError> {
        self.read(|connection| figures(connection).map(Ok)).await
    }

    /// Whether a run is at something, and does not only wait.
    ///
    /// # Errors
    /// [`BackendError`]
    pub async fn is_at_work(&self) -> Result<bool, BackendError> {
        const SOME: &str = "SELECT EXISTS (SELECT 1 FROM workflow_runs \
            WHERE status IN ('PENDING', 'RUNNING') AND waiting IS NULL)";
        self.read(|connection| Ok(Ok(connection.query_row(SOME, (), |row| row.get(0))?))).await
    }

    /// How the runs of a workflow went.
    ///
    /// # Errors
    /// [`BackendError`]
    pub async fn definition_figures(
        &self,
        definition: Uuid,
    ) -> Result<DefinitionFigures, BackendError> {
        self.read(move |connection| of_definition(connection, definition).map(Ok)).await
    }

    /// The file of this id, and the run that keeps it.
    ///
    /// # Errors
    /// [`BackendError`]
    pub async fn artifact(
        &self,
        id: Uuid,
    ) -> Result<Option<(RunId, ArtifactRecord)>, BackendError> {
        self.read(move |connection| query::artifact_of(connection, id).map(Ok)).await
    }
}

/// A number of rows.
fn count_at(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn counts(connection: &Connection, sql: &str) -> Done<BTreeMap<String, u64>> {
    let mut ask = connection.prepare_cached(sql)?;
    let rows = ask.query_map((), |row| Ok((row.get(0)?, count_at(row, 1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn figures(connection: &Connection) -> Done<Figures> {
    let runs = counts(connection, "SELECT status, count(*) FROM workflow_runs GROUP BY status")?;
    let queue = ["PENDING", "RUNNING"].iter().filter_map(|status| runs.get(*status)).sum();
    let run_duration = connection.query_row(
        "SELECT coalesce(sum(duration), 0), count(duration) FROM workflow_runs",
        (),
        |row| Ok((row.get(0)?, count_at(row, 1)?)),
    )?;
    let (tokens, cost_usd) = connection.query_row(
        "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), \
         coalesce(sum(cached_tokens), 0), coalesce(sum(cost_usd), 0.0) FROM agent_sessions",
        (),
        |row| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?)),
    )?;
    let one = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
    Ok(Figures {
        runs,
        queue,
        run_duration,
        steps: counts(connection, "SELECT status, count(*) FROM workflow_steps GROUP BY status")?,
        commits: one("SELECT count(*) FROM run_log")?.try_into().unwrap_or(0),
        tokens,
        cost_usd,
        workspaces: counts(connection, "SELECT status, count(*) FROM workspaces GROUP BY status")?,
        artifact_bytes: one("SELECT coalesce(sum(size_bytes), 0) FROM workflow_artifacts")?,
    })
}

fn of_definition(connection: &Connection, definition: Uuid) -> Done<DefinitionFigures> {
    let id = definition.to_string();
    let mut ask = connection.prepare_cached(
        "SELECT r.status, count(*) FROM workflow_runs r JOIN workflow_definitions d ON d.key = r.workflow_def_id \
         WHERE d.id = ?1 GROUP BY r.status",
    )?;
    let rows = ask.query_map([&id], |row| Ok((row.get(0)?, count_at(row, 1)?)))?;
    let runs = rows.collect::<rusqlite::Result<_>>()?;
    let told = connection
        .query_row(
            "SELECT avg(CASE WHEN r.status = 'COMPLETED' THEN r.duration END), max(r.started_at) \
             FROM workflow_runs r JOIN workflow_definitions d ON d.key = r.workflow_def_id WHERE d.id = ?1",
            [&id],
            |row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?)),
        )
        .optional()?;
    let (average_duration, last) = told.unwrap_or_default();
    Ok(DefinitionFigures { runs, average_duration, last_started_at: last.map(Timestamp) })
}
