//! What a backup says about itself: enough to put everything back where it was.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::names::Named;
use crate::workspace::Workspace;
use crate::workspace::inner::KeptInner;

/// The only form that there is so far.
pub(crate) const VERSION: u32 = 1;

/// What it is called in the archive.
pub(crate) const FILE: &str = "manifest.json";

/// A path. Most are text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

impl Name {
    pub(crate) fn of(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsStr::from_bytes(bytes)),
        }
    }
}

/// A file whose mode says more than git keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mode {
    pub(crate) path: Name,
    pub(crate) mode: u32,
}

/// Something that can be made again, and was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub(crate) path: Name,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// Changes that somebody has put aside on the workspace's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stashed {
    pub(crate) commit: String,
    pub(crate) message: String,
}

/// What a backup says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    /// The workspace as it was written down.
    pub(crate) workspace: Workspace,
    /// Its private folder, which links inside submodules name.
    pub(crate) private: Name,
    /// The commit that its branch was at.
    pub(crate) tip: Option<String>,
    /// The commit that was checked out.
    pub(crate) head: Option<String>,
    /// In a jj workspace: the commit that has everything that jj had recorded.
    pub(crate) recorded: Option<String>,
    /// The mode of its folder.
    pub(crate) mode: u32,
    pub(crate) modes: Vec<Mode>,
    pub(crate) stashed: Vec<Stashed>,
    pub(crate) left: Vec<Missing>,
    /// The refs of a clone. Those that the repository had not are the backup's own.
    #[serde(default)]
    pub(in crate::workspace) names: Vec<Named>,
    /// Worktrees inside.
    #[serde(default)]
    pub(in crate::workspace) worktrees: Vec<KeptInner>,
    /// Where its branch was, the oldest first, and why: where no file says so.
    #[serde(default)]
    pub(crate) branch_lines: Vec<(String, String)>,
}
