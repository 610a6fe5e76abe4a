//! How a database is read by somebody who may change nothing, not even beside it.
//!
//! While anybody writes there is a write-ahead log with an index beside the file, and reading takes locks in that index.
//! Otherwise everything is in the file; then SQLite is told to leave locks and logs alone, since it would make them. Both
//! can become the other at any moment, so it is decided anew for every question. A question that was asked of the file
//! alone while somebody began to write into it is asked again.
//!
//! Only while a question is asked is a log open whose index may not be written to: meanwhile nobody in this process can
//! write to that file ([`super::together`]).
//!
//! A log without its index can't be read without making that ([`super::recover`]). It is made first, unless the database is to
//! be left as it is.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::connection;
use super::error::{Done, Fault};
use super::lock::FileIdentity;
use super::names::identity_of;
use super::open::OpenError;
use super::probe::{beside, has_bytes};
use super::recover;
use super::together::Looking;
use super::watch::Eyes;
use crate::backend::{BackendError, BackendErrorKind};

/// How often a question is asked again while the file changes under it.
const ATTEMPTS: usize = 10;

/// How long the header of a log is, in bytes.
const LOG_HEADER: u64 = 32;

/// What is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Everything is in the file.
    File { file: FileIdentity, length: u64, changed: (i64, i64) },
    /// Somebody writes, or was killed while writing.
    Log { file: FileIdentity, log: FileIdentity, index: FileIdentity },
}

impl Seen {
    /// None if there is no file.
    pub(super) fn of(path: &Path) -> Done<Option<Self>> {
        let (log_path, index_path) = (beside(path, "-wal"), beside(path, "-shm"));
        loop {
            let (log, index) = (identity_of(&log_path)?, identity_of(&index_path)?);
            let has_log = has_bytes(&log_path);
            let Some(file) = identity_of(path)? else { return Ok(None) };
            if let (Some(log), Some(index)) = (log, index) {
                return Ok(Some(Self::Log { file, log, index }));
            }
            if !has_log && let Ok(found) = fs::metadata(path) {
                let changed = (found.mtime(), found.mtime_nsec());
                return Ok(Some(Self::File { file, length: found.len(), changed }));
            }
            if !recover::settles(path) {
                let reason = "it is not made here".to_owned();
                return Err(Fault::permanent(no_index(path, reason).to_string()));
            }
        }
    }
}

fn no_index(path: &Path, reason: String) -> OpenError {
    OpenError::NoIndex { path: path.to_owned(), reason }
}

/// Whether the database can be looked at in this way.
pub(super) fn check(path: &Path, eyes: Eyes) -> Result<(), OpenError> {
    if recover::lacks_index(path) && !recover::settles(path) {
        let made = match eyes {
            Eyes::Untouched => Err("it is to be left as it is".to_owned()),
            _ => recover::ensure_index(path).map_err(|fault| BackendError::from(fault).message),
        };
        made.map_err(|reason| no_index(path, reason))?;
    }
    match Seen::of(path) {
        Ok(_) => Ok(()),
        Err(fault) => Err(OpenError::Backend { path: path.to_owned(), source: fault.into() }),
    }
}

/// A connection to what is there now.
pub(super) struct View {
    path: PathBuf,
    open: Option<Open>,
    /// Whether the index may be written to, which is more than reading needs as a rule.
    marks: bool,
    /// Whether a log without an index may get one.
    recovers: bool,
    /// Whether the connection stays open in any case. Then nobody in this process can begin to write.
    stays: bool,
}

struct Open {
    connection: Connection,
    seen: Seen,
    /// Whether the index may not be written to.
    is_beside: bool,
}

impl View {
    pub(super) fn new(path: PathBuf, eyes: Eyes) -> Self {
        let (marks, recovers) = (eyes == Eyes::Following, eyes != Eyes::Untouched);
        Self { path, open: None, marks, recovers, stays: false }
    }

