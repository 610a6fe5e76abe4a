//! Rows for people: what a run looks like from outside, and what exists without a run.
//!
//! Driving runs needs none of this, so it is a trait of its own. Rows of runs, steps, comments, artifacts and sessions
//! follow from the log and are never written here (but for what people remark). Projects, definitions and workspaces have
//! no log; they are written here.

mod catalog;
mod run;
mod totals;

use agentos_core::id::RunId;
use async_trait::async_trait;
use thiserror::Error;
use uuid::Uuid;

pub use catalog::{
    Definition, DefinitionVersion, NewDefinition, Project, Workspace, WorkspaceState,
};
pub use run::{
    ArtifactRecord, CommentRecord, NewComment, Paging, Remark, RemarkCursor, RunCosts, RunCounts,
    RunDetail, RunListing, RunQuery, RunRecord, SessionRecord, Sort, StepRecord,
};
pub use totals::{RunTotals, TokenTotals};

use crate::backend::BackendError;
use crate::list::ListError;
use crate::log::ReadError;

/// Why a record can't be changed or found. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// There is none of this name.
    #[error("there is no {what}")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// Several begin like this.
    #[error("`{prefix}` could be {}; write more of it", candidates.join(" or "))]
    Ambiguous {
        /// What was looked for.
        prefix: String,
        /// Some that begin so.
        candidates: Vec<String>,
    },
    /// Something else needs it.
    #[error("{what} is still needed: {why}")]
    InUse {
        /// What was to be changed.
        what: String,
        /// By whom.
        why: String,
    },
    /// Somebody else was faster.
    #[error("{what} was changed by somebody else and is at version {current}; look at it again")]
    Outdated {
        /// What was to be changed.
        what: String,
        /// The version now.
        current: u32,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Reading rows for people, and keeping those that have no log.
#[async_trait]
pub trait Records: Send + Sync {
    /// The run of this id, this short name, or the only one that begins so. Ids may be written in capitals.
    ///
    /// # Errors
    /// [`RecordError::NotFound`], [`RecordError::Ambiguous`].
    async fn find_run(&self, name: &str) -> Result<RunId, RecordError>;

    /// A run with everything about it, as of one moment.
    ///
    /// # Errors
    /// [`ReadError::NotFound`].
    async fn run_detail(&self, run: RunId) -> Result<RunDetail, ReadError>;

    /// One page of the runs that the query shows. By cursor, runs that are added meanwhile do not shift it.
    ///
    /// # Errors
    /// [`ListError::Cursor`] if the cursor is none of this store's.
    async fn query_runs(&self, query: RunQuery) -> Result<RunListing, ListError>;

    /// How many runs there are, by status.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn count_runs(&self) -> Result<RunCounts, BackendError>;

    /// Removes a run with its log, steps, comments, artifacts and sessions. Its files are not touched.
    ///
    /// # Errors
    /// [`RecordError::InUse`] if it has not ended.
    async fn delete_run(&self, run: RunId) -> Result<(), RecordError>;

    /// What a person remarks on a run or step. It is no part of the log, so it can be made when the run has ended. Asking
    /// again is harmless.
    ///
    /// # Errors
    /// [`RecordError::NotFound`] if there is no such run or step, [`RecordError::InUse`] if another comment has its id.
    async fn add_comment(&self, comment: NewComment) -> Result<(), RecordError>;

    /// Throws away what was derived from the run's log and makes it again.
    ///
    /// # Errors
    /// [`RecordError::NotFound`].
    async fn rebuild(&self, run: RunId) -> Result<(), RecordError>;

    /// Adds a project, or changes the one of this id.
    ///
    /// # Errors
    /// [`RecordError::InUse`] if its path belongs to another project.
    async fn put_project(&self, project: Project) -> Result<(), RecordError>;

    /// All projects, by path.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn projects(&self) -> Result<Vec<Project>, BackendError>;

    /// Removes a project with its definitions, runs and all that belongs to them.
    ///
    /// # Errors
    /// [`RecordError::InUse`] while one of its runs has not ended, or a run elsewhere was made from one of its
    /// definitions.
    async fn delete_project(&self, project: Uuid) -> Result<(), RecordError>;

    /// Adds a definition, or a version to it if its hash is new. Answers with the version of that hash, which the
    /// definition is at from now on. One that is there just so stays as it is.
    ///
    /// # Errors
    /// [`RecordError::NotFound`] if there is no such project, [`RecordError::InUse`] if it is new and another definition
    /// has its id.
    async fn put_definition(&self, definition: NewDefinition) -> Result<u32, RecordError>;

    /// Definitions, by name; of one project or of all.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn definitions(&self, project: Option<Uuid>) -> Result<Vec<Definition>, BackendError>;

    /// The versions of a definition, latest first, with their sources.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn definition_versions(
        &self,
        definition: Uuid,
    ) -> Result<Vec<DefinitionVersion>, BackendError>;

    /// Removes a definition that no run was made from.
    ///
    /// # Errors
    /// [`RecordError::InUse`] if it has runs.
    async fn delete_definition(&self, definition: Uuid) -> Result<(), RecordError>;

    /// Writes a workspace down, if nobody has changed it since: `expected` is the version that the caller has seen, 0 if
    /// there was none. Answers with the new version.
    ///
    /// # Errors
    /// [`RecordError::Outdated`] if somebody was faster.
    async fn put_workspace(&self, workspace: Workspace, expected: u32) -> Result<u32, RecordError>;

    /// All workspaces, by id.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn workspaces(&self) -> Result<Vec<Workspace>, BackendError>;

    /// The workspace of this id.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn workspace(&self, id: &str) -> Result<Option<Workspace>, BackendError>;

    /// The workspace at this path, whether or not it is there.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn workspace_at(&self, path: &str) -> Result<Option<Workspace>, BackendError>;

    /// Forgets a workspace.
    ///
    /// # Errors
    /// [`RecordError::NotFound`].
    async fn delete_workspace(&self, id: &str) -> Result<(), RecordError>;
}
