//! Looking at a file without touching it: is it a database of ours, and of which version?
//!
//! SQLite itself is no way to find out. Opening a database in WAL mode, even for reading, makes files beside it and may
//! replay what a crash left behind. So the header is read as bytes, and only a file that calls itself ours is opened.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::migrate::{APPLICATION_ID, VERSION};
use super::open::OpenError;

/// What stands in the first hundred bytes of every SQLite database.
const HEADER: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

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
    let failed = |error: io::Error| OpenError::io("can't be read", path, &error);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return nothing_there(path),
        Err(error) => return Err(failed(error)),
    };
    let found = file.metadata().map_err(failed)?;
    if found.is_dir() {
        return Err(OpenError::NotADatabase { path: path.to_owned() });
    }
    if found.len() == 0 {
        return Ok(Found::Nothing);
    }
    let mut header = [0; HEADER];
    match file.read_exact(&mut header) {
        Ok(()) if header.starts_with(MAGIC) => {}
        Ok(()) => return Err(OpenError::NotADatabase { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(OpenError::NotADatabase { path: path.to_owned() });
        }
        Err(error) => return Err(failed(error)),
    }
    drop(file);
    check_header(path, &header)
}

/// A path that leads nowhere may be made, unless it is a link: that would begin a second history at its end.
fn nothing_there(path: &Path) -> Result<Found, OpenError> {
    match fs::read_link(path) {
        Ok(target) => Err(OpenError::Dangling { path: path.to_owned(), target }),
        Err(_) => Ok(Found::Nothing),
    }
}

fn check_header(path: &Path, header: &[u8; HEADER]) -> Result<Found, OpenError> {
    let application = number(header, 68);
    if application != APPLICATION_ID {
        return Err(OpenError::Foreign { path: path.to_owned(), program: whose(path) });
    }
    let version = number(header, 60);
    if version > VERSION {
        return Err(OpenError::Newer { path: path.to_owned(), version, known: VERSION });
    }
    // With a write-ahead log the file may lawfully be behind its header. It is gone only when everything in it is in the
    // file, so the length is looked at after it, and after the header.
    if has_wal(path) {
        return Ok(Found::Ours);
    }
    let expected = u64::from(number(header, 28)) * page_size(header);
    match fs::metadata(path) {
        Ok(found) if found.len() < expected => {
            Err(OpenError::Truncated { path: path.to_owned(), length: found.len(), expected })
        }
        _ => Ok(Found::Ours),
    }
}

fn number(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

fn page_size(header: &[u8; HEADER]) -> u64 {
    match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => size.into(),
    }
}

fn has_wal(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|wal| wal.len() > 0)
}

/// The file that SQLite keeps beside a database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Which program a foreign database seems to belong to, for people. `immutable` makes SQLite leave everything alone.
fn whose(path: &Path) -> &'static str {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?immutable=1", escaped(path));
    let tables = Connection::open_with_flags(uri, flags).and_then(|connection| {
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
