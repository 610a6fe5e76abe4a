//! What a snapshot knows besides files: modes, folders, what was checked out. It is a document in a commit of its own, which
//! snapshots share as long as nothing in it changes.

use serde::{Deserialize, Serialize};

use super::look::Walked;
use crate::workspace::Kind;
use crate::workspace::backup::manifest::{Mode, Name};

/// The only form that there is so far.
pub(super) const VERSION: u32 = 1;

/// What it is called in its commit.
pub(super) const FILE: &str = "notes.json";

/// What the index is called there.
pub(super) const INDEX: &str = "index";

/// What the names of private files begin with there.
pub(super) const PRIVATE: &str = "private:";

/// What the names of nested git directories begin with there.
pub(super) const NESTED: &str = "nested:";

/// A moment of the file system, in seconds and nanoseconds.
pub(super) type Moment = (i64, u32);

/// Everything about a snapshot that is no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Notes {
    pub(super) version: u32,
    pub(super) kind: Kind,
    /// What was checked out.
    pub(super) standing: Standing,
    /// The mode of the workspace's own folder.
    pub(super) mode: u32,
    pub(super) modes: Vec<Mode>,
    pub(super) folders: Vec<Mode>,
    pub(super) nested: Vec<Nested>,
}

/// What was checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    /// In git.
    Git {
        /// The commit; none before the first.
        head: Option<String>,
        /// The branch, as a whole ref; none if HEAD was detached.
        branch: Option<String>,
        /// When the index was written, if there was one: git trusts it only with what is older.
        index: Option<Moment>,
    },
    /// In jj.
    Jj {
        /// What the working copy stood on.
        parents: Vec<String>,
        /// The commit of the working copy.
        commit: String,
        /// The change that it belongs to.
        change: String,
        /// What it was called.
        description: String,
        /// Where the workspace's bookmark was.
        bookmark: Option<String>,
        /// jj's own name for the moment.
        operation: String,
    },
}

impl Standing {
    /// The commit that a new workspace has to be made from.
    pub(super) fn base(&self) -> Option<&str> {
        match self {
            Self::Git { head, .. } => head.as_deref(),
            Self::Jj { parents, .. } => parents.first().map(String::as_str),
        }
    }
}

/// A repository inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Nested {
    /// Where it is.
    pub(super) path: Name,
    /// Where its git directory is, if not in it.
    pub(super) place: Place,
    /// When its index was written.
    pub(super) index: Option<Moment>,
}

/// Where a git directory is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// In the repository's folder.
    Inside,
    /// In the private folder of the workspace: a submodule.
    Private {
        /// Where in it.
        at: Name,
        /// What the file says that leads there.
        link: Vec<u8>,
    },
    /// Elsewhere: it is not ours, and stays as it is. This is what the file said that leads there.
    Elsewhere(Vec<u8>),
}

/// Modes as they are written down, in the order of their paths.
pub(super) fn modes(found: &[(std::path::PathBuf, u32)]) -> Vec<Mode> {
    let mut found: Vec<_> = found.iter().collect();
    found.sort();
    found.into_iter().map(|(path, mode)| Mode { path: Name::of(path), mode: *mode }).collect()
}

impl Walked {
    /// The folders and modes, as they are written down.
    pub(super) fn noted(&self) -> (Vec<Mode>, Vec<Mode>) {
        (modes(&self.modes), modes(&self.folders))
    }
}
