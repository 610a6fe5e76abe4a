//! Rows of a run that goes on under another source.
//!
//! Nothing of what the run has done leaves its record. At the switch every step and session is superseded; those that the
//! new source asks for as well are found again by their paths and keep their rows, with what is linked to them. The others
//! stay as they were, with their artifacts, comments and costs. What was under way and is not asked for is stopped, so it
//! ends as cancelled.
//!
//! The new source is executed over recorded answers, at their times. What it asks for there, and what it asks for later and
//! was done before, is the work that the row is of: it keeps its times ([`Times`]). Everything else was asked for at the
//! switch at the earliest ([`When::of_new`]).

use agentos_core::time::Timestamp;
use rusqlite::{OptionalExtension as _, Row, named_params};

use super::blob;
use super::error::Done;
use super::project::{Target, When, id_of};
use super::transaction::Tx;
use crate::ids::Of;
use crate::projection::{CommentRow, NewSession, NewStep, Origin, SessionPatch, StepPatch};

/// The run leaves its source at this time.
pub(super) fn supersede(tx: &Tx<'_>, target: Target, at: Timestamp) -> Done<()> {
    const RUN: [&str; 2] = [
        "DELETE FROM blobs WHERE key IN \
         (SELECT output FROM workflow_runs WHERE key = ?1 AND typeof(output) = 'integer' \
         UNION SELECT error FROM workflow_runs WHERE key = ?1 AND typeof(error) = 'integer' \
         UNION SELECT state FROM workflow_runs WHERE key = ?1 AND typeof(state) = 'integer')",
        "UPDATE workflow_runs SET output = NULL, error = NULL, state = NULL, waiting = NULL, \
         current_workflow_step_id = NULL, completed_at = NULL, duration = NULL WHERE key = ?1",
    ];
    for sql in RUN {
        tx.statement(sql)?.execute([target.key])?;
    }
    for table in ["workflow_steps", "agent_sessions"] {
        const IS_OPEN: &str = "status IN ('PENDING', 'RUNNING', 'RETRYING')";
        let sql = format!(
            "UPDATE {table} SET superseded = 1, \
             completed_at = CASE WHEN {IS_OPEN} THEN ?2 ELSE completed_at END, \
             duration = CASE WHEN {IS_OPEN} THEN max(0, CAST(?2 - started_at AS INTEGER)) ELSE duration END, \
             status = CASE WHEN {IS_OPEN} THEN 'CANCELLED' ELSE status END, updated_at = max(updated_at, ?2) \
             WHERE execution_id = ?1 AND superseded = 0"
        );
        tx.statement(&sql)?.execute((target.key, at.0))?;
    }
    tx.memory.borrow_mut().forget_rows(target.key);
    Ok(())
}

/// The times of a row that is found again.
#[derive(Debug, Clone, Copy)]
struct Times {
    created: Timestamp,
    started: Option<Timestamp>,
    completed: Option<Timestamp>,
    updated: Timestamp,
    /// Its work has come to an end of its own. What was stopped has not.
    has_ended: bool,
}

impl Times {
    /// Reads the columns `created_at`, `started_at`, `completed_at`, `updated_at` and whether it has ended.
    fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        let time = |column| row.get::<_, Option<i64>>(column).map(|time| time.map(Timestamp));
        Ok(Self {
            created: Timestamp(row.get(at)?),
            started: time(at + 1)?,
            completed: time(at + 2)?,
            updated: Timestamp(row.get(at + 3)?),
            has_ended: row.get(at + 4)?,
        })
    }

    /// Whether the source before the switch had asked for it as well. What that one left out was superseded earlier.
    fn goes_on(&self, origin: Origin, when: When) -> bool {
        origin.is_replayed && when.switched_at.is_some_and(|switched| self.updated >= switched)
    }

    /// Whether nothing is left to be done of what ends at once, because all of it was done when the row says.
    fn is_over(&self, origin: Origin, when: When) -> bool {
        self.has_ended && (origin.is_recorded || self.goes_on(origin, when))
    }
}

