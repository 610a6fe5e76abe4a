//! What a commit checks and changes of a run, as it stands in its row.

use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};
use uuid::Uuid;

use super::error::{Done, Fault};
use crate::run::Head;

/// The columns that [`RunRow::read`] expects, from `workflow_runs r`.
pub(super) const HEAD_COLUMNS: &str =
    "r.key, r.head, r.epoch, r.owner, r.standing, r.wake_at, r.messages";

/// A run's key and head.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunRow {
    pub(super) key: i64,
    pub(super) head: Head,
    pub(super) messages: i64,
}

impl RunRow {
    pub(super) fn find(connection: &Connection, run: RunId) -> Done<Option<Self>> {
        const FIND: &str = "SELECT r.key, r.head, r.epoch, r.owner, r.standing, r.wake_at, r.messages \
                            FROM workflow_runs r WHERE r.id = ?1";
        let mut id = Uuid::encode_buffer();
        let id: &str = run.0.as_hyphenated().encode_lower(&mut id);
        let mut find = connection.prepare_cached(FIND)?;
        let found = find.query_row([id], |row| Ok(Self::read(row))).optional()?;
        found.transpose()
    }

    pub(super) fn read(row: &Row<'_>) -> Done<Self> {
        let owner = match row.get_ref(3)?.as_str_or_null().map_err(rusqlite::Error::from)? {
            None => None,
            Some(text) => Some(OwnerId(uuid(text)?)),
        };
        let head = Head {
            head: Seq(from_i64(row.get(1)?)),
            epoch: Epoch(from_i64(row.get(2)?)),
            owner,
            standing: standing(row.get(4)?, row.get(5)?)?,
        };
        Ok(Self { key: row.get(0)?, head, messages: row.get(6)? })
    }
}

/// Positions and epochs are counted from 0 and never come near the end of an `i64`.
pub(super) fn from_i64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn uuid(text: &str) -> Done<Uuid> {
    Uuid::try_parse(text)
        .map_err(|_| Fault::permanent(format!("`{text}` stands where an id should")))
}

/// The number and time that stand for a standing.
pub(super) fn standing_columns(standing: Standing) -> (i64, Option<i64>) {
    let number = match standing {
        Standing::Working { .. } => 0,
        Standing::Parked { .. } => 1,
        Standing::Ended { status: EndStatus::Completed } => 2,
        Standing::Ended { status: EndStatus::Failed } => 3,
        Standing::Ended { status: EndStatus::TimedOut } => 4,
        Standing::Ended { status: EndStatus::Cancelled } => 5,
    };
    (number, standing.wake_at().map(|at| at.0))
}

fn standing(number: i64, wake_at: Option<i64>) -> Done<Standing> {
    let wake_at = wake_at.map(Timestamp);
    let ended = |status| Ok(Standing::Ended { status });
    match number {
        0 => Ok(Standing::Working { wake_at }),
        1 => Ok(Standing::Parked { wake_at }),
        2 => ended(EndStatus::Completed),
        3 => ended(EndStatus::Failed),
        4 => ended(EndStatus::TimedOut),
        5 => ended(EndStatus::Cancelled),
        other => Err(Fault::permanent(format!("`{other}` stands where a standing should"))),
    }
}
