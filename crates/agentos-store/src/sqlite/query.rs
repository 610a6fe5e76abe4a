//! Rows for people, read back in SQL.

mod detail;
mod listing;
mod totals;

use std::path::Path;

use agentos_core::id::{OwnerId, RunId};
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde_json::Value;
use uuid::Uuid;

pub(super) use detail::{artifact_of, detail, last_remark, remarks, some};
pub(super) use listing::{as_json, cursor_of, list, positions};
pub(super) use totals::totals;

use super::blob;
use super::error::{Done, Fault};
use super::owner::Owners;
use super::row::{from_i64, uuid};
use crate::folder::RunFolder;
use crate::projection::{WorkflowStatus, operation_title};
use crate::records::{RecordError, RunCounts, RunRecord, StepRecord};
use crate::unified::{Census, NamedRun};

/// Where [`run_record`] reads: a run, and beside it the step that it is at.
const RUNS: &str =
    "workflow_runs r LEFT JOIN workflow_steps s ON s.key = r.current_workflow_step_id";

/// What [`run_record`] reads, from [`RUNS`], without the wide values. Those of the step are for whoever looks at the run
/// itself.
const RUN_COLUMNS: &str = "r.key, r.id, r.run_id, \
    (SELECT d.id FROM workflow_definitions d WHERE d.key = r.workflow_def_id), \
    (SELECT p.id FROM projects p WHERE p.key = r.project_id), \
    r.workflow, r.definition_hash, r.definition_version, r.status, r.waiting, s.key, \
    r.started_at, r.completed_at, r.duration, r.branch_name, r.commit_sha, r.pr_url, r.log_file_path, \
    r.worktree_id, r.work_dir, r.workspace_dir, r.workspace_id, r.context_dir, r.parent_run_id, r.forked_from, \
    r.created_at, r.updated_at, r.head, r.owner, r.error, \
    s.id, s.step_number, s.name, s.phase, s.status, s.started_at, s.completed_at, s.duration, NULL, NULL, s.error, \
    s.attempt_number, s.max_attempts, s.log_file_path, s.created_at, s.updated_at, s.path, s.superseded";

/// Which of [`RUN_COLUMNS`] is the first of the step's, and what follows on all of them.
const STEP_AT: usize = 30;
const BEHIND_RUN: usize = 48;

/// What [`step_record`] reads, from `workflow_steps s`.
const STEP_COLUMNS: &str = "s.id, s.step_number, s.name, s.phase, s.status, s.started_at, s.completed_at, \
    s.duration, s.input, s.output, s.error, s.attempt_number, s.max_attempts, s.log_file_path, s.created_at, \
    s.updated_at, s.path, s.superseded";

/// Reads a run without its input, output and state.
fn run_record(connection: &Connection, owners: &Owners, row: &Row<'_>) -> Done<RunRecord> {
    let id = RunId(uuid_at(row, 1)?);
    let status = row.get_ref(8)?.as_str().map_err(rusqlite::Error::from)?;
    let status = WorkflowStatus::parse(status)
        .ok_or_else(|| Fault::permanent(format!("`{status}` stands where a status should")))?;
    let waiting: Option<String> = row.get(9)?;
    let has_step = row.get_ref(10)? != ValueRef::Null;
    let owner: Option<String> = row.get(28)?;
    let interrupted = match owner {
        Some(owner) => !owners.is_alive(OwnerId(uuid(&owner)?))?,
        // Whoever left gave it back; one that only waits needs nobody until then.
        None => status == WorkflowStatus::Running && waiting.is_none(),
    };
    let current_step = match has_step {
        true => Some(step_record(connection, id, row, STEP_AT)?),
        false => None,
    };
    Ok(RunRecord {
        id,
        execution_id: id,
        run_id: row.get(2)?,
        workflow_def_id: optional_uuid_at(row, 3)?,
        project_id: optional_uuid_at(row, 4)?,
        workflow: row.get(5)?,
        definition_hash: row.get(6)?,
        definition_version: row.get(7)?,
        status,
        interrupted,
        elsewhere: None,
        waiting: waiting.and_then(|text| serde_json::from_str(&text).ok()),
        current_workflow_step_id: current_step.as_ref().map(|step| step.id),
        current_step,
        started_at: time_at(row, 11)?,
        completed_at: time_at(row, 12)?,
        duration: row.get(13)?,
        branch_name: row.get(14)?,
        commit_sha: row.get(15)?,
        pr_url: row.get(16)?,
        input: None,
        output: None,
        error: value_at(connection, row, 29)?,
        state: None,
        log_file_path: row.get(17)?,
        worktree_id: row.get(18)?,
        work_dir: row.get(19)?,
        workspace_dir: row.get(20)?,
        workspace_id: row.get(21)?,
        context_dir: row.get(22)?,
        parent_run_id: row.get(23)?,
        forked_from: row.get(24)?,
        created_at: Timestamp(row.get(25)?),
        updated_at: Timestamp(row.get(26)?),
        seq: from_i64(row.get(27)?),
    })
}

