//! How connections are set up: one for writing, some for reading.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::{Done, Fault};
use super::older;
use super::probe;
use super::together;

/// How long SQLite itself waits for a lock. Our writers wait for each other elsewhere, so this is for programs that do
/// not know our lock, and for recoveries after a crash.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// The largest that the write-ahead log stays once everything in it is in the database, in bytes.
const WAL_LIMIT: i64 = 64 << 20;

const WRITER_CACHE_KIB: i64 = 64 << 10;
const READER_CACHE_KIB: i64 = 16 << 10;

/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 128;

/// A connection that writes. Makes the file if there is none.
pub(super) fn writing(path: &Path) -> Done<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    together::about_to_write(path);
    connection.busy_timeout(TIMEOUT)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::permanent(
            "its file system can't keep a write-ahead log; name another file",
        ));
    }
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT, |_| Ok(()))?;
    // The writer thread does this itself, after it has answered.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// A connection that can't change what is stored.
pub(super) fn reading(path: &Path) -> Done<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    together::about_to_write(path);
    set_up_for_reading(connection)
}

/// A connection that reads what writers have in their log, and leaves the log's index as it is. As long as it is open
/// nobody else in this process can write to that file ([`together`]).
pub(super) fn beside_writers(path: &Path) -> Done<Connection> {
    set_up_for_reading(read_only(path, "mode=ro&readonly_shm=1")?)
}

/// A connection that reads what writers have in their log, and may put a mark into the log's index: needed where none of
/// the marks in it fits.
pub(super) fn among_writers(path: &Path) -> Done<Connection> {
    set_up_for_reading(read_only(path, "mode=ro")?)
}

/// A connection that reads the file and nothing beside it, and makes nothing.
pub(super) fn alone(path: &Path) -> Done<Connection> {
    set_up_for_reading(frozen(path)?)
}

/// A connection to the file alone, as if nobody could change it: whatever lies beside it is not looked at.
pub(super) fn frozen(path: &Path) -> Done<Connection> {
    Ok(probe::frozen(path)?)
}

fn read_only(path: &Path, mode: &str) -> Done<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let uri = format!("file:{}?{mode}", probe::escaped(path));
    Ok(Connection::open_with_flags(uri, flags)?)
}

fn set_up_for_reading(connection: Connection) -> Done<Connection> {
    connection.busy_timeout(TIMEOUT)?;
    older::show_as_current(&connection)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_forced_to_disk() {
        let folder = tempfile::tempdir().unwrap();
        let connection = writing(&folder.path().join("x.db")).unwrap();
        let ask =
            |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (full, on) = (Ok(2), Ok(1));
        assert_eq!((ask("synchronous"), ask("foreign_keys")), (full, on));
        let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
        assert_eq!(mode, Ok("wal".to_owned()));
    }
}
