//! Runs that need an owner, in SQL.
//!
//! Each of the three reasons has an index of its own that holds only the runs it concerns, so a hundred thousand parked
//! runs cost nothing here. SQLite sees that a partial index fits only if its condition is repeated word for word.

use std::collections::BTreeMap;

use agentos_core::id::{OwnerId, RunId};
use agentos_core::time::Timestamp;
use rusqlite::Connection;

use super::error::Done;
use super::owner::Owners;
use super::row::uuid;
use crate::bounds;
use crate::due::{Due, Except, Outlook};

const REASONS: [&str; 3] = [
    "SELECT r.id, r.owner, r.wake_at FROM workflow_runs r \
     WHERE r.standing = 0 AND r.standing < 2 AND ?1 = ?1",
    "SELECT r.id, r.owner, r.wake_at FROM workflow_runs r \
     WHERE r.standing = 1 AND r.standing < 2 AND r.wake_at <= ?1 ORDER BY r.wake_at",
    "SELECT r.id, r.owner, r.wake_at FROM workflow_runs r \
     WHERE r.standing = 1 AND r.messages > 0 AND ?1 = ?1",
];

pub(super) fn due(
    connection: &Connection,
    owners: &Owners,
    (now, except): (Timestamp, &Except),
    limit: usize,
) -> Done<Vec<Due>> {
    let mut alive = BTreeMap::new();
    let mut due: BTreeMap<RunId, Due> = BTreeMap::new();
    for reason in REASONS {
        let mut find = connection.prepare_cached(reason)?;
        let mut rows = find.query([now.0])?;
        while due.len() < bounds::page(limit)
            && let Some(row) = rows.next()?
        {
            let owner: Option<String> = row.get(1)?;
            if let Some(owner) = owner
                && is_alive(owners, &mut alive, OwnerId(uuid(&owner)?))?
            {
                continue;
            }
            let run = RunId(uuid(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
            if except.contains(&run) {
                continue;
            }
            let wake_at = row.get::<_, Option<i64>>(2)?.map(Timestamp);
            due.insert(run, Due { run, wake_at });
        }
    }
    Ok(due.into_values().collect())
}

pub(super) fn outlook(
    connection: &Connection,
    owners: &Owners,
    (owner, except): (OwnerId, &Except),
    limit: usize,
) -> Done<Outlook> {
    let mut addressed = Vec::new();
    let mut find = connection.prepare_cached(
        "SELECT r.id FROM workflow_runs r WHERE r.messages > 0 AND r.owner = ?1 AND r.standing < 2",
    )?;
    let mut rows = find.query([owner.to_string()])?;
    while addressed.len() < bounds::page(limit)
        && let Some(row) = rows.next()?
    {
        let run = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        addressed.push(RunId(uuid(run)?));
    }
    Ok(Outlook { addressed, wake_at: next_wake(connection, owners, except)? })
}

/// The earliest time of a parked run that nobody who lives holds.
fn next_wake(connection: &Connection, owners: &Owners, except: &Except) -> Done<Option<Timestamp>> {
    let mut alive = BTreeMap::new();
    let mut find = connection.prepare_cached(
        "SELECT owner, wake_at, id FROM workflow_runs \
         WHERE standing = 1 AND standing < 2 AND wake_at IS NOT NULL ORDER BY wake_at",
    )?;
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        let owner: Option<String> = row.get(0)?;
        let held = match owner {
            Some(owner) => is_alive(owners, &mut alive, OwnerId(uuid(&owner)?))?,
            None => false,
        };
        let is_left_out = || -> Done<bool> {
            let run = RunId(uuid(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?);
            Ok(except.contains(&run))
        };
        if !held && (except.is_empty() || !is_left_out()?) {
            return Ok(Some(Timestamp(row.get(1)?)));
        }
    }
    Ok(None)
}

fn is_alive(owners: &Owners, known: &mut BTreeMap<OwnerId, bool>, owner: OwnerId) -> Done<bool> {
    if let Some(alive) = known.get(&owner) {
        return Ok(*alive);
    }
    let alive = owners.is_alive(owner)?;
    known.insert(owner, alive);
    Ok(alive)
}
