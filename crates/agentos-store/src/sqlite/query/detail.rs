//! A run with everything about it.

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use rusqlite::{Connection, Row};
use uuid::Uuid;

use super::{
    BEHIND_RUN, RUN_COLUMNS, RUNS, STEP_COLUMNS, as_json, optional_uuid_at, run_record,
    step_record, time_at, uuid_at, value_at,
};
use crate::bounds::PAGE;
use crate::log::ReadError;
use crate::projection::{SessionStatus, Touched};
use crate::records::{
    ArtifactRecord, CommentRecord, Remark, RunCosts, RunDetail, RunRecord, SessionRecord,
};
use crate::sqlite::error::{Done, Fault};
use crate::sqlite::owner::Owners;
use crate::sqlite::row::to_i64;

pub(in crate::sqlite) fn detail(
    connection: &Connection,
    owners: &Owners,
    run: RunId,
) -> Done<Result<RunDetail, ReadError>> {
    let Some((key, record)) = run_row(connection, owners, run, true)? else {
        return Ok(Err(ReadError::NotFound { run }));
    };
    let steps = format!(
        "SELECT {STEP_COLUMNS} FROM workflow_steps s WHERE s.execution_id = ?1 ORDER BY s.step_number"
    );
    let agent_sessions = all(connection, SESSIONS, key, |row| session(connection, row))?;
    Ok(Ok(RunDetail {
        run: record,
        costs: RunCosts::of(&agent_sessions),
        steps: all(connection, &steps, key, |row| step_record(connection, run, row, 0))?,
        comments: all(connection, COMMENTS, key, |row| comment(connection, row))?,
        artifacts: all(connection, ARTIFACTS, key, |row| artifact(connection, row))?,
        agent_sessions,
    }))
}

