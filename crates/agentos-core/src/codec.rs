//! How a log is written down: one chunk a commit, versioned JSON.
//!
//! JSON because the log is the audit trail: people and other programs read it. One chunk a commit
//! because everything a turn decided is committed together and shares one time. A reader that meets a version or a
//! kind it does not know says so and stops; it never guesses and never skips.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::entry::{Entry, Record};
use crate::id::Seq;
use crate::time::Timestamp;

/// The version that this code writes, and the only one there has been so far.
pub const VERSION: u32 = 1;

/// The entries of one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The position of the first entry; the others follow without a gap.
    pub first: Seq,
    /// When all of them were recorded.
    pub at: Timestamp,
    /// The entries.
    pub entries: Vec<Entry>,
    /// What made the program do what they record; those before the first cause came in from outside.
    pub causes: Vec<Cause>,
}

/// From one entry of a chunk on, up to the next cause, everything was decided under one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, Seq)", into = "(u32, Seq)")]
pub struct Cause {
    /// The index of the first such entry.
    pub from: u32,
    /// The position of the entry that was delivered.
    pub by: Seq,
}

impl From<(u32, Seq)> for Cause {
    fn from((from, by): (u32, Seq)) -> Self {
        Self { from, by }
    }
}

impl From<Cause> for (u32, Seq) {
    fn from(Cause { from, by }: Cause) -> Self {
        (from, by)
    }
}

/// Why a stored chunk can't be read.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// The text is no chunk: cut off, or something else altogether.
    #[error("the log chunk is damaged: {0}")]
    Damaged(#[source] serde_json::Error),
    /// It was written in a version that this program does not know.
    #[error(
        "the log chunk at position {seq} has format version {version}; this program reads version {VERSION}"
    )]
    Version {
        /// Where.
        seq: Seq,
        /// The version found.
        version: u32,
    },
    /// An entry is of a kind that this program does not know.
    #[error(
        "the log entry at position {seq} is of the unknown kind `{kind}`; a newer version may have written it"
    )]
    UnknownKind {
        /// Where.
        seq: Seq,
        /// The kind found.
        kind: String,
    },
    /// An entry is of a known kind but not well formed.
    #[error("the log entry at position {seq} is damaged: {source}")]
    Entry {
        /// Where.
        seq: Seq,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    first: Seq,
    at: Timestamp,
    entries: &'a [Entry],
    #[serde(rename = "by", skip_serializing_if = "<[Cause]>::is_empty")]
    causes: &'a [Cause],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read<E> {
    v: u32,
    first: Seq,
    at: Timestamp,
    entries: Vec<E>,
    #[serde(rename = "by", default)]
    causes: Vec<Cause>,
}

#[derive(Deserialize)]
struct Stamp {
    v: u32,
    first: Seq,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

/// Writes a chunk as one line of text.
///
/// # Panics
/// Never: entries hold only strings, numbers and JSON values, which always have a JSON text.
#[must_use]
pub fn encode(chunk: &Chunk) -> String {
    let Chunk { first, at, entries, causes } = chunk;
    let written = Written { v: VERSION, first: *first, at: *at, entries, causes };
    serde_json::to_string(&written).expect("entries hold only what JSON can hold")
}

/// Reads a chunk.
///
/// # Errors
/// [`DecodeError`] says what is wrong and at which position.
pub fn decode(text: &str) -> Result<Chunk, DecodeError> {
    match serde_json::from_str::<Read<Entry>>(text) {
        Ok(Read { v: VERSION, first, at, entries, causes }) => {
            Ok(Chunk { first, at, entries, causes })
        }
        Ok(read) => Err(DecodeError::Version { seq: read.first, version: read.v }),
        Err(_) => decode_one_by_one(text),
    }
}

/// Finds out which entry it is that can't be read.
fn decode_one_by_one(text: &str) -> Result<Chunk, DecodeError> {
    let read: Read<&RawValue> = match serde_json::from_str(text) {
        Ok(read) => read,
        Err(error) => return Err(of_another_version(text).unwrap_or(DecodeError::Damaged(error))),
    };
    if read.v != VERSION {
        return Err(DecodeError::Version { seq: read.first, version: read.v });
    }
    let mut seq = read.first;
    let mut entries = Vec::with_capacity(read.entries.len());
    for raw in read.entries {
        entries.push(decode_entry(raw.get(), seq)?);
        seq = seq.next();
    }
    Ok(Chunk { first: read.first, at: read.at, entries, causes: read.causes })
}

/// Another version may have other fields; that is then what is wrong with the chunk.
fn of_another_version(text: &str) -> Option<DecodeError> {
    let Stamp { v, first } = serde_json::from_str(text).ok()?;
    (v != VERSION).then_some(DecodeError::Version { seq: first, version: v })
}

fn decode_entry(text: &str, seq: Seq) -> Result<Entry, DecodeError> {
    serde_json::from_str(text).map_err(|source| match serde_json::from_str::<Kind>(text) {
        Ok(Kind { kind }) if !is_known(&kind) => DecodeError::UnknownKind { seq, kind },
        _ => DecodeError::Entry { seq, source },
    })
}

/// Whether some entry is spelled so: serde names the kinds it knows only in its error text.
fn is_known(kind: &str) -> bool {
    let probe = serde_json::json!({ "kind": kind });
    serde_json::from_value::<Entry>(probe)
        .err()
        .is_none_or(|error| !error.to_string().starts_with("unknown variant"))
}

impl Chunk {
    /// Entries that came in from outside.
    #[must_use]
    pub const fn new(first: Seq, at: Timestamp, entries: Vec<Entry>) -> Self {
        Self { first, at, entries, causes: Vec::new() }
    }

    /// The entries with their positions and causes.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        let Self { first, at, entries, causes } = self;
        let mut causes = causes.into_iter().peekable();
        let mut by = None;
        (0_u32..).zip(entries).map(move |(index, entry)| {
            while let Some(cause) = causes.next_if(|cause| cause.from <= index) {
                by = Some(cause.by);
            }
            Record { seq: Seq(first.0.saturating_add(u64::from(index))), at, by, entry }
        })
    }
}
