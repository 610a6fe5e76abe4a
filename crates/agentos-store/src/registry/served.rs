//! The checkouts that the server shows.
//!
//! They are kept apart from the checkouts that were merely used: those are forgotten when there are too many, and what
//! somebody told the server to show stays until somebody takes it back.

use std::path::PathBuf;

use agentos_core::time::Timestamp;
use rusqlite::{TransactionBehavior, params};
use thiserror::Error;
use uuid::Uuid;

use super::{Registry, RegistryError, bytes_of, id_of, open, path_of};

/// Most checkouts that are served. Each one's databases are watched, so it is a limit on open files too.
pub const SERVED: u32 = 1_000;

/// The version that has the table.
const SINCE: u32 = 2;

/// A checkout that the server shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedProject {
    /// The project's id.
    pub id: Uuid,
    /// Its root. Nobody has looked whether it is still there.
    pub path: PathBuf,
    /// Since when.
    pub added_at: Timestamp,
}

/// Why a checkout is not served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// There are as many as there may be.
    #[error("{SERVED} projects are served already; take one away first")]
    TooMany,
    /// The registry can't be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl Registry {
    /// Has the server show a checkout, from now on and after every start. One that is served already keeps its time and
    /// its place in the list; what was at this path before is served no more. Returns whether it is new.
    ///
    /// # Errors
    /// [`ServeError`]
    pub fn serve_project(&self, project: &ServedProject) -> Result<bool, ServeError> {
        let mut connection = open::writing(&self.path)?;
        let mut write = || -> rusqlite::Result<Option<bool>> {
            let (id, path) = (project.id.to_string(), bytes_of(&project.path));
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(
                "DELETE FROM served_projects WHERE path = ?1 AND id <> ?2",
                params![path, id],
            )?;
            let moved = transaction
                .execute("UPDATE served_projects SET path = ?2 WHERE id = ?1", params![id, path])?;
            if moved == 0 {
                let added = transaction.execute(
                    "INSERT INTO served_projects (id, path, added_at) SELECT ?1, ?2, ?3 \
                     WHERE (SELECT count(*) FROM served_projects) < ?4",
                    params![id, path, project.added_at.0, SERVED],
                )?;
                if added == 0 {
                    return Ok(None);
                }
            }
            transaction.commit()?;
            Ok(Some(moved == 0))
        };
        match write().map_err(|error| open::refused(&self.path, &error))? {
            Some(is_new) => Ok(is_new),
            None => Err(ServeError::TooMany),
        }
    }

    /// Has the server show a checkout no more. Returns whether it did.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn unserve_project(&self, id: Uuid) -> Result<bool, RegistryError> {
        let Some(_known) = open::reading(&self.path, SINCE)? else { return Ok(false) };
        let connection = open::writing(&self.path)?;
        connection
            .execute("DELETE FROM served_projects WHERE id = ?1", [id.to_string()])
            .map(|removed| removed > 0)
            .map_err(|error| open::refused(&self.path, &error))
    }

    /// Every checkout that the server shows, in the order in which they were added.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn served_projects(&self) -> Result<Vec<ServedProject>, RegistryError> {
        self.read(SINCE, |connection| {
            let mut asked = connection
                .prepare("SELECT id, path, added_at FROM served_projects ORDER BY added_at, id")?;
            let found = asked.query_map((), |row| {
                Ok(ServedProject {
                    id: id_of(&row.get::<_, String>(0)?)?,
                    path: path_of(row.get(1)?),
                    added_at: Timestamp(row.get(2)?),
                })
            })?;
            found.collect()
        })
    }
}
