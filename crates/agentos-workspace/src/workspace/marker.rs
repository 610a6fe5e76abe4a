//! The marker of a workspace: kept in its private folder, where neither commits nor `git clean` reach, it says whose it is.
//!
//! A folder at the right path is not enough: somebody may have removed the workspace and made another one there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Workspace;
use super::id::WorkspaceId;
use crate::files::{self, FileError};
use crate::identity::folder_of;

const FILE: &str = "workspace.json";

/// Where it is in the private folder.
pub(super) const PATH: &str = "agentos/workspace.json";

/// Which workspace a private folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Its id.
    pub workspace_id: WorkspaceId,
    /// Drawn when it was made: another one of the same id has another.
    pub nonce: Uuid,
    /// The database that it is written down in.
    #[serde(default)]
    pub database: Option<String>,
    /// What was written down when it was made, should that database be lost.
    #[serde(default)]
    pub workspace: Option<Box<Workspace>>,
}

/// Which folder something is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderIdentity {
    /// The file system.
    pub device: u64,
    /// The folder in it.
    pub inode: u64,
}

impl Marker {
    /// Reads the marker in this private folder.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn load(private: &Path) -> Result<Option<Self>, FileError> {
        files::load_json(&path_in(private))
    }

    pub(crate) fn of(workspace: &Workspace) -> Self {
        let known = Some(Box::new(workspace.clone()));
        let (workspace_id, nonce) = (workspace.id.clone(), workspace.nonce);
        Self { workspace_id, nonce, database: None, workspace: known }
    }

    /// The same, with where it is written down.
    pub(crate) fn in_database(self, database: &str) -> Self {
        Self { database: Some(database.to_owned()), ..self }
    }

    /// Whether it is the marker of this workspace, and not of another one of the same name.
    #[must_use]
    pub fn is_of(&self, workspace: &Workspace) -> bool {
        self.workspace_id == workspace.id && self.nonce == workspace.nonce
    }

    pub(crate) fn write(&self, private: &Path) -> Result<(), FileError> {
        files::make_folder(&folder_of(private))?;
        files::write_json(&path_in(private), self)
    }
}

impl FolderIdentity {
    /// Which folder is at this path; none if there is none, or something else, or a link.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(Self { device: found.dev(), inode: found.ino() })
    }
}

fn path_in(private: &Path) -> PathBuf {
    folder_of(private).join(FILE)
}
