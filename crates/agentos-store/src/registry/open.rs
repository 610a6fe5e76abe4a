//! Opening the registry's file: making it, and refusing what is not ours without changing a byte of it.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::RegistryError;

/// Marks the header: the letters `AgRe`.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"AgRe");

const VERSIONS: [&str; 2] = [include_str!("0001.sql"), include_str!("0002.sql")];

/// The version that this program writes.
const VERSION: u32 = 2;

/// How long others are waited for. A convenience must not hold up a run.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Opens the file for writing, and makes it if there is none. Its folder and itself are for this user only.
pub(super) fn writing(path: &Path) -> Result<Connection, RegistryError> {
    make(path).map_err(|source| RegistryError::Io { path: path.to_owned(), source })?;
    let mut connection = connect(path).map_err(|error| refused(path, &error))?;
    let version = version(path, &connection)?;
    if version < VERSION {
        migrate(&mut connection).map_err(|error| refused(path, &error))?;
    }
    Ok(connection)
}

/// Opens the file for reading; none if there is none, or if it is older than version `since`. Makes nothing.
pub(super) fn reading(path: &Path, since: u32) -> Result<Option<Connection>, RegistryError> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RegistryError::Io { path: path.to_owned(), source }),
        Ok(_) => {}
    }
    // Not read-only: what a killed writer left half done is taken back by whoever comes next.
    let connection = connect(path).map_err(|error| refused(path, &error))?;
    // An older one is brought up to date by the next who writes. Versions only add, so what it has can be read.
    Ok((version(path, &connection)? >= since).then_some(connection))
}

pub(super) fn refused(path: &Path, error: &rusqlite::Error) -> RegistryError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => RegistryError::Foreign { path },
        _ => RegistryError::Database { path, reason: error.to_string() },
    }
}

fn make(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // Others may have been faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(|_| ()),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// The version of the schema, 0 if the file is empty, of a file that is ours.
fn version(path: &Path, connection: &Connection) -> Result<u32, RegistryError> {
    let ask = || -> rusqlite::Result<(i32, u32, bool)> {
        // One statement sees one moment: others may be making the tables.
        connection.query_row(
            "SELECT a.application_id, u.user_version, EXISTS (SELECT 1 FROM sqlite_schema) \
             FROM pragma_application_id a, pragma_user_version u",
            (),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
    };
    match ask().map_err(|error| refused(path, &error))? {
        (0, 0, false) => Ok(0),
        (APPLICATION_ID, version, _) if version <= VERSION => Ok(version),
        (APPLICATION_ID, version, _) => {
            Err(RegistryError::Newer { path: path.to_owned(), version, known: VERSION })
        }
        _ => Err(RegistryError::Foreign { path: path.to_owned() }),
    }
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (number, text) in (1_u32..).zip(VERSIONS) {
        if number > from {
            transaction.execute_batch(text)?;
        }
    }
    if from < VERSION {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}
