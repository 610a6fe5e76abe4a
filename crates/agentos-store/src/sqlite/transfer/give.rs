//! Reading a run with everything that belongs to it.

use std::collections::BTreeMap;

use agentos_core::codec::{self, Chunk};
use agentos_core::id::{OwnerId, RunId};
use agentos_core::journal::Journal;
use agentos_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};
use uuid::Uuid;

use super::{COLUMNS, log_of};
use crate::backend::BackendError;
use crate::records::{DefinitionVersion, Project};
use crate::sqlite::catalog;
use crate::sqlite::error::{Done, Fault};
use crate::sqlite::owner::Owners;
use crate::sqlite::query::{uuid_at, value_at};
use crate::sqlite::row::{RunRow, uuid};
use crate::transfer::{
    Candidate, CopiedDefinition, CopiedMessage, CopiedRemark, RunCopy, TransferError, UnreadableRun,
};

const CANDIDATES: &str = "SELECT id, run_id, workflow, standing, owner, worktree_id, work_dir, workspace_id, \
     parent_run_id, completed_at, status, key FROM workflow_runs ORDER BY key";

pub(in crate::sqlite) fn candidates(
    connection: &Connection,
    owners: &Owners,
) -> Done<Vec<Candidate>> {
    let mut read = connection.prepare(CANDIDATES)?;
    let mut rows = read.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(candidate(row, owners)?);
    }
    Ok(found)
}

