//! The inbox in SQL: messages that wait, and the keys of those that do not any more.

use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::Message;
use agentos_core::time::Timestamp;
use rusqlite::Connection;

use super::error::{Done, Fault};
use super::row::RunRow;
use super::transaction::Tx;
use crate::bounds::{self, INBOX_MESSAGES};
use crate::inbox::{Received, SendError, Sent};
use crate::log::ReadError;

pub(super) fn send(
    tx: &Tx<'_>,
    run: RunId,
    message: &Message,
    at: Timestamp,
) -> Done<Result<Sent, SendError>> {
    let Some(found) = tx.run(run)? else {
        return Ok(Err(SendError::NotFound { run }));
    };
    if has_had(tx, found.key, &message.key)? {
        return Ok(Ok(Sent::Duplicate));
    }
    if found.head.standing.is_ended() {
        return Ok(Err(SendError::Ended { run }));
    }
    if usize::try_from(found.messages).unwrap_or(0) >= INBOX_MESSAGES {
        return Ok(Err(SendError::InboxFull { run }));
    }
    receive(tx, (run, found.key), message, at)?;
    Ok(Ok(Sent::New))
}

pub(super) fn has_had(tx: &Tx<'_>, run: i64, key: &InboxKey) -> Done<bool> {
    let mut find = tx.statement("SELECT 1 FROM run_inbox WHERE run = ?1 AND key = ?2")?;
    Ok(find.exists((run, &key.0))?)
}

/// Whether a message of this key waits.
pub(super) fn waits(tx: &Tx<'_>, run: i64, key: &InboxKey) -> Done<bool> {
    let mut find = tx
        .statement("SELECT 1 FROM run_inbox WHERE run = ?1 AND key = ?2 AND message IS NOT NULL")?;
    Ok(find.exists((run, &key.0))?)
}

/// Puts a message in whose key is new.
pub(super) fn receive(
    tx: &Tx<'_>,
    (id, run): (RunId, i64),
    message: &Message,
    at: Timestamp,
) -> Done<()> {
    tx.forget(id);
    let text = serde_json::to_string(message)
        .map_err(|error| Fault::permanent(format!("a message has no text: {error}")))?;
    tx.statement("INSERT INTO run_inbox (run, key, at, message) VALUES (?1, ?2, ?3, ?4)")?
        .execute((run, &message.key.0, at.0, text))?;
    tx.statement("UPDATE workflow_runs SET messages = messages + 1 WHERE key = ?1")?
        .execute([run])?;
    Ok(())
}

/// Notes a key as had, for a message that is in the log already.
pub(super) fn remember(tx: &Tx<'_>, run: i64, key: &InboxKey, at: Timestamp) -> Done<()> {
    tx.statement(
        "INSERT OR IGNORE INTO run_inbox (run, key, at, message) VALUES (?1, ?2, ?3, NULL)",
    )?
    .execute((run, &key.0, at.0))?;
    Ok(())
}

/// Takes messages out that wait; their keys stay.
pub(super) fn consume(tx: &Tx<'_>, run: i64, keys: &[InboxKey]) -> Done<()> {
    for key in keys {
        tx.statement("UPDATE run_inbox SET message = NULL WHERE run = ?1 AND key = ?2")?
            .execute((run, &key.0))?;
    }
    let count = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    tx.statement("UPDATE workflow_runs SET messages = messages - ?2 WHERE key = ?1")?
        .execute((run, count))?;
    Ok(())
}

pub(super) fn read(
    connection: &Connection,
    run: RunId,
    limit: usize,
) -> Done<Result<Vec<Received>, ReadError>> {
    const READ: &str = "SELECT at, message FROM run_inbox \
                        WHERE run = ?1 AND message IS NOT NULL ORDER BY number LIMIT ?2";
    let Some(found) = RunRow::find(connection, run)? else {
        return Ok(Err(ReadError::NotFound { run }));
    };
    let limit = i64::try_from(bounds::page(limit)).unwrap_or(i64::MAX);
    let mut read = connection.prepare_cached(READ)?;
    let mut rows = read.query((found.key, limit))?;
    let mut inbox = Vec::new();
    while let Some(row) = rows.next()? {
        let text: String = row.get(1)?;
        let message = serde_json::from_str(&text).map_err(|error| {
            Fault::permanent(format!("a message for run {run} can't be read: {error}"))
        })?;
        inbox.push(Received { at: Timestamp(row.get(0)?), message });
    }
    Ok(Ok(inbox))
}
