//! Taking a run in: what is there of it decides what is done, and what was written is read back.

use agentos_core::standing::Standing;
use rusqlite::{Connection, params_from_iter};

use super::give::{key_by, remarks};
use super::{COLUMNS, log_of, place};
use crate::sqlite::error::{Done, Fault};
use crate::sqlite::owner::Owners;
use crate::sqlite::project::Target;
use crate::sqlite::row::{RunRow, standing_columns};
use crate::sqlite::transaction::Tx;
use crate::sqlite::{blob, project, project_rows};
use crate::transfer::{CopiedRemark, RunCopy, Taken, TransferError};

type Compared = Result<Taken, TransferError>;

/// What is there of this run.
pub(super) fn compare(connection: &Connection, owners: &Owners, copy: &RunCopy) -> Done<Compared> {
    let run = copy.run;
    let Some(found) = RunRow::find(connection, run)? else {
        let sql = "SELECT key FROM workflow_runs WHERE run_id = ?1";
        let is_taken = key_by(connection, sql, copy.run_id())?.is_some();
        let name = copy.run_id().to_owned();
        return Ok(if is_taken { Err(TransferError::NameTaken { name }) } else { Ok(Taken::New) });
    };
    let here = log_of(connection, found.key)?;
    if here == copy.log {
        return Ok(Ok(Taken::AlreadyThere));
    }
    if here.starts_with(&copy.log) {
        return Ok(Ok(Taken::WentOn));
    }
    if !copy.log.starts_with(&here) {
        return Ok(Err(TransferError::Different { run }));
    }
    let is_driven = match found.head.owner {
        Some(owner) => owners.is_alive(owner)?,
        None => false,
    };
    Ok(if is_driven { Err(TransferError::Busy { run }) } else { Ok(Taken::BroughtUpToDate) })
}

pub(super) fn take(tx: &Tx<'_>, copy: &RunCopy) -> Done<Compared> {
    let taken = match compare(tx.connection, tx.owners, copy)? {
        Ok(taken) => taken,
        Err(error) => return Ok(Err(error)),
    };
    match taken {
        Taken::AlreadyThere | Taken::WentOn => add_missing(tx, copy)?,
        Taken::New => {
            insert(tx, copy)?;
        }
        Taken::BroughtUpToDate => replace(tx, copy)?,
    }
    Ok(Ok(taken))
}

/// Messages and remarks that are not here yet.
fn add_missing(tx: &Tx<'_>, copy: &RunCopy) -> Done<()> {
    let Some(found) = RunRow::find(tx.connection, copy.run)? else { return Ok(()) };
    put_remarks(tx, found.key, &copy.remarks)?;
    if found.head.standing.is_ended() {
        return Ok(());
    }
    put_inbox(tx, found.key, copy)
}

/// What is here is an earlier state: it goes, but for what people have remarked here.
fn replace(tx: &Tx<'_>, copy: &RunCopy) -> Done<()> {
    let Some(found) = RunRow::find(tx.connection, copy.run)? else { return Ok(()) };
    let said_here = remarks(tx.connection, found.key)?;
    tx.statement("DELETE FROM workflow_runs WHERE key = ?1")?.execute([found.key])?;
    tx.memory.borrow_mut().clear();
    let key = insert(tx, copy)?;
    put_remarks(tx, key, &said_here)
}

pub(in crate::sqlite) fn insert(tx: &Tx<'_>, copy: &RunCopy) -> Done<i64> {
    let key = insert_row(tx, copy)?;
    for (first, text) in &copy.log {
        let position = tx.next_position()?;
        tx.statement("INSERT INTO run_log (position, run, first, chunk) VALUES (?1, ?2, ?3, ?4)")?
            .execute((position, key, first, text))?;
    }
    put_inbox(tx, key, copy)?;
    put_remarks(tx, key, &copy.remarks)?;
    project::rebuild(tx, Target { key, run: copy.run }, copy.standing)?;
    verify(tx, key, copy)?;
    tx.forget(copy.run);
    Ok(key)
}