    /// One whose connection stays the same as long as the file does: only so it can tell whether others have committed.
    /// Without marks it is for processes that do nothing but look.
    pub(super) fn staying(path: PathBuf, eyes: Eyes) -> Self {
        Self { stays: true, ..Self::new(path, eyes) }
    }

    /// Sees to it that a log has its index. A connection of ours would keep it from being made.
    fn recover(&mut self) {
        if self.recovers && recover::lacks_index(&self.path) {
            self.open = None;
            // Where it can't be made, reading says so.
            let _made = recover::ensure_index(&self.path);
        }
    }

    /// Whether what is there now is another than before.
    pub(super) fn is_other(&mut self) -> Done<bool> {
        self.recover();
        self.current(&Looking::begin()).map(|(_, is_other)| is_other)
    }

    /// The connection to what is there now, and whether that is another than before. While there is nothing the old one
    /// still has everything.
    fn current(&mut self, looking: &Looking) -> Done<(&Connection, bool)> {
        let found = Seen::of(&self.path)?;
        let known = self.open.as_ref().map(|open| open.seen);
        let is_written = matches!(found, Some(Seen::Log { file, .. }) if looking.is_written(file));
        let is_in_the_way = is_written && self.open.as_ref().is_some_and(|open| open.is_beside);
        let is_new =
            known.is_none() || found.is_some_and(|found| Some(found) != known) || is_in_the_way;
        if is_new {
            let seen = found.ok_or_else(|| gone(&self.path))?;
            // What was open goes first: its way to the index would be taken over.
            self.open = None;
            let may_mark = is_written || self.marks || is_bare(&self.path);
            let (connection, is_beside) = match seen {
                Seen::File { .. } => (connection::alone(&self.path), false),
                Seen::Log { .. } if may_mark => (connection::among_writers(&self.path), false),
                Seen::Log { .. } => (connection::beside_writers(&self.path), true),
            };
            self.open = Some(Open { connection: connection?, seen, is_beside });
        }
        let connection = self.open.as_ref().map(|open| &open.connection);
        connection.map(|connection| (connection, is_new)).ok_or_else(|| gone(&self.path))
    }

    /// Asks until what was asked is what was there.
    pub(super) fn ask<T>(&mut self, mut ask: impl FnMut(&Connection) -> Done<T>) -> Done<T> {
        for _ in 0..ATTEMPTS {
            self.recover();
            let answer = self.ask_once(&mut ask);
            let is_in_doubt = matches!(&answer, Err(fault) if fault.is_of_the_file());
            if is_in_doubt {
                self.open = None;
                self.marks = true;
            } else if self.is_as_it_was() {
                return answer;
            }
        }
        let answer = self.ask_once(&mut ask)?;
        if self.is_as_it_was() { Ok(answer) } else { Err(changing(&self.path)) }
    }

    fn ask_once<T>(&mut self, ask: &mut impl FnMut(&Connection) -> Done<T>) -> Done<T> {
        let looking = Looking::begin();
        let answer = self.current(&looking).and_then(|(connection, _)| ask(connection));
        if !self.stays && self.open.as_ref().is_some_and(|open| open.is_beside) {
            self.open = None;
        }
        answer
    }

    /// Only the file alone can change under a question: with a log there are locks.
    fn is_as_it_was(&self) -> bool {
        match &self.open {
            Some(Open { seen: seen @ Seen::File { .. }, .. }) => {
                Seen::of(&self.path).is_ok_and(|found| found.is_none_or(|found| found == *seen))
            }
            _ => true,
        }
    }
}

/// Whether the log has nothing in it but its own header: whoever began it was killed before the first commit. SQLite can't
/// tell from that whether the index belongs to it, and waits ten seconds for somebody to say so.
pub(super) fn is_bare(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() <= LOG_HEADER)
}

fn gone(path: &Path) -> Fault {
    Fault::permanent(format!("{} was removed", path.display()))
}

fn changing(path: &Path) -> Fault {
    let message = format!("{} changes faster than it can be read; ask again", path.display());
    Fault::Store(BackendError::new(BackendErrorKind::Transient, message))
}