/// Reads a step whose columns begin at this one.
fn step_record(connection: &Connection, run: RunId, row: &Row<'_>, at: usize) -> Done<StepRecord> {
    let status = row.get_ref(at + 4)?.as_str().map_err(rusqlite::Error::from)?;
    let (step_number, mut name): (u32, String) = (row.get(at + 1)?, row.get(at + 2)?);
    let (log_file, path): (Option<String>, String) = (row.get(at + 13)?, row.get(at + 16)?);
    let input = value_at(connection, row, at + 8)?;
    let operation: Option<OperationId> = path.parse().ok();
    if let (Some(operation), Some(input)) = (&operation, &input) {
        // Earlier versions wrote down the name in the path, which may be a hash.
        name = operation_title(operation, input);
    }
    Ok(StepRecord {
        id: uuid_at(row, at)?,
        execution_id: run,
        // It follows from the rest, so it is written down only where it differs.
        log_file_path: log_file.or_else(|| {
            let file = RunFolder::new(Path::new(""), run).step_log_file(step_number, &name);
            Some(file.to_string_lossy().into_owned())
        }),
        step_number,
        name,
        path,
        superseded: row.get(at + 17)?,
        phase: row.get(at + 3)?,
        status: crate::projection::StepStatus::parse(status)
            .ok_or_else(|| Fault::permanent(format!("`{status}` stands where a status should")))?,
        started_at: time_at(row, at + 5)?,
        completed_at: time_at(row, at + 6)?,
        duration: row.get(at + 7)?,
        input,
        output: value_at(connection, row, at + 9)?,
        error: value_at(connection, row, at + 10)?,
        attempt_number: row.get(at + 11)?,
        max_attempts: row.get(at + 12)?,
        created_at: Timestamp(row.get(at + 14)?),
        updated_at: Timestamp(row.get(at + 15)?),
    })
}

