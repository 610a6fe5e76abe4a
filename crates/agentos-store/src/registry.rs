//! What this user has used: checkouts, their repositories, and the databases of their runs; and what the server is
//! trusted with: the projects that it shows, and the tokens that let others in.
//!
//! A small database of its own, one for each user. To runs it is a convenience: nothing of theirs is decided by it, and
//! what was used is noted again the next time. So whoever can't note that shows the error as a warning and goes on.
//! Only the server depends on it; without it, no token lets anybody in.
//! It is opened for each verb and for no longer, reading makes no file, and a note that says nothing new writes nothing.
//!
//! There is no write-ahead log here: with one, reading would leave files behind.

mod open;
mod served;
mod tokens;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use thiserror::Error;
use uuid::Uuid;

pub use self::served::{SERVED, ServeError, ServedProject};
pub use self::tokens::{AddTokenError, KnownToken, Scope, TOKENS, TokenHash};

/// Most checkouts that are remembered; the one that was used longest ago is forgotten first.
pub const PROJECTS: u32 = 10_000;

/// Most databases that are remembered of one checkout.
pub const DATABASES: u32 = 100;

/// A note that says only that something was used again is written at most this often, in milliseconds.
const FRESH_MS: i64 = 60 * 60 * 1_000;

/// Why the registry could not be used. Nobody's run depends on it.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The file system refused.
    #[error("the registry {} can't be used: {source}", path.display())]
    Io {
        /// The file or its folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is not a registry of AgentOS; move it away, and a new one is made", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error(
        "the registry {} has version {version} and this program knows versions up to {known}; use the newer program",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The latest that this program knows.
        known: u32,
    },
    /// SQLite refused: it is locked, damaged, read-only, or the disk is full.
    #[error("the registry {} can't be used: {reason}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
}

/// A checkout that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownProject {
    /// The project's id.
    pub id: Uuid,
    /// Its root. Nobody has looked whether it is still there.
    pub path: PathBuf,
    /// The git directory that makes checkouts one repository; none outside of repositories.
    pub repository: Option<PathBuf>,
    /// `main`, or the id of the worktree or workspace.
    pub worktree_id: String,
    /// When it was used, to the hour.
    pub used_at: Timestamp,
}

/// A file that runs of a checkout were kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDatabase {
    /// The file. Nobody has looked whether it is still there.
    pub path: PathBuf,
    /// The checkout.
    pub project: KnownProject,
}

/// The registry in a file that may not be there yet.
#[derive(Debug, Clone)]
pub struct Registry {
    path: PathBuf,
}

impl Registry {
    /// The registry in this file. Nothing is opened yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes that a checkout was used, with the file of its runs if they are in one.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn note_project(
        &self,
        project: &KnownProject,
        database: Option<&Path>,
    ) -> Result<(), RegistryError> {
        let mut connection = open::writing(&self.path)?;
        note(&mut connection, project, database).map_err(|error| open::refused(&self.path, &error))
    }

    /// Every checkout that is remembered, the one that was used last first.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn projects(&self) -> Result<Vec<KnownProject>, RegistryError> {
        self.read(1, |connection| {
            let mut asked = connection.prepare(
                "SELECT id, path, repository, worktree_id, used_at FROM projects ORDER BY used_at DESC, path",
            )?;
            let found = asked.query_map((), project_of)?;
            found.collect()
        })
    }

    /// Every file that runs were kept in, with the checkout that they belong to: of one repository, or of all.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn databases(
        &self,
        repository: Option<&Path>,
    ) -> Result<Vec<KnownDatabase>, RegistryError> {
        self.read(1, |connection| {
            let mut asked = connection.prepare(
                "SELECT p.id, p.path, p.repository, p.worktree_id, p.used_at, d.path \
                 FROM databases d JOIN projects p ON p.id = d.project_id \
                 WHERE ?1 IS NULL OR p.repository = ?1 ORDER BY p.path, d.path",
            )?;
            let found = asked.query_map([repository.map(bytes_of)], |row| {
                Ok(KnownDatabase { path: path_of(row.get(5)?), project: project_of(row)? })
            })?;
            found.collect()
        })
    }

    /// Every file that checkouts of this repository have kept runs in. Nobody has looked whether it is still there.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn databases_of(&self, repository: &Path) -> Result<Vec<PathBuf>, RegistryError> {
        self.read(1, |connection| {
            let mut asked = connection.prepare(
                "SELECT DISTINCT d.path FROM databases d JOIN projects p ON p.id = d.project_id \
                 WHERE p.repository = ?1 ORDER BY d.path",
            )?;
            let found = asked.query_map([bytes_of(repository)], |row| row.get(0).map(path_of))?;
            found.collect()
        })
    }

    /// Asks a file that has the tables of version `since`; an older one has nothing to say.
    fn read<T: Default>(
        &self,
        since: u32,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, RegistryError> {
        match open::reading(&self.path, since)? {
            Some(connection) => ask(&connection).map_err(|error| open::refused(&self.path, &error)),
            None => Ok(T::default()),
        }
    }
}