/// Writes a step that is asked for again into the row that it has; says whether it had one.
pub(super) fn step_again(
    tx: &Tx<'_>,
    target: Target,
    (number, patch, new): (u32, &StepPatch, &NewStep),
    when: When,
) -> Done<bool> {
    const VALUES: &str = "DELETE FROM blobs WHERE key IN \
        (SELECT input FROM workflow_steps WHERE key = ?1 AND typeof(input) = 'integer' \
        UNION SELECT output FROM workflow_steps WHERE key = ?1 AND typeof(output) = 'integer' \
        UNION SELECT error FROM workflow_steps WHERE key = ?1 AND typeof(error) = 'integer')";
    const FIND: &str = "SELECT key, created_at, started_at, completed_at, updated_at, \
        completed_at IS NOT NULL AND status <> 'CANCELLED' FROM workflow_steps \
        WHERE execution_id = ?1 AND step_number = ?2";
    const UPDATE: &str = "UPDATE workflow_steps SET superseded = 0, phase = :phase, status = :status, \
        started_at = :started, completed_at = :completed, \
        duration = max(0, CAST(:completed - :started AS INTEGER)), input = :input, output = :output, error = :error, \
        attempt_number = :attempt, max_attempts = :max, created_at = :created, updated_at = max(updated_at, :at) \
        WHERE key = :key";
    let found = tx
        .statement(FIND)?
        .query_row((target.key, number), |row| Ok((row.get::<_, i64>(0)?, Times::read(row, 1)?)))
        .optional()?;
    let Some((key, times)) = found else { return Ok(false) };
    let ends_at = patch.completed_at;
    let is_over = ends_at.is_some() && times.is_over(patch.origin, when);
    let of_work = |at| when.of_work(patch.origin, at);
    let (created, started) = match is_over || times.goes_on(patch.origin, when) {
        true => (times.created, times.started.or(patch.started_at.map(of_work))),
        false => (of_work(new.at), patch.started_at.map(of_work)),
    };
    let completed = match is_over {
        true => times.completed,
        false => ends_at.map(|at| at.max(started.unwrap_or(created))),
    };
    tx.statement(VALUES)?.execute([key])?;
    let value = |value| blob::store(tx, target.key, value);
    tx.statement(UPDATE)?.execute(named_params! {
        ":key": key,
        ":phase": new.phase,
        ":status": patch.status.as_str(),
        ":started": started.map(|at| at.0),
        ":completed": completed.map(|at| at.0),
        ":input": value(new.input.as_ref())?,
        ":output": value(patch.output.as_ref())?,
        ":error": value(patch.error.as_ref())?,
        ":attempt": patch.attempt,
        ":max": new.max_attempts,
        ":created": created.0,
        ":at": when.at.0,
    })?;
    tx.memory.borrow_mut().keep_step(target.key, number, key);
    Ok(true)
}

/// A session that is ordered again keeps its row; what it used and cost is told again when it ends. Says whether that was
/// when the row says.
pub(super) fn session_again(
    tx: &Tx<'_>,
    id: &str,
    (patch, new): (&SessionPatch, &NewSession),
    when: When,
) -> Done<bool> {
    const FIND: &str = "SELECT created_at, started_at, completed_at, updated_at, \
        completed_at IS NOT NULL AND status <> 'CANCELLED' FROM agent_sessions WHERE id = ?1";
    const ERROR: &str = "DELETE FROM blobs WHERE key = \
        (SELECT error FROM agent_sessions WHERE id = ?1 AND typeof(error) = 'integer')";
    const UPDATE: &str = "UPDATE agent_sessions SET superseded = 0, inherited = 0, agent = ?2, status = 'RUNNING', \
        started_at = ?3, completed_at = ?4, duration = max(0, CAST(?4 - ?3 AS INTEGER)), exit_code = NULL, \
        error = NULL WHERE id = ?1";
    let times = tx.statement(FIND)?.query_row([id], |row| Times::read(row, 0))?;
    let is_over = patch.completed_at.is_some() && times.is_over(patch.origin, when);
    let at = when.of_work(patch.origin, new.at);
    let started = match is_over || times.goes_on(patch.origin, when) {
        true => times.started.unwrap_or(at),
        false => at,
    };
    let completed = times.completed.filter(|_| is_over);
    tx.statement(ERROR)?.execute([id])?;
    tx.statement(UPDATE)?.execute((id, &new.agent, started.0, completed.map(|at| at.0)))?;
    Ok(is_over)
}

/// Whether this remark is on record: the same words on the same step, as often as they were said again by now. Remarks have
/// no names, so they are not known by where they stand among others. What was said stays as it was said.
pub(super) fn has_comment(
    tx: &Tx<'_>,
    target: Target,
    (row, step): (&CommentRow, Option<i64>),
) -> Done<bool> {
    let mut find = tx.statement(match step {
        Some(_) => {
            "SELECT metadata FROM workflow_comments \
             WHERE execution_id = ?1 AND step_id = ?2 AND message = ?3 AND author IS NULL"
        }
        None => {
            "SELECT metadata FROM workflow_comments \
             WHERE execution_id = ?1 AND step_id IS ?2 AND message = ?3 AND author IS NULL"
        }
    })?;
    let mut rows = find.query((target.key, step, &row.message))?;
    let mut same = 0;
    while let Some(found) = rows.next()? {
        same += u32::from(blob::load(tx.connection, found.get_ref(0)?)? == row.metadata);
    }
    Ok(same > row.earlier)
}

/// The id of a new remark. That of its operation may be the one of another remark, which stood in its place under an earlier
/// source.
pub(super) fn comment_id(tx: &Tx<'_>, target: Target, operation: &str) -> Done<String> {
    let mut is_taken = tx.statement(
        "SELECT 1 FROM workflow_comments WHERE execution_id = ?1 AND id = ?2 AND author IS NULL",
    )?;
    let mut id = id_of(target, Of::Comment(operation));
    let mut number = 1;
    while is_taken.exists((target.key, &id))? {
        number += 1;
        id = id_of(target, Of::Comment(&format!("{operation}\n{number}")));
    }
    Ok(id)
}

/// Whether the file of this id is on record.
pub(super) fn has_artifact(tx: &Tx<'_>, id: &str) -> Done<bool> {
    let mut find = tx.statement("SELECT 1 FROM workflow_artifacts WHERE id = ?1")?;
    Ok(find.query_row([id], |_| Ok(())).optional()?.is_some())
}
