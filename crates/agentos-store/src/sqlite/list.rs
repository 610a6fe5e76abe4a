//! The plain listing in SQL, latest creation first. The cursor is the key of the last run that was shown.

use agentos_core::id::RunId;
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

use super::error::Done;
use super::row::{HEAD_COLUMNS, RunRow, standing_columns, to_i64, uuid};
use crate::bounds;
use crate::list::{ListError, ListedRun, RunCursor, RunFilter, RunPage, StandingFilter};

pub(super) fn list(
    connection: &Connection,
    filter: RunFilter,
    after: Option<&RunCursor>,
    limit: usize,
) -> Done<Result<RunPage, ListError>> {
    let before = match after {
        None => i64::MAX,
        Some(cursor) => match parse(connection, cursor)? {
            Some(key) => key,
            None => return Ok(Err(ListError::Cursor { cursor: cursor.clone() })),
        },
    };
    let (lowest, highest) = standings(filter.standing);
    let limit = bounds::page(limit);
    let sql = format!(
        "SELECT {HEAD_COLUMNS}, r.id, r.created_at FROM workflow_runs r \
         WHERE r.key < ?1 AND r.standing BETWEEN ?2 AND ?3 ORDER BY r.key DESC LIMIT ?4"
    );
    let mut find = connection.prepare_cached(&sql)?;
    let mut rows = find.query((before, lowest, highest, to_i64(limit as u64 + 1)))?;
    let mut shown = Vec::new();
    while let Some(row) = rows.next()? {
        let found = RunRow::read(row)?;
        let run = RunId(uuid(row.get_ref(7)?.as_str().map_err(rusqlite::Error::from)?)?);
        let listed = ListedRun { run, created_at: Timestamp(row.get(8)?), head: found.head };
        shown.push((found.key, listed));
    }
    let has_more = shown.len() > limit;
    shown.truncate(limit);
    let next = shown.last().filter(|_| has_more).map(|(key, _)| RunCursor(format!("r{key}")));
    Ok(Ok(RunPage { runs: shown.into_iter().map(|(_, listed)| listed).collect(), next }))
}

/// A cursor of ours names a key that was given out.
fn parse(connection: &Connection, cursor: &RunCursor) -> Done<Option<i64>> {
    let key: Option<i64> = cursor.0.strip_prefix('r').and_then(|key| key.parse().ok());
    let given_out = last_key(connection)?;
    Ok(key.filter(|key| (1..=given_out).contains(key) && cursor.0 == format!("r{key}")))
}

/// The last key of a run that was given out.
fn last_key(connection: &Connection) -> Done<i64> {
    let given_out: Option<i64> = connection
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'workflow_runs'")?
        .query_row((), |row| row.get(0))
        .optional()?;
    Ok(given_out.unwrap_or(0))
}

/// The range of numbers that stand for these standings.
fn standings(filter: StandingFilter) -> (i64, i64) {
    let only = |standing| {
        let (number, _) = standing_columns(standing);
        (number, number)
    };
    match filter {
        StandingFilter::Any => (0, i64::MAX),
        StandingFilter::Working => only(Standing::Working { wake_at: None }),
        StandingFilter::Parked => only(Standing::Parked { wake_at: None }),
        StandingFilter::Ended => {
            (only(Standing::Ended { status: EndStatus::Completed }).0, i64::MAX)
        }
        StandingFilter::EndedAs(status) => only(Standing::Ended { status }),
    }
}
