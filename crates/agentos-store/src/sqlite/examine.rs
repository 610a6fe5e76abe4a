//! Looking a database through: is the file sound, does every log hold together, and are the rows what the logs say?
//!
//! The rows of each run are made again from its log in a database in memory, and compared with those that are kept. So
//! looking changes nothing.

mod rows;

use std::cell::RefCell;

use agentos_core::id::RunId;
use rusqlite::Connection;
use serde::Serialize;
use uuid::Uuid;

use super::SqliteStore;
use super::error::Done;
use super::lock::WriterLock;
use super::memory::Memory;
use super::owner::Owners;
use super::probe::beside;
use super::transaction::Tx;
use super::{connection, migrate, transfer};
use crate::backend::BackendError;
use crate::records::{RecordError, Records as _};

/// Most complaints of SQLite that are shown.
const COMPLAINTS: i64 = 100;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The file itself is damaged.
    File,
    /// A row refers to one that is not there.
    Reference,
    /// A run's log can't be read, or does not hold together.
    Log,
    /// Rows of a run are not what its log says. They can be made again.
    Rows,
    /// A run's row says another number of messages than there are.
    Messages,
    /// Values that no row refers to.
    Values,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// The run, if it is about one.
    pub run: Option<RunId>,
    /// The same for people.
    pub message: String,
}

/// How much there is of what, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Sizes {
    /// The database file.
    pub database: u64,
    /// Its write-ahead log.
    pub wal: u64,
    /// What of the file is free.
    pub free: u64,
    /// The logs of all runs.
    pub log: u64,
    /// Values that stand apart from their rows.
    pub values: u64,
    /// What is kept of artifacts, as their rows say.
    pub artifacts: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Examination {
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// How much there is of what.
    pub sizes: Sizes,
    /// How many runs there are.
    pub runs: u64,
    /// Runs whose owner is dead. They can be resumed, unless they go on in another database.
    pub interrupted: Vec<RunId>,
}

impl SqliteStore {
    /// Looks the database through, as of one moment.
    ///
    /// # Errors
    /// [`BackendError`] if it can't be read at all.
    pub async fn examine(&self) -> Result<Examination, BackendError> {
        let owners = self.inner.owners.clone();
        let found = self.read(move |connection| examine(connection, &owners).map(Ok)).await;
        found.map(|mut found: Examination| {
            let length = |suffix: &str| {
                std::fs::metadata(beside(self.path(), suffix)).map_or(0, |about| about.len())
            };
            found.sizes.database = length("");
            found.sizes.wal = length("-wal");
            found
        })
    }

    /// Mends what was found, if that is safe. Answers whether it was.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn mend(&self, finding: &Finding) -> Result<bool, RecordError> {
        match (finding.kind, finding.run) {
            (FindingKind::Rows, Some(run)) => self.rebuild(run).await.map(|()| true),
            (FindingKind::Messages, _) => {
                self.write(|tx| rows::count_messages(tx).map(|()| Ok::<_, RecordError>(true))).await
            }
            (FindingKind::Values, _) => {
                self.write(|tx| rows::drop_unused(tx).map(|()| Ok::<_, RecordError>(true))).await
            }
            _ => Ok(false),
        }
    }

    /// Gives back to the disk what is free in the file, if nobody is at work in it. Answers with how much that was; none
    /// if somebody is. Blocks.
    ///
    /// # Errors
    /// [`BackendError`].
    pub fn reclaim(&self) -> Result<Option<u64>, BackendError> {
        if !self.inner.owners.living()?.is_empty() {
            return Ok(None);
        }
        Ok(reclaim(self.path())?)
    }
}

fn reclaim(path: &std::path::Path) -> Done<Option<u64>> {
    let io_failed = |error: std::io::Error| super::error::Fault::io("can't lock", path, &error);
    let _lock =
        WriterLock::open(beside(path, ".lock")).and_then(WriterLock::hold).map_err(io_failed)?;
    let length = || {
        ["", "-wal"]
            .iter()
            .filter_map(|suffix| std::fs::metadata(beside(path, suffix)).ok())
            .map(|about| about.len())
            .sum::<u64>()
    };
    let before = length();
    let open = connection::writing(path)?;
    open.execute_batch("VACUUM")?;
    open.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    Ok(Some(before.saturating_sub(length())))
}

