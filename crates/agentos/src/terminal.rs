//! Everything that people see in a terminal: text of a known width, tables, the live tree, plain lines elsewhere.
//!
//! Pure but for `live.rs`, which writes, and `size.rs`, which asks the terminal. Time, the environment and the documents
//! come in from the caller, so every output can be a snapshot.
//!
//! Whatever a workflow or an agent named goes through [`text::harmless`] on its way into a [`text::Line`]: no name and no
//! message can move the cursor, set a title or hide what is next to it.

pub(crate) mod bytes;
pub(crate) mod duration;
pub(crate) mod live;
pub(crate) mod mark;
pub(crate) mod moment;
pub(crate) mod note;
pub(crate) mod paint;
pub(crate) mod plain;
pub(crate) mod question;
pub(crate) mod session;
pub(crate) mod size;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod title;
pub(crate) mod tree;
pub(crate) mod wait;

#[cfg(test)]
pub(crate) mod fixture;

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};

use agentos_store::records::RunDetail;

/// All variables of an environment.
pub(crate) type Environment = BTreeMap<OsString, OsString>;

/// A run, the runs that it invoked, and what they said last.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FamilyView {
    /// The run with its steps.
    pub(crate) run: RunDetail,
    /// The runs that it invoked, oldest first.
    pub(crate) children: Vec<FamilyView>,
    /// The latest lines of its log. The tree shows those of the outermost run.
    pub(crate) lines: Vec<String>,
    /// What it wants whoever watches to know, as long as that is not told elsewhere.
    pub(crate) notes: Vec<String>,
    /// What agents are doing right now, by their own names for their sessions.
    pub(crate) doing: HashMap<String, String>,
}

/// The value of a variable that is set, not empty and text.
pub(crate) fn variable<'a>(environment: &'a Environment, name: &str) -> Option<&'a str> {
    environment
        .get(OsStr::new(name))
        .and_then(|value| value.to_str())
        .filter(|text| !text.is_empty())
}
