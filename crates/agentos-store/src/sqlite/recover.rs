//! A write-ahead log without its index: `-wal` without `-shm`.
//!
//! A process leaves that which was killed while it closed the database (SQLite removes the index first), and so does a copy of
//! a database in use. Nothing can be read until the index is made, which SQLite does for the first connection that may write.
//!
//! It is made only if no process has the database open. A process whose index was removed by hand still writes by the old one;
//! a second index beside it would let commits overwrite each other.

use std::path::Path;

use super::connection;
use super::error::{Done, Fault};
use super::hung;
use super::lock::WriterLock;
use super::owner::Owners;
use super::probe::{beside, has_bytes};

/// How long a process may take between making a log and its index, or removing them.
const LOOKS: usize = 50;
const LOOK_NS: i64 = 1_000_000;

/// Whether there is a log with something in it, and no index.
pub(super) fn lacks_index(path: &Path) -> bool {
    has_bytes(&beside(path, "-wal")) && !beside(path, "-shm").exists()
}

/// Waits for a log that is just being made or removed to get its index, or to be gone.
pub(super) fn settles(path: &Path) -> bool {
    for _ in 0..LOOKS {
        if !lacks_index(path) {
            return true;
        }
        let length = rustix::time::Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
        let _interrupted = rustix::thread::nanosleep(&length);
    }
    false
}

/// Makes the index of a log that has none, and moves the log into the file. Does nothing where there is an index.
///
/// Takes the writer lock: not to be called by a thread that holds it, nor one that holds a [`Looking`](super::together::Looking).
pub(super) fn ensure_index(path: &Path) -> Done<()> {
    if !lacks_index(path) || settles(path) {
        return Ok(());
    }
    let unlockable = |error| Fault::io("can't take the lock of", path, &error);
    let mut lock = WriterLock::open(beside(path, ".lock")).map_err(unlockable)?;
    let _guard = lock.lock().map_err(unlockable)?;
    // Writers open under the lock, so from here on none can come.
    if !lacks_index(path) {
        return Ok(());
    }
    if is_open(path)? {
        return Err(Fault::permanent("another process has it open, and its index was removed"));
    }
    let connection = connection::reading(path)?;
    // The first read recovers the log; closing the last connection moves it into the file.
    connection.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
    Ok(())
}

/// Whether any process has the database open. Connections to a write-ahead log hold a lock on the file as long as they are
/// open; processes of other containers are known by the locks of their owners.
fn is_open(path: &Path) -> Done<bool> {
    Ok(hung::has_posix_lock(path) || !Owners::new(beside(path, ".owners")).living()?.is_empty())
}
