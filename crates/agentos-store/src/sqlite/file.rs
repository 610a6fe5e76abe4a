//! The database file under an open writer: one transaction at a time, and how long is its write-ahead log?
//!
//! A transaction is answered for only if the names of the file still stand for what was written (see [`super::restore`]):
//! they are looked at before it and after it.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::connection::TIMEOUT;
use super::error::{Done, Fault};
use super::groups::Groups;
use super::lock::{WriterGuard, WriterLock};
use super::memory::Memory;
use super::migrate;
use super::names::Names;
use super::open::Notice;
use super::owner::Owners;
use super::probe::beside;
use super::reader::History;
use super::restore::{OpenFile, Whereabouts};
use super::transaction::Tx;
use super::writer::BatchFailure;
use crate::backend::{BackendError, BackendErrorKind};
use crate::file_limit::{file_limit, reached};

/// After this many pages in the write-ahead log the database takes them over, while others go on writing.
const WAL_PAGES: i32 = 4_000;

/// After this many the log is to begin anew, if nobody reads from it: 64 MB.
const WAL_PAGES_AT_MOST: i32 = 16_000;

/// How large a page is, in bytes.
const PAGE_BYTES: u64 = 4_096;

thread_local! {
    /// How many pages the log has after the commit that this thread is about: SQLite tells a function, which knows nothing
    /// else.
    static PAGES: Cell<Option<i32>> = const { Cell::new(None) };
}

/// Somebody to be told when the file had to be put back.
pub(super) type Tell = Box<dyn Fn(Notice) + Send>;

/// The file, open for writing.
pub(super) struct DatabaseFile {
    lock: WriterLock,
    inside: Inside,
    /// How many pages the write-ahead log had after the last commit, whichever thread that was on.
    pages: i32,
    /// How long the write-ahead log has to be before the database takes it over the next time.
    next_taking: i32,
    bounds: LogBounds,
}

/// How many pages the write-ahead log may have before something is done about it.
#[derive(Debug, Clone, Copy)]
struct LogBounds {
    /// Before the database takes them over.
    taken_over: i32,
    /// Before it is to begin anew.
    begun_anew: i32,
}

impl LogBounds {
    /// Those that hold where a file may not become larger than this.
    fn within(limit: Option<u64>) -> Self {
        let pages = limit.and_then(|bytes| i32::try_from(bytes / PAGE_BYTES).ok());
        let pages = pages.unwrap_or(i32::MAX);
        Self { taken_over: WAL_PAGES.min(pages / 4), begun_anew: WAL_PAGES_AT_MOST.min(pages / 2) }
    }
}

/// What is only to be touched under the writer lock.
struct Inside {
    open: OpenFile,
    owners: Owners,
    memory: RefCell<Memory>,
    groups: Arc<Groups>,
    tell: Tell,
    /// The write-ahead log has reached the limit of what a file may have. It is to begin anew.
    is_log_full: bool,
}

impl DatabaseFile {
    pub(super) fn new(
        names: Names,
        connection: Connection,
        lock: WriterLock,
        owners: Owners,
        tell: Tell,
    ) -> Done<Self> {
        let open = OpenFile::new(names, connection)?;
        let (memory, groups) = (RefCell::default(), Arc::default());
        let inside = Inside { open, owners, memory, groups, tell, is_log_full: false };
        let bounds = LogBounds::within(file_limit());
        Ok(Self { lock, inside, pages: 0, next_taking: bounds.taken_over, bounds })
    }

    /// What is in it, for those who read.
    pub(super) fn history(&self) -> History {
        let open = &self.inside.open;
        open.names.history(open.store_id.clone())
    }

    /// How many commits shared a transaction.
    pub(super) fn groups(&self) -> Arc<Groups> {
        Arc::clone(&self.inside.groups)
    }

    /// Says what is wrong with the names of the file, if something is.
    pub(super) fn check(&self) -> Done<()> {
        self.inside.open.check()
    }