fn insert_row(tx: &Tx<'_>, copy: &RunCopy) -> Done<i64> {
    let project = match &copy.project {
        Some(from) => Some(place::project(tx, from)?),
        None => None,
    };
    let definition = match (project, &copy.definition) {
        (Some(project), Some(from)) => Some(place::definition(tx, project, from)?),
        _ => None,
    };
    let (standing, wake_at) = standing_columns(copy.standing);
    let names = COLUMNS.join(", ");
    let marks: Vec<String> = (5..5 + COLUMNS.len()).map(|number| format!("?{number}")).collect();
    let sql = format!(
        "INSERT INTO workflow_runs (id, project_id, workflow_def_id, standing, {names}, status) \
         VALUES (?1, ?2, ?3, ?4, {}, 'PENDING')",
        marks.join(", ")
    );
    let null = rusqlite::types::Value::Null;
    let cells = COLUMNS.map(|name| match name {
        "wake_at" => wake_at.map_or(null.clone(), Into::into),
        _ => copy.columns.get(name).cloned().unwrap_or(null.clone()),
    });
    let first = [
        copy.run.to_string().into(),
        project.map_or(null.clone(), Into::into),
        definition.map_or(null, Into::into),
        standing.into(),
    ];
    let mut put = tx.statement(&sql)?;
    put.execute(params_from_iter(first.into_iter().chain(cells)))?;
    let key = tx.connection.last_insert_rowid();
    if let Some(input) = &copy.input {
        let update = "UPDATE workflow_runs SET input = ?2 WHERE key = ?1";
        blob::put(tx, key, update, key, input)?;
    }
    tx.statement(
        "UPDATE workflow_runs SET definition_version = (SELECT v.version FROM workflow_definition_versions v \
         WHERE v.definition_id = workflow_def_id AND v.hash = definition_hash) WHERE key = ?1",
    )?
    .execute([key])?;
    Ok(key)
}

fn put_inbox(tx: &Tx<'_>, key: i64, copy: &RunCopy) -> Done<()> {
    for message in &copy.inbox {
        tx.statement(
            "INSERT INTO run_inbox (run, key, at, message) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (run, key) DO NOTHING",
        )?
        .execute((key, &message.key, message.at, &message.message))?;
    }
    tx.statement(
        "UPDATE workflow_runs SET messages = \
         (SELECT count(*) FROM run_inbox WHERE run = ?1 AND message IS NOT NULL) WHERE key = ?1",
    )?
    .execute([key])?;
    tx.forget(copy.run);
    Ok(())
}

fn put_remarks(tx: &Tx<'_>, key: i64, all: &[CopiedRemark]) -> Done<()> {
    for remark in all {
        let mut had =
            tx.statement("SELECT 1 FROM workflow_comments WHERE id = ?1 AND author IS NOT NULL")?;
        if had.exists([&remark.id])? {
            continue;
        }
        let metadata = blob::store(tx, key, remark.metadata.as_ref())?;
        tx.statement(
            "INSERT INTO workflow_comments (id, execution_id, step_path, message, metadata, author, created_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            &remark.id,
            key,
            &remark.step_path,
            &remark.message,
            metadata,
            &remark.author,
            remark.at,
        ))?;
    }
    project_rows::put_remarks_back(tx, key)
}

/// Reads back what was written.
fn verify(tx: &Tx<'_>, key: i64, copy: &RunCopy) -> Done<()> {
    let Some(found) = RunRow::find(tx.connection, copy.run)? else {
        return Err(Fault::permanent("a run that was just written is not there"));
    };
    let counted = |sql: &str| -> Done<usize> {
        let count: i64 = tx.statement(sql)?.query_row([key], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    };
    let is_whole = log_of(tx.connection, key)? == copy.log
        && found.head.standing == standing_of(copy)
        && counted("SELECT count(*) FROM run_inbox WHERE run = ?1")? == copy.inbox.len()
        && remarks(tx.connection, key)?.len() >= copy.remarks.len();
    if is_whole {
        return Ok(());
    }
    let run = copy.run;
    Err(Fault::permanent(format!(
        "what was written of run {run} is not what was read; nothing was kept. Try again"
    )))
}

const fn standing_of(copy: &RunCopy) -> Standing {
    copy.standing
}
