//! Questions in SQL over all databases of a view.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};
use thiserror::Error;
use tokio::sync::oneshot;

use super::{UnifiedView, Unreadable};
use crate::sqlite::select::{self, Part};

/// A question.
#[derive(Debug, Clone)]
pub struct Question {
    /// One `SELECT`.
    pub sql: String,
    /// Most rows that are answered.
    pub rows: usize,
    /// Set when it has taken too long; then it ends soon.
    pub stop: Arc<AtomicBool>,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// None.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Cell {
    /// How much room it takes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
            _ => 8,
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_none(),
            Self::Integer(value) => to.serialize_i64(*value),
            Self::Real(value) => to.serialize_f64(*value),
            Self::Text(text) => to.serialize_str(text),
            Self::Blob(bytes) => {
                let mut all = to.serialize_seq(Some(bytes.len()))?;
                for byte in bytes {
                    all.serialize_element(byte)?;
                }
                all.end()
            }
        }
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// Whether there would have been more.
    pub has_more: bool,
    /// Databases that are missing from it.
    pub unreadable: Vec<Unreadable>,
}

/// A table that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableDescription {
    /// Its name.
    pub name: &'static str,
    /// What its rows are.
    pub about: &'static str,
    /// Its columns.
    pub columns: Vec<ColumnDescription>,
}

/// A column of a table that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnDescription {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectError {
    /// SQLite does not understand it.
    #[error("{message}{}", pointed_at(sql, *at))]
    Sql {
        /// What is wrong.
        message: String,
        /// The byte at which it begins to be, if SQLite can tell.
        at: Option<usize>,
        /// What was asked.
        sql: String,
    },
    /// It is not reading.
    #[error("{what} is not possible here: nothing can be changed, and there is one SELECT")]
    Refused {
        /// What was asked for.
        what: String,
    },
    /// It took too long.
    #[error("the question took too long and was stopped")]
    Stopped,
    /// Databases beyond those that can be attached are too large to be copied.
    #[error(
        "there are more than ten databases, and those beyond the largest have over {rows} rows of a table"
    )]
    TooMuch {
        /// How many are copied at most.
        rows: i64,
    },
    /// Somebody began to write again and again.
    #[error("the databases change faster than they can be read; ask again")]
    Changing,
    /// SQLite failed.
    #[error("SQLite failed: {0}")]
    Internal(String),
}

/// The line of the question with a mark below the place.
fn pointed_at(sql: &str, at: Option<usize>) -> String {
    let Some(before) = at.and_then(|at| sql.get(..at)) else { return String::new() };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = sql[start..].lines().next().unwrap_or_default();
    let column = sql[start..before.len()].chars().count();
    let number = before.matches('\n').count() + 1;
    format!(" (line {number}, column {})\n  {line}\n  {}^", column + 1, " ".repeat(column))
}

/// The tables that can be asked.
#[must_use]
pub fn describe_tables() -> Vec<TableDescription> {
    select::describe()
}

impl UnifiedView {
    /// Answers a question in SQL over all databases: every row once, with the file that it is in. Changes nothing.
    ///
    /// # Errors
    /// [`SelectError`]
    pub async fn select(&self, question: Question) -> Result<Answer, SelectError> {
        let twins = self.twins().await;
        let mut told = self.told(&twins.failed);
        let is_readable = |index: &usize| !twins.failed.iter().any(|(failed, _)| failed == index);
        let parts = (0..self.sources.len()).filter(is_readable);
        let parts = parts.map(|index| Part {
            path: self.sources[index].path().to_owned(),
            stale: twins.stale[index].clone(),
        });
        let (parts, worktrees) = (parts.collect(), self.worktrees.all().to_vec());
        let (reply, answer) = oneshot::channel();
        let ask = move || {
            // Whoever has stopped waiting does not hear it.
            let _heard = reply.send(select::select(parts, &worktrees, &question));
        };
        let failed = |error: std::io::Error| SelectError::Internal(error.to_string());
        std::thread::Builder::new().name("sqlite-select".into()).spawn(ask).map_err(failed)?;
        let ended = || SelectError::Internal("whoever asked has ended".to_owned());
        let answer = answer.await.map_err(|_| ended())??;
        told.extend(answer.unreadable);
        Ok(Answer { unreadable: told, ..answer })
    }
}
