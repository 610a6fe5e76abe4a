//! The rows of steps, comments, sessions and artifacts, one statement each.

use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use rusqlite::{OptionalExtension as _, named_params};

use super::error::Done;
use super::project::{Target, When, id_of};
use super::transaction::Tx;
use super::{blob, superseded};
use crate::ids::Of;
use crate::projection::{ArtifactRow, CommentRow, SessionPatch, StepPatch, artifact_identity};

/// Everything that was derived from the log goes. What people wrote stays, on the run until its step is there again.
pub(super) fn erase(tx: &Tx<'_>, target: Target) -> Done<()> {
    let statements = [
        "UPDATE workflow_comments SET step_id = NULL WHERE execution_id = ?1 AND author IS NOT NULL",
        "DELETE FROM workflow_comments WHERE execution_id = ?1 AND author IS NULL",
        "DELETE FROM workflow_artifacts WHERE execution_id = ?1",
        "DELETE FROM agent_sessions WHERE execution_id = ?1",
        "DELETE FROM workflow_steps WHERE execution_id = ?1",
        "UPDATE workflow_runs SET output = NULL, error = NULL, state = NULL, waiting = NULL, \
         current_workflow_step_id = NULL, completed_at = NULL, duration = NULL WHERE key = ?1",
        "DELETE FROM blobs WHERE run = ?1 AND key NOT IN \
         (SELECT input FROM workflow_runs WHERE key = ?1 AND typeof(input) = 'integer') AND key NOT IN \
         (SELECT metadata FROM workflow_comments WHERE execution_id = ?1 AND typeof(metadata) = 'integer')",
    ];
    for sql in statements {
        tx.statement(sql)?.execute([target.key])?;
    }
    tx.memory.borrow_mut().forget_rows(target.key);
    Ok(())
}

/// Puts what people wrote on steps back there, if those steps are there again.
pub(super) fn put_remarks_back(tx: &Tx<'_>, run: i64) -> Done<()> {
    tx.statement(
        "UPDATE workflow_comments SET step_id = (SELECT s.key FROM workflow_steps s \
         WHERE s.execution_id = ?1 AND s.path = workflow_comments.step_path) \
         WHERE execution_id = ?1 AND step_id IS NULL AND step_path IS NOT NULL",
    )?
    .execute([run])?;
    Ok(())
}

/// The key of a step's row.
pub(super) fn step_key(tx: &Tx<'_>, run: i64, number: Option<u32>) -> Done<Option<i64>> {
    let Some(number) = number else { return Ok(None) };
    if let Some(key) = tx.memory.borrow().step(run, number) {
        return Ok(Some(key));
    }
    let mut find = tx
        .statement("SELECT key FROM workflow_steps WHERE execution_id = ?1 AND step_number = ?2")?;
    Ok(find.query_row((run, number), |row| row.get(0)).optional()?)
}

pub(super) fn step(
    tx: &Tx<'_>,
    target: Target,
    (number, patch): (u32, &StepPatch),
    when: When,
) -> Done<()> {
    const INSERT: &str = "INSERT INTO workflow_steps (id, execution_id, step_number, name, path, phase, status, \
        started_at, completed_at, duration, input, output, error, attempt_number, max_attempts, created_at, \
        updated_at) VALUES (:id, :run, :number, :name, :path, :phase, :status, :started, :completed, \
        max(0, CAST(:completed - :started AS INTEGER)), :input, :output, :error, :attempt, :max, :created, :at) \
        ON CONFLICT (execution_id, step_number) DO NOTHING";
    // Under another source the log may say other times than the row does, which knows when the work began.
    const UPDATE: &str = "UPDATE workflow_steps SET status = ?2, \
        started_at = max(coalesce(iif(?9, started_at, NULL), ?3, started_at), coalesce(started_at, created_at)), \
        completed_at = max(?4, coalesce(started_at, created_at)), duration = max(0, \
        CAST(?4 - max(coalesce(iif(?9, started_at, NULL), ?3, started_at), coalesce(started_at, created_at)) AS INTEGER)), \
        output = ?5, error = ?6, attempt_number = ?7, updated_at = max(updated_at, ?8) WHERE key = ?1";
    const OLD_ERROR: &str = "DELETE FROM blobs WHERE key = \
        (SELECT error FROM workflow_steps WHERE key = ?1 AND typeof(error) = 'integer')";
    if let Some(new) = patch.new.as_ref().filter(|_| when.is_switched)
        && superseded::step_again(tx, target, (number, patch, new), when)?
    {
        return Ok(());
    }
    let time = |at: Option<Timestamp>| match patch.new {
        Some(_) => at.map(|at| when.of_work(patch.origin, at).0),
        None => at.map(|at| at.0),
    };
    let (started, completed) = (time(patch.started_at), time(patch.completed_at));
    let output = blob::store(tx, target.key, patch.output.as_ref())?;
    let error = blob::store(tx, target.key, patch.error.as_ref())?;
    let Some(new) = &patch.new else {
        let Some(key) = step_key(tx, target.key, Some(number))? else { return Ok(()) };
        if completed.is_some() {
            tx.memory.borrow_mut().forget_step(target.key, number);
        }
        if patch.replaces_error {
            tx.statement(OLD_ERROR)?.execute([key])?;
        }
        tx.statement(UPDATE)?.execute((
            key,
            patch.status.as_str(),
            started,
            completed,
            output,
            error,
            patch.attempt,
            when.at.0,
            when.is_switched,
        ))?;
        return Ok(());
    };
    let input = blob::store(tx, target.key, new.input.as_ref())?;
    let inserted = tx.statement(INSERT)?.execute(named_params! {
        ":id": id_of(target, Of::Step(&new.path)),
        ":run": target.key,
        ":number": number,
        ":name": new.name,
        ":path": new.path,
        ":phase": new.phase,
        ":status": patch.status.as_str(),
        ":started": started,
        ":completed": completed,
        ":input": input,
        ":output": output,
        ":error": error,
        ":attempt": patch.attempt,
        ":max": new.max_attempts,
        ":created": when.of_work(patch.origin, new.at).0,
        ":at": when.at.0,
    })?;
    if inserted > 0 {
        let key = tx.connection.last_insert_rowid();
        tx.memory.borrow_mut().keep_step(target.key, number, key);
    }
    Ok(())
}

