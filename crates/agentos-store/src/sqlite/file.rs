//! The database file under an open writer: is it still there, is it still ours, and how long is its write-ahead log?
//!
//! `git clean -fdx` removes the file while we write into it. Whatever is committed then goes into a file without a name
//! and is lost with the last process. So the name is looked at before every transaction. If it names nothing any more,
//! the file is put back from the open handle, which still has everything; if it names a copy that somebody else put back,
//! we move over to that; if it names anything else, nothing is written and the error says so.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::connection;
use super::error::{Done, Fault};
use super::lock::{FileIdentity, WriterLock};
use super::memory::Memory;
use super::migrate;
use super::open::{Notice, make_folder};
use super::owner::Owners;
use super::probe::{self, Found};
use super::reader::History;
use super::transaction::Tx;
use super::writer::BatchFailure;

/// After this many pages in the write-ahead log the database takes them over, while others go on writing.
const WAL_PAGES: i32 = 4_000;

/// After this many the writers wait until that is done and the log begins anew: 64 MB.
const WAL_PAGES_AT_MOST: i32 = 16_000;

/// How often a file is looked at before it is taken for another.
const LOOKS: usize = 20;

thread_local! {
    /// How many pages the log had after this thread's last commit.
    static PAGES: Cell<i32> = const { Cell::new(0) };
}

/// Somebody to be told when the file had to be put back.
pub(super) type Tell = Box<dyn Fn(Notice) + Send>;

/// The file, open for writing.
pub(super) struct DatabaseFile {
    path: PathBuf,
    identity: Option<FileIdentity>,
    store_id: String,
    connection: Connection,
    lock: WriterLock,
    owners: Owners,
    memory: RefCell<Memory>,
    /// How long the write-ahead log was when it was last taken over.
    pages_taken: i32,
    /// The connection met an error of the file and is not to be trusted.
    is_suspect: bool,
    tell: Tell,
}

impl DatabaseFile {
    pub(super) fn new(
        path: PathBuf,
        connection: Connection,
        lock: WriterLock,
        owners: Owners,
        tell: Tell,
    ) -> Done<Self> {
        let identity = identity_of(&path)?;
        let store_id = migrate::store_id(&connection)?;
        count_pages(&connection);
        let memory = RefCell::default();
        Ok(Self {
            path,
            identity,
            store_id,
            connection,
            lock,
            owners,
            memory,
            pages_taken: 0,
            is_suspect: false,
            tell,
        })
    }

    /// What is in it, for those who read.
    pub(super) fn history(&self) -> History {
        History { file: self.identity, store_id: self.store_id.clone() }
    }

    /// Carries out `act` in one transaction, under the writer lock.
    pub(super) fn transact(
        &mut self,
        act: impl FnOnce(&mut Tx<'_>) -> Done<()>,
    ) -> Result<(), BatchFailure> {
        let Self {
            path,
            identity,
            store_id,
            connection,
            lock,
            owners,
            memory,
            is_suspect,
            tell,
            ..
        } = self;
        let lock_path = path.clone();
        let guard = lock
            .lock()
            .map_err(|error| Fault::io("can't take the writer lock of", &lock_path, &error))?;
        let found = identity_of(path)?;
        if found != *identity {
            let notice = find_again(path, store_id, connection, found)?;
            *identity = identity_of(path)?;
            memory.borrow_mut().clear();
            tell(notice);
        } else if *is_suspect {
            memory.borrow_mut().clear();
            *connection = connection::writing(path)?;
            count_pages(connection);
        }
        *is_suspect = false;
        owners.restore()?;
        let outcome = transact(connection, owners, memory, act);
        guard.ring();
        if let Err((fault, _)) = &outcome {
            memory.borrow_mut().clear();
            *is_suspect = fault.is_of_the_file();
        }
        outcome.map_err(|(fault, is_unknown)| BatchFailure { error: fault.into(), is_unknown })
    }

    /// Moves what the log holds into the database when there is much of it. Failing is no harm: the next time will do.
    pub(super) fn keep_wal_bounded(&mut self) {
        let pages = PAGES.get();
        if pages < self.pages_taken {
            self.pages_taken = 0;
        }
        // While somebody still reads from it the log does not begin anew; then it is not worth trying every time.
        if pages < WAL_PAGES || pages - self.pages_taken < WAL_PAGES / 4 {
            return;
        }
        let moved = if pages < WAL_PAGES_AT_MOST {
            self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))
        } else if let Ok(_guard) = self.lock.lock() {
            self.connection.query_row("PRAGMA wal_checkpoint(RESTART)", (), |_| Ok(()))
        } else {
            Ok(())
        };
        if moved.is_ok() {
            self.pages_taken = pages;
        }
    }
}

