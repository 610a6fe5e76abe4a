//! Rows for people, kept up to date with the log in the same transaction.
//!
//! What a chunk changes is decided by the [projection](crate::projection); here it is only written down. The fold of a
//! run stays in memory while this process drives it. Where it is missing, or somebody else has committed meanwhile, it is
//! made from the log.

use agentos_core::codec::{self, Chunk};
use agentos_core::id::{RunId, Seq};
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use rusqlite::named_params;
use serde_json::Value;

use super::error::{Done, Fault};
use super::row::to_i64;
use super::transaction::Tx;
use super::{blob, project_rows, superseded};
use crate::ids::{Of, row_id};
use crate::projection::{Anew, Changes, Origin, Projection, RunPatch};

/// A run, inside and outside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) key: i64,
    pub(super) run: RunId,
}

/// When something is written, and whether the run has had another source: then there may be a row already.
#[derive(Debug, Clone, Copy)]
pub(super) struct When {
    pub(super) at: Timestamp,
    pub(super) is_switched: bool,
    /// When the source was switched, if rows were kept then.
    pub(super) switched_at: Option<Timestamp>,
}

impl When {
    /// The time of something that is asked for newly: not before the source was switched that asks for it.
    pub(super) fn of_new(self, at: Timestamp) -> Timestamp {
        self.switched_at.map_or(at, |switched| at.max(switched))
    }

    /// The same of work that may have been done before: then it is the time at which it was.
    pub(super) fn of_work(self, origin: Origin, at: Timestamp) -> Timestamp {
        if origin.has_own_times { at } else { self.of_new(at) }
    }
}

/// The rows of a run that has just been created with these chunks.
pub(super) fn created<'a>(
    tx: &Tx<'_>,
    target: Target,
    chunks: impl Iterator<Item = &'a Chunk>,
    standing: Standing,
) -> Done<()> {
    let mut fold = Projection::default();
    for chunk in chunks {
        let changes = fold.apply(chunk, standing);
        if chunk.first == Seq::FIRST {
            // The row was written as it is after that.
            continue;
        }
        let step = write(tx, target, chunk, changes)?;
        touch(tx, target.key, chunk, step)?;
    }
    tx.memory.borrow_mut().keep_fold(target.key, fold);
    Ok(())
}

/// The rows of a run to whose log this chunk was just added.
/// Answers with the key of the step that is current from now on, if that has changed: the caller writes it together with
/// the rest that changes with every commit.
pub(super) fn commit(
    tx: &Tx<'_>,
    target: Target,
    chunk: &Chunk,
    standing: Standing,
) -> Done<Option<i64>> {
    let kept = tx.memory.borrow_mut().take_fold(target.key);
    let mut fold = match kept.filter(|fold| fold.next() == chunk.first) {
        Some(fold) => fold,
        None => fold_log(tx, target.key, chunk.first)?,
    };
    let changes = fold.apply(chunk, standing);
    let has_new_steps = changes.steps.values().any(|patch| patch.new.is_some());
    let step = write(tx, target, chunk, changes)?;
    if fold.was_switched() && has_new_steps {
        project_rows::put_remarks_back(tx, target.key)?;
    }
    if !standing.is_ended() {
        tx.memory.borrow_mut().keep_fold(target.key, fold);
    }
    Ok(step)
}

/// What the log before this position leaves open.
fn fold_log(tx: &Tx<'_>, key: i64, before: Seq) -> Done<Projection> {
    let mut fold = Projection::default();
    for chunk in chunks(tx, key, before)? {
        // How it stood then shows only in what is written, and that was written then.
        fold.apply(&chunk, Standing::Working { wake_at: None });
    }
    Ok(fold)
}

fn chunks(tx: &Tx<'_>, key: i64, before: Seq) -> Done<Vec<Chunk>> {
    let mut read =
        tx.statement("SELECT chunk FROM run_log WHERE run = ?1 AND first < ?2 ORDER BY first")?;
    let mut rows = read.query((key, to_i64(before.0)))?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        let damaged = |error| Fault::permanent(format!("a log can't be read: {error}"));
        chunks.push(codec::decode(text).map_err(damaged)?);
    }
    Ok(chunks)
}

/// Throws the rows of a run away and makes them again from its log.
pub(super) fn rebuild(tx: &Tx<'_>, target: Target, standing: Standing) -> Done<()> {
    project_rows::erase(tx, target)?;
    tx.statement("UPDATE workflow_runs SET started_at = NULL WHERE key = ?1")?
        .execute([target.key])?;
    let chunks = chunks(tx, target.key, Seq(u64::MAX))?;
    let mut fold = Projection::default();
    let last = chunks.len().saturating_sub(1);
    for (index, chunk) in chunks.iter().enumerate() {
        let working = Standing::Working { wake_at: None };
        let changes = fold.apply(chunk, if index == last { standing } else { working });
        let step = write(tx, target, chunk, changes)?;
        touch(tx, target.key, chunk, step)?;
    }
    project_rows::put_remarks_back(tx, target.key)?;
    tx.memory.borrow_mut().forget_rows(target.key);
    Ok(())
}

/// What changes with every commit.
fn touch(tx: &Tx<'_>, key: i64, chunk: &Chunk, step: Option<i64>) -> Done<()> {
    tx.statement(
        "UPDATE workflow_runs SET updated_at = max(updated_at, ?2), \
         current_workflow_step_id = coalesce(?3, current_workflow_step_id) WHERE key = ?1",
    )?
    .execute((key, chunk.at.0, step))?;
    Ok(())
}