pub(super) fn comment(tx: &Tx<'_>, target: Target, row: &CommentRow, when: When) -> Done<()> {
    let step = step_key(tx, target.key, row.step)?;
    if when.is_switched && row.may_be_known && superseded::has_comment(tx, target, (row, step))? {
        return Ok(());
    }
    let id = match when.is_switched {
        true => superseded::comment_id(tx, target, row.operation.as_str())?,
        false => id_of(target, Of::Comment(row.operation.as_str())),
    };
    let metadata = blob::store(tx, target.key, row.metadata.as_ref())?;
    tx.statement(
        "INSERT INTO workflow_comments (id, execution_id, step_id, message, metadata, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((id, target.key, step, &row.message, metadata, when.of_new(row.at).0))?;
    Ok(())
}

pub(super) fn session(
    tx: &Tx<'_>,
    target: Target,
    (operation, patch): (&OperationId, &SessionPatch),
    when: When,
) -> Done<()> {
    const INSERT: &str = "INSERT INTO agent_sessions (id, execution_id, workflow_step_id, name, agent, status, \
        started_at, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, 'RUNNING', ?6, ?6, ?6) \
        ON CONFLICT (id) DO NOTHING";
    const UPDATE: &str = "UPDATE agent_sessions SET status = coalesce(:status, status), \
        model = coalesce(:model, model), session_id = coalesce(:session, session_id), \
        session_file_path = coalesce(:file, session_file_path), \
        input_tokens = coalesce(:input_tokens, input_tokens), \
        output_tokens = coalesce(:output_tokens, output_tokens), \
        cached_tokens = coalesce(:cached_tokens, cached_tokens), cost_usd = coalesce(:cost, cost_usd), \
        exit_code = coalesce(:exit_code, exit_code), error = coalesce(:error, error), \
        started_at = coalesce(:restarted, started_at), \
        completed_at = coalesce(max(:completed, started_at), completed_at), \
        duration = coalesce(max(0, CAST(:completed - coalesce(:restarted, started_at) AS INTEGER)), duration), \
        inherited = max(inherited, :inherited), updated_at = max(updated_at, :at) WHERE id = :id";
    let id = id_of(target, Of::Session(operation.as_str()));
    let mut completed = patch.completed_at;
    if let Some(new) = &patch.new {
        let step = step_key(tx, target.key, new.step)?;
        let at = when.of_work(patch.origin, new.at).0;
        let inserted =
            tx.statement(INSERT)?.execute((&id, target.key, step, &new.name, &new.agent, at))?;
        if inserted == 0 && when.is_switched {
            let keeps_times = superseded::session_again(tx, &id, (patch, new), when)?;
            completed = completed.filter(|_| !keeps_times);
        }
    }
    let error = blob::store(tx, target.key, patch.error.as_ref())?;
    tx.statement(UPDATE)?.execute(named_params! {
        ":id": id,
        ":status": patch.status.map(|status| status.as_str()),
        ":model": patch.model,
        ":session": patch.session_id,
        ":file": patch.session_file_path,
        ":input_tokens": patch.input_tokens,
        ":output_tokens": patch.output_tokens,
        ":cached_tokens": patch.cached_tokens,
        ":cost": patch.cost_usd,
        ":exit_code": patch.exit_code,
        ":error": error,
        ":completed": completed.map(|at| at.0),
        ":restarted": patch.restarted_at.map(|at| at.0),
        ":inherited": patch.inherited,
        ":at": when.at.0,
    })?;
    Ok(())
}

pub(super) fn artifact(tx: &Tx<'_>, target: Target, row: &ArtifactRow, when: When) -> Done<()> {
    const INSERT: &str = "INSERT INTO workflow_artifacts (id, execution_id, step_id, agent_session_id, name, type, storage_path, \
        mime_type, size_bytes, metadata, created_at) \
        VALUES (:id, :run, :step, (SELECT key FROM agent_sessions WHERE execution_id = :run AND :session IS NOT NULL \
        AND (id = :session OR session_id = :session) ORDER BY key DESC LIMIT 1), \
        :name, :type, :path, :mime, :size, :metadata, :at) ON CONFLICT (id) DO NOTHING";
    let id = id_of(target, Of::Artifact(&artifact_identity(row)));
    if when.is_switched && superseded::has_artifact(tx, &id)? {
        return Ok(());
    }
    let metadata = blob::store(tx, target.key, row.metadata.as_ref())?;
    let step = step_key(tx, target.key, row.step)?;
    let operation = row.operation.as_str();
    // What a session leaves is its own, also if the agent has had others of that name.
    let session = match row.operation.kind() {
        Some(OperationKind::Agent) => Some(id_of(target, Of::Session(operation))),
        _ => row.session.clone(),
    };
    tx.statement(INSERT)?.execute(named_params! {
        ":id": id,
        ":session": session,
        ":run": target.key,
        ":step": step,
        ":name": row.name,
        ":type": row.kind,
        ":path": row.storage_path,
        ":mime": row.mime_type,
        ":size": row.size_bytes,
        ":metadata": metadata,
        ":at": when.of_new(row.at).0,
    })?;
    Ok(())
}
