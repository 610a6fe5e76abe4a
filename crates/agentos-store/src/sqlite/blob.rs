//! Values of wide rows: small ones stand in the row, large ones apart from it.
//!
//! A row is rewritten whole when one of its columns changes. A step that ends should not copy four megabytes of input
//! once more, so a value over [`INLINE`] has a row of its own and the column holds its key. In `ANY` columns the type
//! tells which it is: text or integer. (The log needs nothing of this: its rows never change.)

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};
use serde_json::Value;

use super::error::{Done, Fault};
use super::transaction::Tx;

/// Longest JSON text that stands in its row, in bytes.
pub(super) const INLINE: usize = 1_024;

/// A value as a column holds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stored {
    Nothing,
    Inline(String),
    Apart(i64),
}

impl ToSql for Stored {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Nothing => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Inline(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Apart(key) => ToSqlOutput::Borrowed(ValueRef::Integer(*key)),
        })
    }
}

/// The text of a value, if it is short enough to stand in its row.
pub(super) fn inline(value: &Value) -> Option<String> {
    let text = value.to_string();
    (text.len() <= INLINE).then_some(text)
}

/// Makes a value ready for a column of a row of this run.
pub(super) fn store(tx: &Tx<'_>, run: i64, value: Option<&Value>) -> Done<Stored> {
    let Some(value) = value else { return Ok(Stored::Nothing) };
    let text = value.to_string();
    if text.len() <= INLINE {
        return Ok(Stored::Inline(text));
    }
    tx.statement("INSERT INTO blobs (run, value) VALUES (?1, ?2)")?.execute((run, text))?;
    Ok(Stored::Apart(tx.connection.last_insert_rowid()))
}

/// Writes a value into the one column that `update` sets, of the row `key`.
pub(super) fn put(tx: &Tx<'_>, run: i64, update: &str, key: i64, value: &Value) -> Done<()> {
    let stored = store(tx, run, Some(value))?;
    tx.statement(update)?.execute((key, stored))?;
    Ok(())
}

/// Removes the blob that a column pointed to before it is written again.
pub(super) fn drop_old(tx: &Tx<'_>, column: ValueRef<'_>) -> Done<()> {
    if let ValueRef::Integer(key) = column {
        tx.statement("DELETE FROM blobs WHERE key = ?1")?.execute([key])?;
    }
    Ok(())
}

/// Reads a value back, wherever it is.
pub(super) fn load(connection: &Connection, column: ValueRef<'_>) -> Done<Option<Value>> {
    let damaged =
        |error: serde_json::Error| Fault::permanent(format!("a value can't be read: {error}"));
    match column {
        ValueRef::Null => Ok(None),
        ValueRef::Text(text) => serde_json::from_slice(text).map(Some).map_err(damaged),
        ValueRef::Integer(key) => {
            let mut find = connection.prepare_cached("SELECT value FROM blobs WHERE key = ?1")?;
            let text: String = find.query_row([key], |row| row.get(0))?;
            serde_json::from_str(&text).map(Some).map_err(damaged)
        }
        other => {
            Err(Fault::permanent(format!("{} stands where a value should", other.data_type())))
        }
    }
}