fn write(tx: &Tx<'_>, target: Target, chunk: &Chunk, changes: Changes) -> Done<Option<i64>> {
    let Changes {
        anew,
        is_switched,
        switched_at,
        run,
        steps,
        comments,
        sessions,
        artifacts,
        state,
    } = changes;
    match anew {
        Some(Anew::Superseded) => superseded::supersede(tx, target, chunk.at)?,
        Some(Anew::Erased) => project_rows::erase(tx, target)?,
        None => {}
    }
    let when = When { at: chunk.at, is_switched, switched_at };
    for (number, patch) in &steps {
        project_rows::step(tx, target, (*number, patch), when)?;
    }
    for comment in &comments {
        project_rows::comment(tx, target, comment, when)?;
    }
    for ((_, operation), patch) in &sessions {
        project_rows::session(tx, target, (operation, patch), when)?;
    }
    for artifact in &artifacts {
        project_rows::artifact(tx, target, artifact, when)?;
    }
    if !state.is_empty() {
        write_state(tx, target.key, state)?;
    }
    write_run(tx, target, &run)?;
    project_rows::step_key(tx, target.key, run.current_step)
}

/// The run's state is one value: read, changed, written back. Only commits that write to it pay for that.
fn write_state(tx: &Tx<'_>, key: i64, writes: Vec<(String, Option<Value>)>) -> Done<()> {
    let mut read = tx.statement("SELECT state FROM workflow_runs WHERE key = ?1")?;
    let mut rows = read.query([key])?;
    let Some(row) = rows.next()? else { return Ok(()) };
    let mut state = match blob::load(tx.connection, row.get_ref(0)?)? {
        Some(Value::Object(state)) => state,
        _ => serde_json::Map::new(),
    };
    blob::drop_old(tx, row.get_ref(0)?)?;
    drop(rows);
    for (name, value) in writes {
        match value {
            Some(value) => state.insert(name, value),
            None => state.remove(&name),
        };
    }
    let state = Value::Object(state);
    blob::put(tx, key, "UPDATE workflow_runs SET state = ?2 WHERE key = ?1", key, &state)
}

fn write_run(tx: &Tx<'_>, target: Target, patch: &RunPatch) -> Done<()> {
    let RunPatch { status, started_at, completed_at, waiting, .. } = patch;
    if let Some(input) = &patch.input {
        write_input(tx, target.key, input)?;
    }
    let is_more = patch.output.is_some()
        || patch.error.is_some()
        || patch.definition.is_some()
        || patch.branch_name.is_some()
        || patch.commit_sha.is_some()
        || patch.pr_url.is_some();
    if is_more {
        write_more(tx, target, patch)?;
    }
    if let Some(status) = status {
        // Apart, because it moves the run in the indexes of the listing. A fork has a history that is older than itself:
        // nothing begins before it was created.
        tx.statement(
            "UPDATE workflow_runs SET status = ?2, started_at = coalesce(started_at, max(?3, created_at)), \
             completed_at = ?4, \
             duration = max(0, CAST(?4 - coalesce(started_at, max(?3, created_at)) AS INTEGER)) WHERE key = ?1",
        )?
        .execute((
            target.key,
            status.as_str(),
            started_at.map(|at| at.0),
            completed_at.map(|at| at.0),
        ))?;
    }
    if let Some(waiting) = waiting {
        let text =
            waiting.as_ref().map(|waiting| serde_json::to_string(waiting).unwrap_or_default());
        tx.statement("UPDATE workflow_runs SET waiting = ?2 WHERE key = ?1")?
            .execute((target.key, text))?;
    }
    Ok(())
}

/// The input was written when the run was created. Another source may begin with another one.
fn write_input(tx: &Tx<'_>, key: i64, input: &Value) -> Done<()> {
    let mut read = tx.statement("SELECT input FROM workflow_runs WHERE key = ?1")?;
    let mut rows = read.query([key])?;
    let Some(row) = rows.next()? else { return Ok(()) };
    if blob::load(tx.connection, row.get_ref(0)?)?.as_ref() == Some(input) {
        return Ok(());
    }
    blob::drop_old(tx, row.get_ref(0)?)?;
    drop(rows);
    blob::put(tx, key, "UPDATE workflow_runs SET input = ?2 WHERE key = ?1", key, input)
}

fn write_more(tx: &Tx<'_>, target: Target, patch: &RunPatch) -> Done<()> {
    let output = blob::store(tx, target.key, patch.output.as_ref())?;
    let error = blob::store(tx, target.key, patch.error.as_ref())?;
    tx.statement(
        "UPDATE workflow_runs SET output = coalesce(:output, output), error = coalesce(:error, error), \
         definition_version = CASE WHEN :definition IS NULL THEN definition_version ELSE \
         (SELECT v.version FROM workflow_definition_versions v \
         WHERE v.definition_id = workflow_def_id AND v.hash = :definition) END, \
         definition_hash = coalesce(:definition, definition_hash), branch_name = coalesce(:branch, branch_name), \
         commit_sha = coalesce(:commit, commit_sha), pr_url = coalesce(:pr, pr_url) WHERE key = :key",
    )?
    .execute(named_params! {
        ":key": target.key,
        ":output": output,
        ":error": error,
        ":definition": patch.definition,
        ":branch": patch.branch_name,
        ":commit": patch.commit_sha,
        ":pr": patch.pr_url,
    })?;
    Ok(())
}

/// The id of a row that follows from the log.
pub(super) fn id_of(target: Target, of: Of<'_>) -> String {
    row_id(target.run, of).to_string()
}
