//! Finding the file again after its name was taken away: putting it back, moving over, or saving what only we have.
//!
//! `git clean -fdx` removes the file while we write into it. Whatever is committed then goes into a file without a name
//! and is lost with the last process. So the names are looked at before every transaction, and again before it is answered
//! for. What names nothing any more is put back from the open handle, which still has everything; if the name stands for
//! a copy that somebody else put back, we move over to that; if it stands for anything else, nothing is written, what we
//! have is written beside it, and the error says so. A file that was moved is left alone: it still has everything.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::connection;
use super::error::{Done, Fault};
use super::file::count_pages;
use super::migrate;
use super::names::{Fate, Names};
use super::open::{Notice, make_folder};
use super::probe::{self, Found, beside};
use super::tail;
use crate::backend::{BackendError, BackendErrorKind};

/// How often a file is looked at before it is taken for another.
const LOOKS: usize = 20;

/// Most copies that are kept beside a file.
const RESCUES: u32 = 1_000;

/// A database that is open for writing, with its names.
pub(super) struct OpenFile {
    pub(super) names: Names,
    pub(super) connection: Connection,
    pub(super) store_id: String,
    /// The connection met an error of the file and is not to be trusted.
    pub(super) is_suspect: bool,
    /// Where everything was written that only this process had.
    rescued: Option<PathBuf>,
}

/// How it was found.
pub(super) enum Whereabouts {
    /// As it was.
    Same,
    /// The same, with a new connection.
    Reopened,
    /// Otherwise.
    Other(Notice),
}

impl OpenFile {
    pub(super) fn new(names: Names, connection: Connection) -> Done<Self> {
        let store_id = migrate::store_id(&connection)?;
        count_pages(&connection);
        Ok(Self { names, connection, store_id, is_suspect: false, rescued: None })
    }

    /// Makes sure that what is written will be found under the name of the file.
    pub(super) fn find(&mut self) -> Done<Whereabouts> {
        let fate = self.names.fate()?;
        if fate == Fate::AsBefore && !self.is_suspect {
            return Ok(Whereabouts::Same);
        }
        let path = self.names.path().to_owned();
        match fate {
            Fate::AsBefore => {
                self.reopen()?;
                Ok(Whereabouts::Reopened)
            }
            Fate::Removed | Fate::LogRemoved => {
                put_back(&path, &self.connection)?;
                self.reopen()?;
                Ok(Whereabouts::Other(Notice::PutBack { path }))
            }
            Fate::Moved { to } => Err(moved(&path, to.as_deref())),
            Fate::Replaced { .. } if path.is_symlink() => Err(Fault::permanent(replaced(&path))),
            Fate::Replaced { lives_on } => {
                if self.was_put_back(&path)? {
                    self.reopen()?;
                    return Ok(Whereabouts::Other(Notice::FoundAgain { path }));
                }
                Err(if lives_on { moved(&path, None) } else { self.rescue(&replaced(&path)) })
            }
            Fate::LogReplaced => Err(self.rescue(&log_replaced(&path))),
        }
    }

    /// Says what is wrong with the names, if something is; nothing is changed.
    pub(super) fn check(&self) -> Done<()> {
        let path = self.names.path();
        match self.names.fate()? {
            Fate::AsBefore => Ok(()),
            Fate::Removed | Fate::LogRemoved => Err(Fault::Store(BackendError::new(
                BackendErrorKind::Transient,
                format!(
                    "{} was removed while it was in use; whoever writes next puts it back",
                    path.display()
                ),
            ))),
            Fate::Moved { to } => Err(moved(path, to.as_deref())),
            Fate::Replaced { .. } if path.is_symlink() => Err(Fault::permanent(replaced(path))),
            Fate::Replaced { .. } if !self.names.has_own_log()? && holds(path, &self.store_id) => {
                Ok(())
            }
            Fate::Replaced { lives_on: true } => Err(moved(path, None)),
            Fate::Replaced { lives_on: false } => Err(Fault::permanent(replaced(path))),
            Fate::LogReplaced => Err(Fault::permanent(log_replaced(path))),
        }
    }

    /// Whether the path names a copy that somebody has made of what we have. An old copy of the same history is none: it
    /// lacks what was answered for since. And whoever puts a copy there removes the log, which does not belong to it.
    fn was_put_back(&self, path: &Path) -> Done<bool> {
        if self.names.has_own_log()? || !holds(path, &self.store_id) {
            return Ok(false);
        }
        let found = tail::last_position(&connection::writing(path)?)?;
        Ok(found >= tail::last_position(&self.connection)?)
    }

