//! What exists without a run: projects, definitions, workspaces.

use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// One checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Project {
    /// Made once.
    pub id: Uuid,
    /// For people.
    pub name: String,
    /// Absolute.
    pub path: String,
    /// When it was added.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
    /// When it was last changed.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub updated_at: Timestamp,
}

/// A workflow as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDefinition {
    /// Its id, if it is new.
    pub id: Uuid,
    /// The project.
    pub project: Uuid,
    /// The workflow's name, unique in its project.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// The file, relative to the project; a built-in has none.
    pub file_path: Option<String>,
    /// What `createWorkflow` was given.
    pub config: Value,
    /// Whether it can be started.
    pub is_active: bool,
    /// The hash of its modules.
    pub hash: String,
    /// The author's own version.
    pub author_version: Option<String>,
    /// Its modules.
    pub source: String,
    /// When it was found.
    pub at: Timestamp,
}

/// A workflow that can be started, or could once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Definition {
    /// Its id.
    pub id: Uuid,
    /// The project.
    pub project_id: Uuid,
    /// Its name.
    pub name: String,
    /// For people.
    pub description: Option<String>,
    /// The version that it is at: that of the hash which was found last.
    pub version: u32,
    /// The file, relative to the project.
    pub file_path: Option<String>,
    /// What `createWorkflow` was given.
    pub config: Option<Value>,
    /// Whether it can be started.
    pub is_active: bool,
    /// When it was first found.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
    /// When it was last changed.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub updated_at: Timestamp,
}

/// One version of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DefinitionVersion {
    /// Counted from 1 as hashes change.
    pub version: u32,
    /// The hash of its modules.
    pub hash: String,
    /// The author's own version.
    pub author_version: Option<String>,
    /// Its modules.
    pub source: String,
    /// When it was found.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
}

/// How a workspace stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// It is being made.
    Creating,
    /// It is there.
    Ready,
    /// A run works in it.
    InUse,
    /// No run works in it any more.
    Released,
    /// It was moved away, to be deleted.
    Trashed,
    /// It is no more.
    Gone,
}

impl WorkspaceState {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 6] =
        [Self::Creating, Self::Ready, Self::InUse, Self::Released, Self::Trashed, Self::Gone];

    /// The spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Ready => "ready",
            Self::InUse => "in_use",
            Self::Released => "released",
            Self::Trashed => "trashed",
            Self::Gone => "gone",
        }
    }

    /// Reads the spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// An isolated checkout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workspace {
    /// Its id.
    pub id: String,
    /// The project that it was made for; none if that was removed.
    pub project_id: Option<Uuid>,
    /// `worktree`, `clone`, `jj` or `none`.
    pub kind: String,
    /// How it stands.
    pub status: WorkspaceState,
    /// Where it is.
    pub path: String,
    /// Its branch.
    pub branch: Option<String>,
    /// What it was made from.
    pub base: Option<String>,
    /// Whatever else is known.
    pub detail: Option<Value>,
    /// How often it was written down.
    pub version: u32,
    /// When it was first written down.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
    /// When it was last written down.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub updated_at: Timestamp,
}