fn note(
    connection: &mut Connection,
    project: &KnownProject,
    database: Option<&Path>,
) -> rusqlite::Result<()> {
    if is_known(connection, project, database)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (id, path) = (project.id.to_string(), bytes_of(&project.path));
    // Whatever was at this path before is gone.
    transaction.execute("DELETE FROM projects WHERE path = ?1 AND id <> ?2", params![path, id])?;
    transaction.execute(
        "INSERT INTO projects (id, path, repository, worktree_id, used_at) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (id) DO UPDATE SET path = ?2, repository = ?3, worktree_id = ?4, used_at = max(used_at, ?5)",
        params![
            id,
            path,
            project.repository.as_deref().map(bytes_of),
            project.worktree_id,
            project.used_at.0
        ],
    )?;
    if let Some(database) = database {
        transaction.execute(
            "INSERT INTO databases (project_id, path, used_at) VALUES (?1, ?2, ?3) \
             ON CONFLICT (project_id, path) DO UPDATE SET used_at = max(used_at, ?3)",
            params![id, bytes_of(database), project.used_at.0],
        )?;
    }
    forget(&transaction, &id)?;
    transaction.commit()
}

/// Whether all of it is noted, and not long ago.
fn is_known(
    connection: &Connection,
    project: &KnownProject,
    database: Option<&Path>,
) -> rusqlite::Result<bool> {
    let fresh = project.used_at.0.saturating_sub(FRESH_MS);
    let known: Option<bool> = connection
        .query_row(
            "SELECT ?6 IS NULL OR EXISTS \
                 (SELECT 1 FROM databases d WHERE d.project_id = p.id AND d.path = ?6 AND d.used_at > ?5) \
             FROM projects p \
             WHERE p.id = ?1 AND p.path = ?2 AND p.repository IS ?3 AND p.worktree_id = ?4 AND p.used_at > ?5",
            params![
                project.id.to_string(),
                bytes_of(&project.path),
                project.repository.as_deref().map(bytes_of),
                project.worktree_id,
                fresh,
                database.map(bytes_of)
            ],
            |row| row.get(0),
        )
        .optional()?;
    Ok(known == Some(true))
}

/// Forgets what was used longest ago, beyond the limits.
fn forget(connection: &Connection, project: &str) -> rusqlite::Result<()> {
    connection.execute(
        "DELETE FROM projects WHERE id IN (SELECT id FROM projects ORDER BY used_at DESC, id LIMIT -1 OFFSET ?1)",
        [PROJECTS],
    )?;
    connection.execute(
        "DELETE FROM databases WHERE project_id = ?1 AND path IN \
             (SELECT path FROM databases WHERE project_id = ?1 ORDER BY used_at DESC, path LIMIT -1 OFFSET ?2)",
        params![project, DATABASES],
    )?;
    Ok(())
}

fn project_of(row: &Row<'_>) -> rusqlite::Result<KnownProject> {
    Ok(KnownProject {
        id: id_of(&row.get::<_, String>(0)?)?,
        path: path_of(row.get(1)?),
        repository: row.get::<_, Option<Vec<u8>>>(2)?.map(path_of),
        worktree_id: row.get(3)?,
        used_at: Timestamp(row.get(4)?),
    })
}

fn id_of(text: &str) -> rusqlite::Result<Uuid> {
    text.parse().map_err(|error: uuid::Error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into())
    })
}

fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&bytes))
}