/// Those whose rows can be read, and what is wrong with the others.
pub(in crate::sqlite) fn readable_candidates(
    connection: &Connection,
    owners: &Owners,
) -> Done<(Vec<Candidate>, Vec<UnreadableRun>)> {
    let mut read = connection.prepare(CANDIDATES)?;
    let mut rows = read.query(())?;
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    loop {
        match rows.next() {
            Ok(None) => break,
            Ok(Some(row)) => match candidate(row, owners) {
                Ok(candidate) => found.push(candidate),
                Err(fault) => unreadable.push(UnreadableRun {
                    run_id: name_of(row),
                    reason: BackendError::from(fault).to_string(),
                }),
            },
            // What comes behind a page that is damaged can't be found.
            Err(error) if !found.is_empty() => {
                let run_id = format!("what comes after {} runs", found.len() + unreadable.len());
                let reason = BackendError::from(Fault::from(error)).to_string();
                unreadable.push(UnreadableRun { run_id, reason });
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((found, unreadable))
}

/// What a run is called of whose row not everything can be read.
fn name_of(row: &Row<'_>) -> String {
    let text = |at: usize| row.get::<_, String>(at).ok();
    let number = || row.get::<_, i64>(11).map_or_else(|_| "?".to_owned(), |key| key.to_string());
    text(1).or_else(|| text(0)).unwrap_or_else(|| format!("run number {}", number()))
}

fn candidate(row: &Row<'_>, owners: &Owners) -> Done<Candidate> {
    let owner: Option<String> = row.get(4)?;
    let has_owner = owner.is_some();
    let is_driven = match owner {
        Some(owner) => owners.is_alive(OwnerId(uuid(&owner)?))?,
        None => false,
    };
    Ok(Candidate {
        run: RunId(uuid_at(row, 0)?),
        run_id: row.get(1)?,
        workflow: row.get(2)?,
        is_ended: row.get::<_, i64>(3)? >= 2,
        has_owner,
        is_driven,
        worktree_id: row.get(5)?,
        work_dir: row.get(6)?,
        workspace_id: row.get(7)?,
        parent: row.get(8)?,
        completed_at: row.get::<_, Option<i64>>(9)?.map(Timestamp),
        status: row.get(10)?,
    })
}

pub(in crate::sqlite) fn copy(
    connection: &Connection,
    run: RunId,
) -> Done<Result<RunCopy, TransferError>> {
    let Some(found) = RunRow::find(connection, run)? else {
        return Ok(Err(TransferError::NotFound { run }));
    };
    let key = found.key;
    let log = log_of(connection, key)?;
    if let Err(reason) = holds_together(&log, found.head.head.0) {
        return Ok(Err(TransferError::Damaged { run, reason }));
    }
    let workspace = match columns(connection, key)?.get("workspace_id") {
        Some(rusqlite::types::Value::Text(id)) => {
            catalog::workspaces(connection)?.into_iter().find(|workspace| workspace.id == *id)
        }
        _ => None,
    };
    Ok(Ok(RunCopy {
        run,
        standing: found.head.standing,
        columns: columns(connection, key)?,
        input: input(connection, key)?,
        log,
        inbox: inbox(connection, key)?,
        remarks: remarks(connection, key)?,
        project: project(connection, key)?,
        definition: definition(connection, key)?,
        workspace,
    }))
}

/// Whether the log can be read and folds, and is as long as the run's row says.
fn holds_together(log: &[(i64, String)], head: u64) -> Result<(), String> {
    let decoded: Result<Vec<Chunk>, _> = log.iter().map(|(_, text)| codec::decode(text)).collect();
    let decoded = decoded.map_err(|error| error.to_string())?;
    let fits = log
        .iter()
        .zip(&decoded)
        .all(|((first, _), chunk)| u64::try_from(*first).is_ok_and(|first| first == chunk.first.0));
    if !fits {
        return Err("a part of it stands at another place than it says".to_owned());
    }
    let journal = Journal::fold(decoded.into_iter().flat_map(Chunk::into_records))
        .map_err(|error| error.to_string())?;
    if journal.len() != head {
        return Err(format!("it has {} entries, and should have {head}", journal.len()));
    }
    Ok(())
}

fn columns(
    connection: &Connection,
    key: i64,
) -> Done<BTreeMap<&'static str, rusqlite::types::Value>> {
    let sql = format!("SELECT {} FROM workflow_runs WHERE key = ?1", COLUMNS.join(", "));
    let mut read = connection.prepare_cached(&sql)?;
    let found = read.query_row([key], |row| {
        COLUMNS.iter().enumerate().map(|(at, name)| Ok((*name, row.get(at)?))).collect()
    })?;
    Ok(found)
}

fn input(connection: &Connection, key: i64) -> Done<Option<serde_json::Value>> {
    let mut read = connection.prepare_cached("SELECT input FROM workflow_runs WHERE key = ?1")?;
    let mut rows = read.query([key])?;
    match rows.next()? {
        Some(row) => value_at(connection, row, 0),
        None => Ok(None),
    }
}

fn inbox(connection: &Connection, key: i64) -> Done<Vec<CopiedMessage>> {
    let mut read = connection
        .prepare_cached("SELECT key, at, message FROM run_inbox WHERE run = ?1 ORDER BY number")?;
    let rows = read.query_map([key], |row| {
        Ok(CopiedMessage { key: row.get(0)?, at: row.get(1)?, message: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn remarks(connection: &Connection, key: i64) -> Done<Vec<CopiedRemark>> {
    let mut read = connection.prepare_cached(
        "SELECT id, step_path, message, metadata, author, created_at FROM workflow_comments \
         WHERE execution_id = ?1 AND author IS NOT NULL ORDER BY key",
    )?;
    let mut rows = read.query([key])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(CopiedRemark {
            id: row.get(0)?,
            step_path: row.get(1)?,
            message: row.get(2)?,
            metadata: value_at(connection, row, 3)?,
            author: row.get(4)?,
            at: row.get(5)?,
        });
    }
    Ok(found)
}

fn project(connection: &Connection, key: i64) -> Done<Option<Project>> {
    let mut read = connection.prepare_cached(
        "SELECT p.id, p.name, p.path, p.created_at, p.updated_at FROM projects p \
         JOIN workflow_runs r ON r.project_id = p.key WHERE r.key = ?1",
    )?;
    let mut rows = read.query([key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Project {
        id: uuid_at(row, 0)?,
        name: row.get(1)?,
        path: row.get(2)?,
        created_at: Timestamp(row.get(3)?),
        updated_at: Timestamp(row.get(4)?),
    }))
}

fn definition(connection: &Connection, key: i64) -> Done<Option<CopiedDefinition>> {
    let mut read = connection.prepare_cached(
        "SELECT d.id, d.name, d.description, d.file_path, d.config, d.is_active, d.created_at \
         FROM workflow_definitions d JOIN workflow_runs r ON r.workflow_def_id = d.key WHERE r.key = ?1",
    )?;
    let mut rows = read.query([key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let id: String = row.get(0)?;
    let versions = versions(connection, uuid(&id)?)?;
    Ok(Some(CopiedDefinition {
        id,
        name: row.get(1)?,
        description: row.get(2)?,
        file_path: row.get(3)?,
        config: value_at(connection, row, 4)?,
        is_active: row.get(5)?,
        at: row.get(6)?,
        versions,
    }))
}

fn versions(connection: &Connection, definition: Uuid) -> Done<Vec<DefinitionVersion>> {
    let mut found = catalog::versions(connection, definition)?;
    found.reverse();
    Ok(found)
}

/// The key of a run's row; none if there is no such run.
pub(super) fn key_by(connection: &Connection, sql: &str, text: &str) -> Done<Option<i64>> {
    let mut find = connection.prepare_cached(sql)?;
    Ok(find.query_row([text], |row| row.get(0)).optional()?)
}
