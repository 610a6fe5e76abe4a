//! Looking at a file without touching it: is it a database of ours, and of which version?
//!
//! Opening a database in WAL mode, even for reading, makes files beside it and may replay what a crash left behind. So
//! SQLite is told that nobody can change the file (`immutable`): then it reads nothing but the file, and makes nothing.
//!
//! The file is not opened in any other way. Whoever closes a descriptor of a file gives up all locks that his process has
//! on it, those of SQLite's open connections among them; only SQLite itself knows when it may close one.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::migrate::{APPLICATION_ID, VERSION};
use super::open::OpenError;

/// No database is shorter than its header.
const HEADER: u64 = 100;

/// What a path holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing, or a file without a byte.
    Nothing,
    /// A database of ours.
    Ours,
}

/// Says what the path holds, or why it can't be used. Changes nothing.
pub(super) fn probe(path: &Path) -> Result<Found, OpenError> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return nothing_there(path),
        Err(error) => return Err(OpenError::io("can't be read", path, &error)),
    };
    if !found.is_file() {
        // Opening one of these may do something, or never return.
        return Err(OpenError::NotAFile {
            path: path.to_owned(),
            kind: kind_of(found.file_type()),
        });
    }
    if found.len() == 0 && !has_log(path) {
        return Ok(Found::Nothing);
    }
    if found.len() == 0 {
        return Err(OpenError::Truncated { path: path.to_owned(), length: 0 });
    }
    if found.len() < HEADER {
        return Err(OpenError::NotADatabase { path: path.to_owned() });
    }
    judge(path, found.len(), Header::load(path)?)
}

/// Says what a file is that had this length, and after that this header.
fn judge(path: &Path, mut length: u64, mut header: Header) -> Result<Found, OpenError> {
    loop {
        match check_header(path, &header) {
            // It has grown since: a process that was leaving has brought its log into it, the first page first.
            Err(OpenError::Truncated { length: now, .. }) if now > length => length = now,
            checked => return checked,
        }
        header = Header::load(path)?;
    }
}

fn kind_of(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// A path that leads nowhere may be made, unless it is a link, or has left a log behind: either would begin a second
/// history.
fn nothing_there(path: &Path) -> Result<Found, OpenError> {
    if let Ok(target) = fs::read_link(path) {
        return Err(OpenError::Dangling { path: path.to_owned(), target });
    }
    let log = LOGS.iter().map(|suffix| beside(path, suffix)).find(|log| has_bytes(log));
    match log {
        Some(log) => Err(OpenError::LogOnly { path: path.to_owned(), log }),
        None => Ok(Found::Nothing),
    }
}

/// What SQLite would replay into whatever file it finds beside it.
const LOGS: [&str; 2] = ["-wal", "-journal"];

/// What the first page says.
struct Header {
    application: u32,
    version: u32,
    page_size: u64,
    /// Fewer pages are there than it says.
    is_cut: bool,
}

impl Header {
    fn load(path: &Path) -> Result<Self, OpenError> {
        Self::read(path).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenError::NotADatabase { path: path.to_owned() },
            _ => OpenError::Backend {
                path: path.to_owned(),
                source: super::error::Fault::from(error).into(),
            },
        })
    }

    fn read(path: &Path) -> rusqlite::Result<Self> {
        let connection = frozen(path)?;
        let ask = |name: &str| connection.pragma_query_value(None, name, |row| row.get(0));
        let is_cut = match ask("application_id") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                // With that SQLite reads what there is.
                connection.pragma_update(None, "writable_schema", true)?;
                true
            }
            asked => asked.map(|_: i64| false)?,
        };
        // They are signed for SQLite.
        let unsigned = |value: i64| u32::from_be_bytes((value as i32).to_be_bytes());
        Ok(Self {
            application: ask("application_id").map(unsigned)?,
            version: ask("user_version").map(unsigned)?,
            page_size: ask("page_size").map(|size: i64| size.unsigned_abs())?,
            is_cut,
        })
    }
}

fn check_header(path: &Path, header: &Header) -> Result<Found, OpenError> {
    if header.application != APPLICATION_ID {
        return Err(OpenError::Foreign { path: path.to_owned(), program: whose(path) });
    }
    let version = header.version;
    if version > VERSION {
        return Err(OpenError::Newer { path: path.to_owned(), version, known: VERSION });
    }
    // With a write-ahead log the file may lawfully be behind its header. It is gone only when everything in it is in the
    // file, so the length is looked at after it, and after the header.
    if has_log(path) {
        return Ok(Found::Ours);
    }
    match fs::metadata(path) {
        Ok(found) if header.is_cut || found.len() % header.page_size.max(1) != 0 => {
            Err(OpenError::Truncated { path: path.to_owned(), length: found.len() })
        }
        _ => Ok(Found::Ours),
    }
}

fn has_log(path: &Path) -> bool {
    LOGS.iter().any(|suffix| has_bytes(&beside(path, suffix)))
}

pub(super) fn has_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

/// The file that SQLite keeps beside a database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The file alone, as if nobody could change it: SQLite leaves everything alone, whatever lies beside it.
pub(super) fn frozen(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path)), flags)
}

/// Which program a foreign database seems to belong to, for people.
fn whose(path: &Path) -> &'static str {
    let tables = frozen(path).and_then(|connection| {
        let mut names =
            connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
        let names = names.query_map((), |row| row.get(0))?;
        names.collect::<Result<Vec<String>, _>>()
    });
    let tables = tables.unwrap_or_default();
    let has = |name: &str| tables.iter().any(|table| table == name);
    if has("checkpoints") && (has("writes") || has("checkpoint_writes")) {
        "LangGraph"
    } else if tables.is_empty() {
        "another program, or nobody yet"
    } else {
        "another program"
    }
}

/// The path as SQLite's URIs want it.
pub(super) fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                text.push(char::from(*byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_has_grown_since_it_was_read_is_not_taken_for_one_that_is_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).expect("a database");
        connection.pragma_update(None, "application_id", APPLICATION_ID).expect("it is ours");
        connection
            .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))")
            .expect("many pages");
        connection.close().expect("it is closed");
        let whole = fs::read(&path).expect("a file");
        fs::write(&path, &whole[..8192]).expect("its first pages");
        let refused = probe(&path).expect_err("it is cut off");
        assert!(matches!(refused, OpenError::Truncated { length: 8192, .. }), "{refused}");
        let header = Header::load(&path).expect("a header");
        fs::write(&path, &whole).expect("the rest");
        assert_eq!(judge(&path, 8192, header).expect("it is whole"), Found::Ours);
    }
}
