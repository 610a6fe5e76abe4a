//! The log in SQL: appended to, and read page by page.

use agentos_core::codec::{self, Chunk};
use agentos_core::id::{RunId, Seq};
use rusqlite::Connection;

use super::error::Done;
use super::row::{RunRow, to_i64};
use super::transaction::Tx;
use crate::bounds;
use crate::log::ReadError;
use crate::run::Head;

pub(super) fn append(tx: &Tx<'_>, run: i64, first: Seq, chunk: &str) -> Done<()> {
    let position = tx.next_position()?;
    tx.statement("INSERT INTO run_log (position, run, first, chunk) VALUES (?1, ?2, ?3, ?4)")?
        .execute((position, run, to_i64(first.0), chunk))?;
    Ok(())
}

pub(super) fn head(connection: &Connection, run: RunId) -> Done<Result<Head, ReadError>> {
    let found = RunRow::find(connection, run)?;
    Ok(found.map(|found| found.head).ok_or(ReadError::NotFound { run }))
}

pub(super) fn load(
    connection: &Connection,
    run: RunId,
    from: Seq,
    limit: usize,
) -> Done<Result<Vec<Chunk>, ReadError>> {
    const LOAD: &str = "SELECT chunk FROM run_log WHERE run = ?1 AND first >= \
                        (SELECT max(first) FROM run_log WHERE run = ?1 AND first <= ?2) \
                        ORDER BY first LIMIT ?3";
    let Some(found) = RunRow::find(connection, run)? else {
        return Ok(Err(ReadError::NotFound { run }));
    };
    if from >= found.head.head {
        return Ok(Ok(Vec::new()));
    }
    let mut load = connection.prepare_cached(LOAD)?;
    let mut rows = load.query((found.key, to_i64(from.0), to_i64(bounds::page(limit) as u64)))?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.next()? {
        match codec::decode(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?) {
            Ok(chunk) => chunks.push(chunk),
            Err(source) => return Ok(Err(ReadError::Damaged { run, source })),
        }
    }
    Ok(Ok(chunks))
}