    fn reopen(&mut self) -> Done<()> {
        let path = self.names.path().to_owned();
        let connection = connection::writing(&path)?;
        self.names = Names::of(&path)?;
        self.connection = connection;
        self.is_suspect = false;
        self.rescued = None;
        count_pages(&self.connection);
        Ok(())
    }

    /// Writes what only this process has to a file of its own, once, and says where.
    fn rescue(&mut self, why: &str) -> Fault {
        if self.rescued.is_none() {
            match rescue(self.names.path(), &self.connection) {
                Ok(copy) => self.rescued = Some(copy),
                Err(fault) => {
                    let error = BackendError::from(fault);
                    return Fault::permanent(format!(
                        "{why}. A copy of it could not be written ({error}): do not end this process before that"
                    ));
                }
            }
        }
        let copy = self.rescued.as_deref().unwrap_or(Path::new("")).display();
        Fault::permanent(format!("{why}. A copy of it is in {copy}"))
    }
}

/// The path names something that is not this history.
pub(super) fn replaced(path: &Path) -> String {
    if path.is_symlink() {
        return linked(path);
    }
    format!(
        "{} was replaced by another file while it was in use; nothing was written to it. Move that file away and try \
         again: this process still has everything and puts it back",
        path.display()
    )
}

fn linked(path: &Path) -> String {
    format!(
        "{} was linked to another database while it was in use; nothing was written. Start it again: it will use that one",
        path.display()
    )
}

fn log_replaced(path: &Path) -> String {
    format!(
        "the write-ahead log of {} was removed while it was in use, and another program has begun a new one; nothing \
         was written. What this process has does not fit to that any more",
        path.display()
    )
}

fn moved(path: &Path, to: Option<&Path>) -> Fault {
    let to = to.map(|to| format!(" to {}", to.display())).unwrap_or_default();
    Fault::permanent(format!(
        "{} was moved{to} while it was in use; nothing was written, and no second copy was made. Move it back and try \
         again, or end this program and use it where it is now, with its -wal beside it",
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
    let failed = |error: io::Error| Fault::io("can't put back", path, &error);
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let copy = copy_of(path, connection)?;
    // A log that is left there belongs to the file that is gone, and would be replayed into this one. All of it is in the
    // copy.
    for suffix in ["-wal", "-shm"] {
        remove_if_there(&beside(path, suffix)).map_err(failed)?;
    }
    fs::rename(&copy, path).map_err(failed)?;
    sync_folder(path).map_err(failed)
}

/// Copies what the open handle holds to a name that nothing has yet.
fn rescue(path: &Path, connection: &Connection) -> Done<PathBuf> {
    let failed = |error: io::Error| Fault::io("can't write a copy of", path, &error);
    let copy = copy_of(path, connection)?;
    for number in 1..=RESCUES {
        let rescued = beside(path, &format!(".rescued-{number}"));
        // A link is made only where nothing is.
        match fs::hard_link(&copy, &rescued) {
            Ok(()) => {
                fs::remove_file(&copy).map_err(failed)?;
                sync_folder(path).map_err(failed)?;
                return Ok(rescued);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(Fault::permanent(format!("there are {RESCUES} copies of {} already", path.display())))
}

/// A whole and sound copy of what the handle holds, on disk, under a name for unfinished things.
fn copy_of(path: &Path, connection: &Connection) -> Done<PathBuf> {
    let failed = |error: io::Error| Fault::io("can't write a copy of", path, &error);
    let copy = beside(path, ".restoring");
    // What an earlier attempt left behind is no copy of anything.
    for suffix in ["", "-wal", "-shm", "-journal"] {
        remove_if_there(&beside(&copy, suffix)).map_err(failed)?;
    }
    connection.backup("main", &copy, None)?;
    let verdict: String =
        connection::frozen(&copy)?.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Fault::permanent(format!(
            "what is open of {} is not whole ({verdict}), so it was not put back",
            path.display()
        )));
    }
    File::open(&copy).and_then(|file| file.sync_all()).map_err(failed)?;
    Ok(copy)
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a change of names in the folder of a file durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder).and_then(|folder| folder.sync_all()),
        None => Ok(()),
    }
}