fn examine(connection: &Connection, owners: &Owners) -> Done<Examination> {
    let mut found = Examination { findings: complaints(connection)?, ..Examination::default() };
    found.sizes = rows::sizes(connection)?;
    let mut scratch = Scratch::new()?;
    for (run, key) in rows::runs(connection)? {
        found.runs += 1;
        match transfer::give::copy(connection, run) {
            Ok(Ok(copy)) => {
                let differing = scratch.differing(connection, key, &copy)?;
                if !differing.is_empty() {
                    let tables = differing.join(", ");
                    let message = format!("{}: {tables} are not what its log says", copy.run_id());
                    found.findings.push(Finding {
                        kind: FindingKind::Rows,
                        run: Some(run),
                        message,
                    });
                }
            }
            Ok(Err(error)) => found.findings.push(damaged(run, &error.to_string())),
            Err(fault) => found.findings.push(damaged(run, &BackendError::from(fault).to_string())),
        }
    }
    let candidates = transfer::give::candidates(connection, owners)?.into_iter();
    let interrupted = candidates.filter(|run| !run.is_ended && run.has_owner && !run.is_driven);
    found.interrupted = interrupted.map(|candidate| candidate.run).collect();
    found.findings.extend(rows::miscounted(connection)?);
    found.findings.extend(rows::unused(connection)?);
    Ok(found)
}

fn damaged(run: RunId, reason: &str) -> Finding {
    Finding { kind: FindingKind::Log, run: Some(run), message: reason.to_owned() }
}

fn complaints(connection: &Connection) -> Done<Vec<Finding>> {
    let mut found = Vec::new();
    let mut ask = connection.prepare(&format!("PRAGMA integrity_check({COMPLAINTS})"))?;
    for text in ask.query_map((), |row| row.get::<_, String>(0))? {
        match text {
            Ok(text) if text == "ok" => {}
            Ok(message) => found.push(Finding { kind: FindingKind::File, run: None, message }),
            Err(error) => {
                let message = error.to_string();
                found.push(Finding { kind: FindingKind::File, run: None, message });
                break;
            }
        }
    }
    let mut ask =
        connection.prepare("SELECT \"table\", rowid, parent FROM pragma_foreign_key_check")?;
    let rows = ask.query_map((), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, String>(2)?))
    })?;
    for row in rows.take(usize::try_from(COMPLAINTS).unwrap_or(100)) {
        let (table, key, parent) = row?;
        let key = key.map_or_else(String::new, |key| format!(" {key}"));
        let message = format!("{table}{key} refers to a row of {parent} that is not there");
        found.push(Finding { kind: FindingKind::Reference, run: None, message });
    }
    Ok(found)
}

/// A database in memory in which the rows of one run are made again.
struct Scratch {
    connection: Connection,
    owners: Owners,
    memory: RefCell<Memory>,
}

impl Scratch {
    fn new() -> Done<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let owners = Owners::new(std::path::PathBuf::new());
        migrate::migrate(&mut connection, &owners, Uuid::nil())?;
        Ok(Self { connection, owners, memory: RefCell::default() })
    }

    /// The tables in which the rows that are kept are others than those that follow from the log.
    fn differing(
        &mut self,
        kept: &Connection,
        key: i64,
        copy: &crate::transfer::RunCopy,
    ) -> Done<Vec<&'static str>> {
        self.connection.execute_batch("BEGIN")?;
        let tx = Tx { connection: &self.connection, owners: &self.owners, memory: &self.memory };
        let made = transfer::take::insert(&tx, copy)
            .and_then(|made| rows::differing((kept, key), (&self.connection, made)));
        self.connection.execute_batch("ROLLBACK")?;
        self.memory.borrow_mut().clear();
        made
    }
}