    /// Carries out `act` in one transaction, under the writer lock.
    pub(super) fn transact(
        &mut self,
        act: impl FnOnce(&mut Tx<'_>) -> Done<()>,
    ) -> Result<(), BatchFailure> {
        let Self { lock, inside, .. } = self;
        let guard = lock.lock().map_err(|error| inside.unlockable(&error))?;
        let outcome = inside.transact(&guard, act);
        drop(guard);
        self.see_pages();
        outcome
    }

    /// The same, unless another process has the writer lock: then nothing is done, and there is no answer.
    pub(super) fn transact_unless_locked(
        &mut self,
        act: impl FnOnce(&mut Tx<'_>) -> Done<()>,
    ) -> Option<Result<(), BatchFailure>> {
        let Self { lock, inside, .. } = self;
        let outcome = match lock.try_lock() {
            Ok(guard) => inside.transact(&guard?, act),
            Err(error) => Err(inside.unlockable(&error).into()),
        };
        self.see_pages();
        Some(outcome)
    }

    /// Sees how long the log has become. A transaction that wrote nothing says nothing about that.
    fn see_pages(&mut self) {
        if let Some(pages) = PAGES.take() {
            self.pages = pages;
            if pages < self.bounds.taken_over {
                self.next_taking = self.bounds.taken_over;
            }
        }
        if std::mem::take(&mut self.inside.is_log_full) {
            (self.pages, self.next_taking) = (self.bounds.begun_anew, self.bounds.taken_over);
        }
    }

    /// Has this asked instead of waiting when SQLite finds somebody in its way.
    #[cfg(test)]
    pub(super) fn meet_busy(&self, ask: fn(i32) -> bool) {
        self.inside.open.connection.busy_handler(Some(ask)).unwrap();
    }

    /// Whether the log was long after the last commit.
    #[cfg(test)]
    pub(super) const fn is_log_long(&self) -> bool {
        self.pages >= WAL_PAGES
    }

    /// Whether the write-ahead log is so long that the database should take it over.
    pub(super) fn wants_taking(&self) -> bool {
        self.pages >= self.next_taking
    }

    /// Moves what the log holds into the database when there is much of it. Failing is no harm: the next time will do.
    ///
    /// Nobody is waited for: whoever still reads from the log would hold up every writer. Then the next attempt is made
    /// when the log has become half as long again.
    pub(super) fn keep_wal_bounded(&mut self) {
        if !self.wants_taking() {
            return;
        }
        let pages = self.pages;
        let has_begun_anew = self.take_over_without_waiting(pages);
        self.next_taking =
            if has_begun_anew { self.bounds.taken_over } else { pages.saturating_add(pages / 2) };
    }

    /// Moves what the log holds into the database now, as far as no reader needs it there. The names of the file are looked at
    /// first: a file that was removed or replaced is left alone.
    pub(super) fn checkpoint(&mut self) {
        if self.check().is_ok() {
            self.take_over_without_waiting(0);
        }
    }

    fn take_over_without_waiting(&mut self, pages: i32) -> bool {
        // If that can't be set, it is not tried.
        let taken = self.inside.open.connection.busy_handler(None).map(|()| self.take_over(pages));
        let _patient_again = self.inside.open.connection.busy_timeout(TIMEOUT);
        matches!(taken, Ok(true))
    }

    /// Whether the log begins anew.
    fn take_over(&mut self, pages: i32) -> bool {
        let checkpoint = |connection: &Connection, mode: &str| {
            let sql = format!("PRAGMA wal_checkpoint({mode})");
            connection.query_row(&sql, (), |row| row.get::<_, i64>(0)).is_ok_and(|busy| busy == 0)
        };
        // Most of the work is done while others write.
        let connection = &self.inside.open.connection;
        checkpoint(connection, "PASSIVE");
        if pages < self.bounds.begun_anew {
            return false;
        }
        self.lock.lock().is_ok_and(|_guard| checkpoint(connection, "RESTART"))
    }
}

impl Inside {
    fn transact(
        &mut self,
        guard: &WriterGuard<'_>,
        act: impl FnOnce(&mut Tx<'_>) -> Done<()>,
    ) -> Result<(), BatchFailure> {
        let Self { open, owners, memory, groups, tell, is_log_full } = self;
        settle(open, memory, tell)?;
        owners.restore()?;
        memory.borrow_mut().take_given();
        let outcome = transact(&open.connection, owners, memory, act).and_then(|()| {
            // Whatever was removed meanwhile has taken this commit with it, unless it can be put back.
            settle(open, memory, tell)
                .map_err(|fault| Failed { is_unknown: true, ..Failed::before(fault) })
        });
        guard.ring();
        if outcome.is_ok() {
            groups.add(memory.borrow_mut().take_given());
        }
        outcome.map_err(|failed| {
            memory.borrow_mut().clear();
            if let Some(error) = log_at_limit(&failed.fault, open.names.path()) {
                *is_log_full = true;
                return BatchFailure { error, is_unknown: false, is_everybodys: false };
            }
            open.is_suspect |= failed.fault.is_of_the_file();
            BatchFailure {
                error: failed.fault.into(),
                is_unknown: failed.is_unknown,
                is_everybodys: failed.is_everybodys,
            }
        })
    }

    fn unlockable(&self, error: &std::io::Error) -> Fault {
        Fault::io("can't take the writer lock of", self.open.names.path(), error)
    }
}

/// Sees to it that the names stand for what is open, or says why not.
fn settle(open: &mut OpenFile, memory: &RefCell<Memory>, tell: &Tell) -> Done<()> {
    match open.find()? {
        Whereabouts::Same => return Ok(()),
        Whereabouts::Reopened => memory.borrow_mut().clear(),
        Whereabouts::Other(notice) => {
            memory.borrow_mut().clear();
            tell(notice);
        }
    }
    Ok(())
}

/// Whether a transaction failed because the write-ahead log may not become larger (`ulimit -f`). It is written from one end to
/// the other, and the mark that a transaction is whole comes last: nothing of this one is applied.
pub(super) fn log_at_limit(fault: &Fault, path: &Path) -> Option<BackendError> {
    let limit = file_limit().filter(|_| fault.is_failed_write())?;
    let log = beside(path, "-wal");
    let is_reached = fs::metadata(&log).is_ok_and(|found| found.len() >= limit);
    is_reached.then(|| BackendError::new(BackendErrorKind::Permanent, reached(&log, limit)))
}

pub(super) fn count_pages(connection: &Connection) {
    connection.wal_hook(Some(|_, pages| {
        PAGES.set(Some(pages));
        Ok(())
    }));
}

/// Why a transaction came to nothing.
struct Failed {
    fault: Fault,
    /// Whether it may have been applied in spite of it.
    is_unknown: bool,
    /// Whether it has nothing to do with what was to be done, so that doing a part of it would fail as well.
    is_everybodys: bool,
}

impl Failed {
    const fn before(fault: Fault) -> Self {
        Self { fault, is_unknown: false, is_everybodys: true }
    }
}

fn transact(
    connection: &Connection,
    owners: &Owners,
    memory: &RefCell<Memory>,
    act: impl FnOnce(&mut Tx<'_>) -> Done<()>,
) -> Result<(), Failed> {
    PAGES.set(None);
    run(connection, "BEGIN IMMEDIATE").map_err(Failed::before)?;
    let undo = |failed| {
        // If even this fails, SQLite has undone it already.
        let _undone = run(connection, "ROLLBACK");
        failed
    };
    let version = migrate::check(connection).and_then(|()| data_version(connection));
    memory.borrow_mut().come_to(version.map_err(|fault| undo(Failed::before(fault)))?);
    let mut tx = Tx { connection, owners, memory };
    let known = |fault| Failed { fault, is_unknown: false, is_everybodys: false };
    act(&mut tx).map_err(|fault| undo(known(fault)))?;
    run(connection, "COMMIT").map_err(|fault| {
        let is_unknown = !fault.proves_nothing_applied();
        undo(Failed { is_unknown, ..known(fault) })
    })
}

fn data_version(connection: &Connection) -> Done<i64> {
    let mut ask = connection.prepare_cached("PRAGMA data_version")?;
    Ok(ask.query_row((), |row| row.get(0))?)
}

fn run(connection: &Connection, sql: &str) -> Done<()> {
    connection.prepare_cached(sql)?.execute(())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::sqlite::open::Location;

    /// How often SQLite was about to wait for somebody.
    static WAITS: AtomicUsize = AtomicUsize::new(0);

    fn open(folder: &Path) -> (PathBuf, DatabaseFile) {
        let path = folder.join("x.db");
        let (mut location, found) = Location::find(&path).unwrap();
        let file = location.open(found, Uuid::from_u128(1), Box::new(|_| ())).unwrap();
        (path, file)
    }

    #[test]
    fn no_writer_waits_for_a_reader_to_shorten_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut file) = open(folder.path());
        file.meet_busy(|_| {
            WAITS.fetch_add(1, Ordering::Relaxed);
            false
        });
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM store").unwrap();
        let change = |tx: &mut Tx<'_>| {
            tx.connection
                .execute_batch("CREATE TABLE more (x); DROP TABLE more")
                .map_err(Fault::from)
        };
        file.transact(change).unwrap();
        file.pages = WAL_PAGES_AT_MOST;
        file.keep_wal_bounded();
        assert_eq!(WAITS.load(Ordering::Relaxed), 0, "the reader is not waited for");
        assert_eq!(file.next_taking, WAL_PAGES_AT_MOST / 2 * 3, "and is not met again soon");
        let timeout: u128 = file
            .inside
            .open
            .connection
            .pragma_query_value(None, "busy_timeout", |row| row.get::<_, u32>(0))
            .unwrap()
            .into();
        assert_eq!(timeout, TIMEOUT.as_millis(), "others are waited for as before");
        reader.execute_batch("COMMIT").unwrap();
        file.pages = file.next_taking;
        file.keep_wal_bounded();
        assert_eq!(file.next_taking, WAL_PAGES, "the log begins anew");
        file.transact(change).unwrap();
        assert!(file.pages < 10, "{} pages", file.pages);
    }

    #[test]
    fn a_transaction_that_cannot_begin_is_the_failure_of_all_its_work() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut file) = open(folder.path());
        file.meet_busy(|_| false);
        let other = Connection::open(path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let begun = Cell::new(false);
        let failure = file
            .transact(|_| {
                begun.set(true);
                Ok(())
            })
            .unwrap_err();
        assert!(failure.is_everybodys && !failure.is_unknown && !begun.get(), "{failure:?}");
        other.execute_batch("ROLLBACK").unwrap();
        let failure = file.transact(|_| Err(Fault::permanent("one of them"))).unwrap_err();
        assert!(!failure.is_everybodys && !failure.is_unknown, "{failure:?}");
        file.transact(|_| Ok(())).unwrap();
    }