pub(super) fn uuid_at(row: &Row<'_>, column: usize) -> Done<Uuid> {
    uuid(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

pub(super) fn optional_uuid_at(row: &Row<'_>, column: usize) -> Done<Option<Uuid>> {
    let text = row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    text.map(uuid).transpose()
}

fn time_at(row: &Row<'_>, column: usize) -> Done<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp))
}

pub(super) fn value_at(
    connection: &Connection,
    row: &Row<'_>,
    column: usize,
) -> Done<Option<Value>> {
    blob::load(connection, row.get_ref(column)?)
}

pub(super) fn counts(connection: &Connection) -> Done<RunCounts> {
    let mut count =
        connection.prepare_cached("SELECT status, count(*) FROM workflow_runs GROUP BY status")?;
    let mut rows = count.query(())?;
    let mut counts = RunCounts::new();
    while let Some(row) = rows.next()? {
        let status: String = row.get(0)?;
        if let Some(status) = WorkflowStatus::parse(&status) {
            counts.insert(status, from_i64(row.get(1)?));
        }
    }
    Ok(counts)
}

/// Every id, in order.
pub(super) fn ids(connection: &Connection) -> Done<Vec<RunId>> {
    let mut all = connection.prepare_cached("SELECT id FROM workflow_runs ORDER BY id")?;
    let mut rows = all.query(())?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.push(RunId(uuid_at(row, 0)?));
    }
    Ok(ids)
}

/// What is another one as soon as a run has come or gone; of little cost, however many there are.
pub(super) fn census(connection: &Connection) -> Done<Census> {
    let mut ask = connection.prepare_cached(
        "SELECT (SELECT count(*) FROM workflow_runs), key, id FROM workflow_runs ORDER BY key DESC LIMIT 1",
    )?;
    let census = ask.query_row((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    Ok(Census(census))
}

/// How long the logs of these runs are.
pub(super) fn heads(connection: &Connection, runs: &[RunId]) -> Done<Vec<(RunId, u64)>> {
    let mut find = connection.prepare_cached(
        "SELECT id, head FROM workflow_runs WHERE id IN (SELECT value FROM json_each(?1))",
    )?;
    let mut rows = find.query([as_json(runs)])?;
    let mut heads = Vec::new();
    while let Some(row) = rows.next()? {
        heads.push((RunId(uuid_at(row, 0)?), from_i64(row.get(1)?)));
    }
    Ok(heads)
}

/// The run of exactly this name, or else some of those that begin so.
pub(super) fn beginning(connection: &Connection, name: &str) -> Done<Vec<NamedRun>> {
    const COLUMNS: &str = "SELECT id, run_id, worktree_id, work_dir, \
        (SELECT p.id FROM projects p WHERE p.key = workflow_runs.project_id), head FROM workflow_runs";
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let exact = named(connection, &format!("{COLUMNS} WHERE id = lower(?1) OR run_id = ?1"), name)?;
    if !exact.is_empty() {
        return Ok(exact.into_iter().map(|run| NamedRun { is_exact: true, ..run }).collect());
    }
    let begins = format!(
        "{COLUMNS} WHERE (id >= lower(?1) AND id < lower(?1) || char(1114111)) \
         OR (run_id >= ?1 AND run_id < ?1 || char(1114111)) LIMIT {}",
        CANDIDATES + 1
    );
    named(connection, &begins, name)
}

fn named(connection: &Connection, sql: &str, name: &str) -> Done<Vec<NamedRun>> {
    let mut find = connection.prepare_cached(sql)?;
    let mut rows = find.query([name])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(NamedRun {
            id: RunId(uuid_at(row, 0)?),
            run_id: row.get(1)?,
            worktree_id: row.get(2)?,
            work_dir: row.get(3)?,
            project_id: optional_uuid_at(row, 4)?,
            seq: from_i64(row.get(5)?),
            is_exact: false,
        });
    }
    Ok(found)
}

/// How many candidates an ambiguous name is answered with.
const CANDIDATES: usize = 5;

pub(super) fn find(connection: &Connection, name: &str) -> Done<Result<RunId, RecordError>> {
    let mut exact = connection
        .prepare_cached("SELECT id FROM workflow_runs WHERE id = lower(?1) OR run_id = ?1")?;
    if let Some(id) = exact.query_row([name], |row| row.get::<_, String>(0)).optional()? {
        return Ok(Ok(RunId(uuid(&id)?)));
    }
    // Everything that begins so lies between the text and the text with the last of all characters behind it.
    let mut begins = connection.prepare_cached(
        "SELECT id, run_id FROM workflow_runs WHERE (id >= lower(?1) AND id < lower(?1) || char(1114111)) \
         OR (run_id >= ?1 AND run_id < ?1 || char(1114111)) LIMIT 6",
    )?;
    let found = begins.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: Vec<(String, String)> = found.collect::<Result<_, _>>()?;
    Ok(match found.as_slice() {
        _ if name.is_empty() => {
            Err(RecordError::NotFound { what: "run without a name".to_owned() })
        }
        [] => Err(RecordError::NotFound { what: format!("run `{name}`") }),
        [(id, _)] => Ok(RunId(uuid(id)?)),
        many => {
            let candidates = many.iter().take(CANDIDATES).map(|(_, run_id)| run_id.clone());
            Err(RecordError::Ambiguous {
                prefix: name.to_owned(),
                candidates: candidates.collect(),
            })
        }
    })
}
