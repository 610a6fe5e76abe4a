//! Workspaces: checkouts of a repository in which one run works and nobody else.
//!
//! A [`Workspace`] is what is known about one. [`Yard`](yard::Yard) makes them and finds them again; three
//! [`isolation::Isolation`]s say how: a git worktree, a clone, a jj workspace. What keeps them apart from whatever else
//! may be at a path:
//!
//! - Every step of a life is in the [`ledger`](ledger::Ledger) before git or jj is touched, so whoever was killed is cleaned
//!   up after by the next who comes ([`repair`](yard::Yard::repair)).
//! - Making and removing is serialised for each repository, across processes.
//! - A workspace has a [`marker`] in its private folder. It is verified after it was made and whenever it is about to be
//!   used. If it is not what it should be, that is an error; nothing falls back to another folder.

pub mod adopt;
pub mod backup;
pub mod changes;
pub mod direnv;
mod furnish;
pub mod guard;
pub mod hold;
pub mod id;
pub mod include;
mod inner;
pub mod interrupted;
pub mod isolation;
pub mod ledger;
pub mod limits;
pub mod marker;
pub mod occupy;
mod persist;
pub(crate) mod plumbing;
pub mod points;
pub mod policy;
pub mod porcelain;
pub mod removal;
mod repair;
pub mod repository;
pub(crate) mod rescue;
pub mod restore;
pub mod room;
pub mod root;
pub mod settle;
pub mod setup;
pub mod snapshot;
pub mod standing;
mod state;
mod submodules;
pub mod survey;
pub mod trash;
pub mod verdict;
pub mod verify;
pub mod view;
pub mod yard;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use state::State;

use id::WorkspaceId;
use marker::FolderIdentity;

/// How a workspace is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A git worktree: shares objects, branches, configuration and hooks with its repository.
    Worktree,
    /// A clone on this machine: shares nothing that can be changed.
    Clone,
    /// A jj workspace.
    Jj,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Worktree, Self::Clone, Self::Jj];

    /// The spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Clone => "clone",
            Self::Jj => "jj",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// What is known about a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// How it is kept apart.
    pub kind: Kind,
    /// How it stands.
    pub state: State,
    /// Where it is, by its real path.
    pub path: PathBuf,
    /// The repository that it was made of: the git directory that its checkouts share.
    pub repository: PathBuf,
    /// The checkout that it was made from.
    pub repo_root: PathBuf,
    /// The branch that it was made with.
    pub branch: Option<String>,
    /// The full id of the commit that it was made from.
    pub base: String,
    /// Whether the branch was made with it, and not found.
    pub is_branch_ours: bool,
    /// Whether somebody else made it: then it is not ours to remove.
    pub is_adopted: bool,
    /// What its marker says.
    pub nonce: Uuid,
    /// Which folder it is, once it is there.
    pub folder: Option<FolderIdentity>,
    /// The run that it was made for, and later the one that works in it.
    #[serde(default)]
    pub run: Option<String>,
    /// Whether it was in somebody's hands before it was made this time.
    #[serde(default)]
    pub was_there: bool,
    /// The number of the backup that its work is in while it is gone, or while it is being restored: whoever opens it gets
    /// that back first.
    #[serde(default)]
    pub owed: Option<u32>,
    /// How often it was written down; 0 if it was not yet.
    pub version: u32,
    /// When it was first made.
    pub created_at: Timestamp,
}
