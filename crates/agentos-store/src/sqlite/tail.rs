//! The tail in SQL: rows of the log by their position.
//!
//! One writer at a time numbers the rows, so they become visible in the order of their numbers and a cursor is one
//! number. Numbers are never given out twice, also when the latest run was deleted.

use agentos_core::codec;
use agentos_core::id::RunId;
use rusqlite::Connection;

use super::error::Done;
use super::row::{to_i64, uuid};
use crate::bounds;
use crate::tail::{TailCursor, TailError, TailEvent, TailPage};

pub(super) fn page(
    connection: &Connection,
    after: &TailCursor,
    limit: usize,
) -> Done<Result<TailPage, TailError>> {
    const READ: &str = "SELECT l.position, r.id, l.chunk FROM run_log l JOIN workflow_runs r ON r.key = l.run \
                        WHERE l.position > ?1 ORDER BY l.position LIMIT ?2";
    let Some(mut position) = parse(connection, after)? else {
        return Ok(Err(TailError::Cursor { cursor: after.clone() }));
    };
    let mut read = connection.prepare_cached(READ)?;
    let mut rows = read.query((position, to_i64(bounds::page(limit) as u64)))?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let run = RunId(uuid(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?)?);
        match codec::decode(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?) {
            Ok(chunk) => events.push(TailEvent { run, chunk }),
            Err(source) => return Ok(Err(TailError::Damaged { run, source })),
        }
        position = row.get(0)?;
    }
    Ok(Ok(TailPage { events, next: TailCursor::from_text(format!("p{position}")) }))
}

fn parse(connection: &Connection, cursor: &TailCursor) -> Done<Option<i64>> {
    if cursor.is_start() {
        return Ok(Some(0));
    }
    let position: Option<i64> =
        cursor.as_str().strip_prefix('p').and_then(|text| text.parse().ok());
    let given_out = last_position(connection)?;
    Ok(position.filter(|position| {
        (0..=given_out).contains(position) && cursor.as_str() == format!("p{position}")
    }))
}

/// The place behind all that there is.
pub(super) fn end(connection: &Connection) -> Done<TailCursor> {
    Ok(TailCursor::from_text(format!("p{}", last_position(connection)?)))
}

/// The last position that was given out.
pub(super) fn last_position(connection: &Connection) -> Done<i64> {
    let mut ask = connection.prepare_cached(
        "SELECT max((SELECT gone FROM store), coalesce((SELECT max(position) FROM run_log), 0))",
    )?;
    Ok(ask.query_row((), |row| row.get(0))?)
}