/// The run's own row, and its key.
fn run_row(
    connection: &Connection,
    owners: &Owners,
    run: RunId,
    with_values: bool,
) -> Done<Option<(i64, RunRecord)>> {
    let sql =
        format!("SELECT {RUN_COLUMNS}, r.input, r.output, r.state FROM {RUNS} WHERE r.id = ?1");
    let mut find = connection.prepare_cached(&sql)?;
    let mut rows = find.query([run.to_string()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut record = run_record(connection, owners, row)?;
    if with_values {
        record.input = value_at(connection, row, BEHIND_RUN)?;
        record.output = value_at(connection, row, BEHIND_RUN + 1)?;
        record.state = value_at(connection, row, BEHIND_RUN + 2)?;
    }
    Ok(Some((row.get(0)?, record)))
}

/// Some rows of a run, all of one moment. Those that do not exist are left out.
pub(in crate::sqlite) fn some(
    connection: &Connection,
    owners: &Owners,
    run: RunId,
    wanted: &Touched,
) -> Done<Result<RunDetail, ReadError>> {
    let Some((key, record)) = run_row(connection, owners, run, wanted.with_values)? else {
        return Ok(Err(ReadError::NotFound { run }));
    };
    let steps = format!("SELECT {STEP_COLUMNS} FROM workflow_steps s WHERE s.execution_id = ?1");
    Ok(Ok(RunDetail {
        run: record,
        // Some rows do not tell what all cost.
        costs: RunCosts::default(),
        steps: these(connection, (&steps, "s"), (key, &wanted.steps), |row| {
            step_record(connection, run, row, 0)
        })?,
        comments: these(connection, (COMMENTS, "c"), (key, &wanted.comments), |row| {
            comment(connection, row)
        })?,
        artifacts: these(connection, (ARTIFACTS, "a"), (key, &wanted.artifacts), |row| {
            artifact(connection, row)
        })?,
        agent_sessions: these(connection, (SESSIONS, "g"), (key, &wanted.sessions), |row| {
            session(connection, row)
        })?,
    }))
}

/// Those of a run's rows that have one of these ids.
fn these<T>(
    connection: &Connection,
    (sql, table): (&str, &str),
    (key, ids): (i64, &[Uuid]),
    mut read: impl FnMut(&Row<'_>) -> Done<T>,
) -> Done<Vec<T>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = sql.split(" ORDER BY ").next().unwrap_or(sql);
    let sql = format!("{sql} AND {table}.id IN (SELECT value FROM json_each(?2))");
    let mut find = connection.prepare_cached(&sql)?;
    let mut rows = find.query((key, as_json(ids)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

const COMMENTS: &str = "SELECT c.id, (SELECT s.id FROM workflow_steps s WHERE s.key = c.step_id), c.message, \
    c.metadata, c.author, c.created_at FROM workflow_comments c WHERE c.execution_id = ?1 \
    ORDER BY c.created_at, c.key";

const ARTIFACTS: &str = "SELECT a.id, (SELECT s.id FROM workflow_steps s WHERE s.key = a.step_id), \
    (SELECT g.id FROM agent_sessions g WHERE g.key = a.agent_session_id), a.name, a.type, a.storage_path, \
    a.storage_type, a.mime_type, a.size_bytes, a.metadata, a.created_at FROM workflow_artifacts a \
    WHERE a.execution_id = ?1 ORDER BY a.key";

/// The file of this id, and the run that keeps it.
pub(in crate::sqlite) fn artifact_of(
    connection: &Connection,
    id: Uuid,
) -> Done<Option<(RunId, ArtifactRecord)>> {
    let place = connection.prepare_cached(
        "SELECT r.key, r.id FROM workflow_artifacts a JOIN workflow_runs r ON r.key = a.execution_id WHERE a.id = ?1",
    );
    let mut place = place?;
    let mut places = place.query([id.to_string()])?;
    let Some(place) = places.next()? else { return Ok(None) };
    let (key, run): (i64, _) = (place.get(0)?, RunId(uuid_at(place, 1)?));
    let found = these(connection, (ARTIFACTS, "a"), (key, &[id]), |row| artifact(connection, row))?;
    Ok(found.into_iter().next().map(|found| (run, found)))
}

const SESSIONS: &str = "SELECT g.id, (SELECT s.id FROM workflow_steps s WHERE s.key = g.workflow_step_id), g.name, \
    g.agent, g.model, g.session_id, g.status, g.session_file_path, g.input_tokens, g.output_tokens, \
    g.cached_tokens, g.cost_usd, g.exit_code, g.error, g.started_at, g.completed_at, g.duration, g.created_at, \
    g.updated_at, g.inherited, g.superseded FROM agent_sessions g WHERE g.execution_id = ?1 ORDER BY g.key";

fn all<T>(
    connection: &Connection,
    sql: &str,
    key: i64,
    mut read: impl FnMut(&Row<'_>) -> Done<T>,
) -> Done<Vec<T>> {
    let mut find = connection.prepare_cached(sql)?;
    let mut rows = find.query([key])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// What people have remarked behind a place, to whatever run, and the place behind that.
pub(in crate::sqlite) fn remarks(connection: &Connection, after: i64) -> Done<(Vec<Remark>, i64)> {
    const FIND: &str = "SELECT c.id, (SELECT s.id FROM workflow_steps s WHERE s.key = c.step_id), c.message, \
        c.metadata, c.author, c.created_at, r.id, c.key FROM workflow_comments c \
        JOIN workflow_runs r ON r.key = c.execution_id WHERE c.key > ?1 AND c.author IS NOT NULL \
        ORDER BY c.key LIMIT ?2";
    let mut find = connection.prepare_cached(FIND)?;
    let mut rows = find.query((after, to_i64(PAGE as u64)))?;
    let (mut found, mut last) = (Vec::new(), after);
    while let Some(row) = rows.next()? {
        found.push(Remark { run: RunId(uuid_at(row, 6)?), comment: comment(connection, row)? });
        last = row.get(7)?;
    }
    if found.len() < PAGE {
        // Remarks of workflows are in between, and need not be passed again.
        last = last.max(last_remark(connection)?);
    }
    Ok((found, last))
}

/// The place behind all remarks.
pub(in crate::sqlite) fn last_remark(connection: &Connection) -> Done<i64> {
    let mut ask =
        connection.prepare_cached("SELECT coalesce(max(key), 0) FROM workflow_comments")?;
    Ok(ask.query_row((), |row| row.get(0))?)
}

fn comment(connection: &Connection, row: &Row<'_>) -> Done<CommentRecord> {
    Ok(CommentRecord {
        id: uuid_at(row, 0)?,
        step_id: optional_uuid_at(row, 1)?,
        message: row.get(2)?,
        metadata: value_at(connection, row, 3)?,
        author: row.get(4)?,
        created_at: Timestamp(row.get(5)?),
    })
}

fn artifact(connection: &Connection, row: &Row<'_>) -> Done<ArtifactRecord> {
    Ok(ArtifactRecord {
        id: uuid_at(row, 0)?,
        step_id: optional_uuid_at(row, 1)?,
        agent_session_id: optional_uuid_at(row, 2)?,
        name: row.get(3)?,
        r#type: row.get(4)?,
        storage_path: row.get(5)?,
        storage_type: row.get(6)?,
        mime_type: row.get(7)?,
        size_bytes: row.get(8)?,
        metadata: value_at(connection, row, 9)?,
        created_at: Timestamp(row.get(10)?),
    })
}

fn session(connection: &Connection, row: &Row<'_>) -> Done<SessionRecord> {
    let status: String = row.get(6)?;
    Ok(SessionRecord {
        id: uuid_at(row, 0)?,
        workflow_step_id: optional_uuid_at(row, 1)?,
        name: row.get(2)?,
        agent: row.get(3)?,
        model: row.get(4)?,
        session_id: row.get(5)?,
        status: SessionStatus::parse(&status)
            .ok_or_else(|| Fault::permanent(format!("`{status}` stands where a status should")))?,
        session_file_path: row.get(7)?,
        input_tokens: row.get(8)?,
        output_tokens: row.get(9)?,
        cached_tokens: row.get(10)?,
        cost_usd: row.get(11)?,
        exit_code: row.get(12)?,
        error: value_at(connection, row, 13)?,
        started_at: time_at(row, 14)?,
        completed_at: time_at(row, 15)?,
        duration: row.get(16)?,
        created_at: Timestamp(row.get(17)?),
        updated_at: Timestamp(row.get(18)?),
        inherited: row.get(19)?,
        superseded: row.get(20)?,
    })
}
