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
    /// How long the runs that have ended took, by workflow.
    pub run_durations: BTreeMap<String, DurationFigures>,
    /// How long the steps that have ended took.
    pub step_durations: DurationFigures,
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

/// The bounds that durations are counted by, in milliseconds: from a tenth of a second to a day.
pub const DURATION_BOUNDS_MS: [i64; 11] =
    [100, 500, 1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 14_400_000, 86_400_000];

/// How long things took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DurationFigures {
    /// How many took at most as long as [`DURATION_BOUNDS_MS`] says.
    pub up_to: [u64; DURATION_BOUNDS_MS.len()],
    /// How many there are.
    pub count: u64,
    /// How long they took together, in milliseconds.
    pub sum_ms: u64,
}

impl DurationFigures {
    /// Both together.
    pub fn add(&mut self, more: &Self) {
        for (one, other) in self.up_to.iter_mut().zip(more.up_to) {
            *one += other;
        }
        self.count += more.count;
        self.sum_ms += more.sum_ms;
    }

    /// The columns that [`Self::at`] reads.
    fn columns() -> String {
        let up_to = DURATION_BOUNDS_MS.map(|bound| format!(", count(duration <= {bound} OR NULL)"));
        format!("count(duration), coalesce(sum(duration), 0){}", up_to.concat())
    }

    fn at(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let mut up_to = [0; DURATION_BOUNDS_MS.len()];
        for (number, count) in up_to.iter_mut().enumerate() {
            *count = count_at(row, first + 2 + number)?;
        }
        Ok(Self { up_to, count: count_at(row, first)?, sum_ms: count_at(row, first + 1)? })
    }
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
    let (run_durations, (steps, step_durations)) =
        (run_durations(connection)?, steps_and_durations(connection)?);
    let (tokens, cost_usd) = connection.query_row(
        "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), \
         coalesce(sum(cached_tokens), 0), coalesce(sum(cost_usd), 0.0) FROM agent_sessions WHERE inherited = 0",
        (),
        |row| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?)),
    )?;
    let one = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, i64>(0));
    Ok(Figures {
        runs,
        queue,
        run_durations,
        steps,
        step_durations,
        commits: one("SELECT count(*) FROM run_log")?.try_into().unwrap_or(0),
        tokens,
        cost_usd,
        workspaces: counts(connection, "SELECT status, count(*) FROM workspaces GROUP BY status")?,
        artifact_bytes: one("SELECT coalesce(sum(size_bytes), 0) FROM workflow_artifacts")?,
    })
}

fn run_durations(connection: &Connection) -> Done<BTreeMap<String, DurationFigures>> {
    let columns = DurationFigures::columns();
    let sql = format!(
        "SELECT workflow, {columns} FROM workflow_runs WHERE duration IS NOT NULL GROUP BY workflow"
    );
    let mut ask = connection.prepare_cached(&sql)?;
    let rows = ask.query_map((), |row| Ok((row.get(0)?, DurationFigures::at(row, 1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Steps by status, and how long they took: there are many, so they are looked at once.
fn steps_and_durations(connection: &Connection) -> Done<(BTreeMap<String, u64>, DurationFigures)> {
    let columns = DurationFigures::columns();
    let sql = format!("SELECT status, count(*), {columns} FROM workflow_steps GROUP BY status");
    let mut ask = connection.prepare_cached(&sql)?;
    let mut rows = ask.query(())?;
    let (mut steps, mut durations) = (BTreeMap::new(), DurationFigures::default());
    while let Some(row) = rows.next()? {
        steps.insert(row.get(0)?, count_at(row, 1)?);
        durations.add(&DurationFigures::at(row, 2)?);
    }
    Ok((steps, durations))
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