    #[test]
    fn nobody_else_begins_to_write_while_a_transaction_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut file) = open(folder.path());
        let other = Connection::open(path).unwrap();
        other.busy_timeout(Duration::ZERO).unwrap();
        file.transact(|_| {
            assert!(other.execute_batch("BEGIN IMMEDIATE").is_err(), "nothing is written yet");
            Ok(())
        })
        .unwrap();
        other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
    }

    #[test]
    fn whoever_has_committed_rings() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut file) = open(folder.path());
        let lock = beside(&path, ".lock");
        assert_eq!(fs::read(&lock).unwrap(), b"");
        file.transact(|_| Ok(())).unwrap();
        assert_eq!(fs::read(&lock).unwrap(), b"\n");
    }

    #[test]
    fn it_is_not_known_what_became_of_a_commit_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let (_, mut file) = open(folder.path());
        let change = |tx: &mut Tx<'_>| {
            tx.connection.execute_batch("CREATE TABLE more (x)").map_err(Fault::from)
        };
        file.inside.open.connection.commit_hook(Some(|| true)).unwrap();
        let failure = file.transact(change).unwrap_err();
        assert!(failure.is_unknown && !failure.is_everybodys, "{failure:?}");
        file.inside.open.connection.commit_hook(None::<fn() -> bool>).unwrap();
        file.transact(change).unwrap();
    }

    #[test]
    fn a_commit_whose_file_was_removed_meanwhile_is_put_back_before_it_is_answered_for() {
        let folder = tempfile::tempdir().unwrap();
        for removed in [&["", "-wal", "-shm"][..], &["-wal"]] {
            let (path, mut file) = open(folder.path());
            let table = format!("more{}", removed.len());
            file.transact(|tx| {
                for suffix in removed {
                    fs::remove_file(beside(&path, suffix)).unwrap();
                }
                let sql = format!("CREATE TABLE {table} (x)");
                tx.connection.execute_batch(&sql).map_err(Fault::from)
            })
            .unwrap();
            let found = Connection::open(&path).unwrap();
            found.execute_batch(&format!("SELECT * FROM {table}")).unwrap();
        }
    }
}