fn identity_of(path: &Path) -> Done<Option<FileIdentity>> {
    FileIdentity::of_path(path).map_err(|error| Fault::io("can't look at", path, &error))
}

fn count_pages(connection: &Connection) {
    connection.wal_hook(Some(|_, pages| {
        PAGES.set(pages);
        Ok(())
    }));
}

/// The second part of the error: whether the transaction may have been applied in spite of it.
fn transact(
    connection: &Connection,
    owners: &Owners,
    memory: &RefCell<Memory>,
    act: impl FnOnce(&mut Tx<'_>) -> Done<()>,
) -> Result<(), (Fault, bool)> {
    let not_applied = |fault: Fault| (fault, false);
    run(connection, "BEGIN IMMEDIATE").map_err(not_applied)?;
    let mut tx = Tx { connection, owners, memory };
    let applied =
        migrate::check(connection).and_then(|()| data_version(connection)).and_then(|version| {
            memory.borrow_mut().come_to(version);
            act(&mut tx)
        });
    if let Err(fault) = applied {
        // If even this fails, SQLite has undone it already.
        let _undone = run(connection, "ROLLBACK");
        return Err((fault, false));
    }
    run(connection, "COMMIT").map_err(|fault| {
        let _undone = run(connection, "ROLLBACK");
        let is_unknown = !fault.proves_nothing_applied();
        (fault, is_unknown)
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

/// The path no longer names the file that is open.
fn find_again(
    path: &Path,
    store_id: &str,
    connection: &mut Connection,
    found: Option<FileIdentity>,
) -> Done<Notice> {
    if found.is_none() {
        put_back(path, connection)?;
        *connection = connection::writing(path)?;
        count_pages(connection);
        return Ok(Notice::PutBack { path: path.to_owned() });
    }
    if !holds(path, store_id) {
        return Err(replaced(path));
    }
    *connection = connection::writing(path)?;
    count_pages(connection);
    Ok(Notice::FoundAgain { path: path.to_owned() })
}

/// The path names something that is not this history.
pub(super) fn replaced(path: &Path) -> Fault {
    Fault::permanent(format!(
        "{} was replaced by another file while it was in use; nothing was written to it. Move that file away and try \
         again: this process still has everything and puts it back",
        path.display()
    ))
}

/// Whether the path names a database with this history. It is not opened in earnest before that is known: a log that lies
/// beside it would be replayed into the wrong file.
pub(super) fn holds(path: &Path, store_id: &str) -> bool {
    let is_found = || {
        matches!(probe::probe(path), Ok(Found::Ours))
            && connection::frozen(path)
                .and_then(|connection| migrate::store_id(&connection))
                .is_ok_and(|found| found == store_id)
    };
    // Somebody may be moving pages into the file at this moment, which a look without locks sees in the middle.
    (0..LOOKS).any(|_| is_found())
}

/// Copies what the open handle still holds to where the file was.
fn put_back(path: &Path, connection: &Connection) -> Done<()> {
    let failed = |error: std::io::Error| Fault::io("can't put back", path, &error);
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let copy = probe::beside(path, ".restoring");
    // What an earlier attempt left behind is no copy of anything.
    let _removed = fs::remove_file(&copy);
    connection.backup("main", &copy, None)?;
    File::open(&copy).and_then(|file| file.sync_all()).map_err(failed)?;
    // A log that is left there belongs to the file that is gone, and would be replayed into this one.
    for suffix in ["-wal", "-shm"] {
        let _removed = fs::remove_file(probe::beside(path, suffix));
    }
    fs::rename(&copy, path).map_err(failed)?;
    if let Some(folder) = path.parent() {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(())
}
