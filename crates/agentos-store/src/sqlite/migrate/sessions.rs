//! Sessions of runs that were made out of other runs: which of them those had, as the logs say it.
//!
//! When a session ended does not tell. A run that goes on under another source keeps answers that it has not asked for yet, and
//! so does a run that is made out of it: it may ask for them long after it was created, and they are the other run's all the
//! same.

use std::collections::BTreeMap;

use agentos_core::codec::{self, Chunk};
use agentos_core::id::RunId;
use agentos_core::path::OperationId;
use agentos_core::standing::Standing;
use rusqlite::Connection;

use crate::ids::{Of, row_id};
use crate::projection::Projection;
use crate::sqlite::error::Done;
use crate::sqlite::query::uuid_at;
use crate::sqlite::transfer::log_of;

/// What a log says about a session.
#[derive(Debug, Default)]
struct Session {
    started_at: Option<i64>,
    inherited: bool,
}

/// Marks the sessions of every fork and retry whose log can be read. In the others they stay as they are: `db check` tells
/// of damaged logs.
pub(super) fn tell_apart(connection: &Connection) -> Done<()> {
    const UPDATE: &str = "UPDATE agent_sessions SET inherited = ?2, started_at = coalesce(?3, started_at), \
        duration = max(0, CAST(completed_at - coalesce(?3, started_at) AS INTEGER)) WHERE id = ?1";
    for (run, key) in forks(connection)? {
        let Ok(log) = log_of(connection, key) else { continue };
        let chunks: Result<Vec<Chunk>, _> =
            log.iter().map(|(_, text)| codec::decode(text)).collect();
        let Ok(chunks) = chunks else { continue };
        for (operation, session) in sessions(&chunks) {
            let id = row_id(run, Of::Session(operation.as_str())).to_string();
            let Session { started_at, inherited } = session;
            connection.prepare_cached(UPDATE)?.execute((id, inherited, started_at))?;
        }
    }
    Ok(())
}

fn forks(connection: &Connection) -> Done<Vec<(RunId, i64)>> {
    let mut read =
        connection.prepare("SELECT id, key FROM workflow_runs WHERE forked_from IS NOT NULL")?;
    let mut rows = read.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(run) = uuid_at(row, 0) else { continue };
        found.push((RunId(run), row.get(1)?));
    }
    Ok(found)
}

fn sessions(chunks: &[Chunk]) -> BTreeMap<OperationId, Session> {
    let mut fold = Projection::default();
    let mut found: BTreeMap<OperationId, Session> = BTreeMap::new();
    for chunk in chunks {
        let changes = fold.apply(chunk, Standing::Working { wake_at: None });
        for ((_, operation), patch) in changes.sessions {
            let session = found.entry(operation).or_default();
            if let Some(new) = patch.new {
                *session = Session { started_at: Some(new.at.0), inherited: false };
            }
            session.inherited |= patch.inherited;
            session.started_at = patch.restarted_at.map(|at| at.0).or(session.started_at);
        }
    }
    found
}
