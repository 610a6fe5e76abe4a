//! What the program does for the server: everything that is not reading a store or streaming.
//!
//! The server sees no processes, no agents and no working copies. Whoever starts it hands over a house, in which the same
//! functions are called as the command line calls. Why the house refuses something is told by an enum of the
//! [operation's own](errors).

pub mod errors;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_store::records::ArtifactRecord;
use agentos_store::unified::{Found, UnifiedView, Unreadable};
use async_trait::async_trait;
use tokio::sync::watch;
use uuid::Uuid;

use errors::{
    AddProjectError, ApproveError, CancelError, CleanError, CommentError, DiffError, ExecuteError,
    ForkError, ListProjectsError, ListWorkspacesError, OpenArtifactError, OpenLogError,
    OperationsError, RemoveProjectError, RemoveWorkflowError, RestoreError, ResumeError,
    RetryError, ShowWorkspaceError, SignalError,
};
pub use errors::{Refusal, Words};

/// A run to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The workflow: its definition's id, or its name.
    pub workflow: String,
    /// The project; if it is left out, the one whose definition is named, or the only one there is.
    pub project: Option<Uuid>,
    /// The input; none: what the schema takes for nothing.
    pub input: Option<Value>,
    /// Where it works.
    pub workspace: Place,
    /// Who works in the place of which agent.
    pub agents: BTreeMap<String, String>,
    /// Asked for twice under one key, it is started once.
    pub key: Option<String>,
}

/// Where a run is to work. What is not said is decided as on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The workspace's id; made if there is none.
    pub id: Option<String>,
    /// `auto`, `worktree`, `clone`, `jj` or `none`.
    pub kind: Option<String>,
    /// The commit that a new one is made from.
    pub base: Option<String>,
}

/// A workspace as an address names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedWorkspace {
    /// Its id. Several projects may have one of this id.
    pub id: String,
    /// The project whose workspace is meant.
    pub project: Option<Uuid>,
}

/// A run that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The run.
    pub run: RunId,
    /// Whether it was started by an earlier request with the same key.
    pub is_replayed: bool,
}

/// A run that was made out of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedRun {
    /// The run.
    pub run: RunId,
    /// What the caller should know about how it was made, in lines for people.
    pub notes: Vec<String>,
}

/// How a run goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resumption {
    /// With the workflow as it is now.
    pub latest: bool,
    /// Somebody who hangs is ended first.
    pub take_over: bool,
}

/// A new run that goes on from before some step of another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fork {
    /// The step: its number, or its name.
    pub step: String,
    /// Who works in the place of which agent.
    pub agents: BTreeMap<String, String>,
    /// Inputs that are others in the new run.
    pub input: BTreeMap<String, Value>,
    /// How the new run's workspace is kept apart.
    pub workspace: Option<String>,
    /// With the workflow as it is now.
    pub latest: bool,
}

/// An event for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What the run waits for.
    pub name: String,
    /// What the event carries.
    pub payload: Value,
    /// Sent twice under one key, it counts once.
    pub key: Option<String>,
}

/// An answer to a question of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Yes or no.
    pub approved: bool,
    /// Which question, if there are several.
    pub question: Option<String>,
    /// What is said with it.
    pub comment: Option<String>,
    /// Who answers, for the record.
    pub by: String,
}

/// A remark on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Remark {
    /// The step that it is about, by its number.
    pub step: Option<u32>,
    /// What is said.
    pub message: String,
    /// Whatever else is said.
    pub metadata: Option<Value>,
    /// Who says it.
    pub by: String,
}

/// A file kept with a run, opened in a way that can't lead out of the run's folder.
#[derive(Debug)]
pub struct Kept {
    /// What is known about it.
    pub artifact: ArtifactRecord,
    /// The file.
    pub file: File,
}

/// The program behind the server.
#[async_trait]
pub trait House: Send + Sync + 'static {
    /// Every database that is seen from here, as one. Another one is told of when a project, a worktree or a database has
    /// come or gone; the stores in it are opened so that this process can also write to them.
    fn views(&self) -> watch::Receiver<Arc<UnifiedView>>;

    /// The projects that are served.
    async fn projects(&self) -> Result<Vec<Value>, ListProjectsError>;

    /// Serves one more: the checkout that this path is in. Whether it was not served before.
    async fn add_project(&self, path: PathBuf) -> Result<(Value, bool), AddProjectError>;

    /// Serves it no more. With `purge`, its runs are deleted first.
    async fn remove_project(&self, project: Uuid, purge: bool) -> Result<(), RemoveProjectError>;

    /// Removes a workflow that nobody can start any more.
    async fn remove_workflow(&self, workflow: Uuid) -> Result<(), RemoveWorkflowError>;

    /// Starts a run.
    async fn execute(&self, order: Order) -> Result<Started, ExecuteError>;

    /// Has a run end, with what it has started, and waits a while for that. One that has ended stays as it is.
    async fn cancel(&self, found: Found, reason: Option<String>) -> Result<(), CancelError>;

    /// Lets a run go on that no process drives. Answers with what the caller should know about that, in lines for people.
    async fn resume(&self, found: Found, how: Resumption) -> Result<Vec<String>, ResumeError>;

    /// Makes a new run that mends this one; if it is said so, with the workflow as it is now.
    async fn retry(&self, found: Found, latest: bool) -> Result<DerivedRun, RetryError>;

    /// Makes a new run that goes on from before some step of this one.
    async fn fork(&self, found: Found, fork: Fork) -> Result<DerivedRun, ForkError>;

    /// Sends an event to a run.
    async fn signal(&self, found: Found, event: Event) -> Result<(), SignalError>;

    /// Answers a question of a run.
    async fn approve(&self, found: Found, answer: Approval) -> Result<(), ApproveError>;

    /// Leaves a remark on a run.
    async fn comment(&self, found: Found, remark: Remark) -> Result<(), CommentError>;

    /// What is under way in a run, as documents.
    async fn operations(&self, found: Found) -> Result<Value, OperationsError>;

    /// Which workflow has changed since a run failed, and which run to retry, as a document; null if none has.
    async fn changed(&self, _found: Found) -> Result<Value, OperationsError> {
        Ok(Value::Null)
    }

    /// What a run, or one of its steps, has done to the files.
    async fn diff(&self, found: Found, step: Option<String>) -> Result<Value, DiffError>;

    /// Opens a file that a run has kept.
    async fn open_artifact(
        &self,
        found: Found,
        artifact: ArtifactRecord,
    ) -> Result<Kept, OpenArtifactError>;

    /// Opens a log of a run: of one step, or all of it. None if nothing was logged yet.
    async fn open_log(
        &self,
        found: Found,
        step: Option<Uuid>,
    ) -> Result<Option<File>, OpenLogError>;

    /// The workspaces, of one project or all; also those that are gone, if that is asked. And the databases that could not be
    /// read, whose workspaces are missing.
    async fn workspaces(
        &self,
        project: Option<Uuid>,
        all: bool,
    ) -> Result<(Vec<Value>, Vec<Unreadable>), ListWorkspacesError>;

    /// One workspace, with its size and what would be lost with it.
    async fn workspace(&self, named: NamedWorkspace) -> Result<Value, ShowWorkspaceError>;

    /// Removes a workspace. By force, what would be lost is backed up first.
    async fn clean(&self, named: NamedWorkspace, force: bool) -> Result<Value, CleanError>;

    /// Brings a workspace back from a backup.
    async fn restore(
        &self,
        named: NamedWorkspace,
        backup: Option<u32>,
    ) -> Result<Value, RestoreError>;
}
