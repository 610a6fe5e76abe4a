//! What the program does for the server: everything that is not reading a store or streaming.
//!
//! The server sees no processes, no agents and no working copies. Whoever starts it hands over a house, in which the same
//! functions are called as the command line calls. What the house refuses comes with a kind, words, and what to do next.

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

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// It was asked for wrongly.
    Wrong,
    /// There is no such thing.
    NotFound,
    /// It can't be done as things stand.
    Conflict,
    /// Whoever asks may not.
    Forbidden,
    /// It was tried, and did not work.
    Failed,
    /// A database can't be used now.
    Unavailable,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Fields of the request that are wrong: JSON pointers, and how.
    pub fields: Vec<(String, String)>,
}

impl Refusal {
    /// One that says just this.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, fields: Vec::new() }
    }
}

/// The answer of the house.
pub type Answer<T> = Result<T, Refusal>;

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

/// A run that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The run.
    pub run: RunId,
    /// Whether it was started by an earlier request with the same key.
    pub is_replayed: bool,
}

/// What is to become of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// It ends, with what it has started.
    Cancel {
        /// Why.
        reason: Option<String>,
    },
    /// It goes on.
    Resume {
        /// With the workflow as it is now.
        latest: bool,
        /// Somebody who hangs is ended first.
        take_over: bool,
    },
    /// A new run mends it.
    Retry,
    /// A new run goes on from before some step.
    Fork {
        /// The step: its number, or its name.
        step: String,
        /// Who works in the place of which agent.
        agents: BTreeMap<String, String>,
        /// Inputs that are others in the new run.
        input: BTreeMap<String, Value>,
        /// How the new run's workspace is kept apart.
        workspace: Option<String>,
    },
    /// An event for it.
    Signal {
        /// What it waits for.
        event: String,
        /// What the event carries.
        payload: Value,
        /// Sent twice under one key, it counts once.
        key: Option<String>,
    },
    /// An answer to a question.
    Approve {
        /// Yes or no.
        approved: bool,
        /// Which question, if there are several.
        question: Option<String>,
        /// What is said with it.
        comment: Option<String>,
    },
    /// A remark.
    Comment {
        /// The step that it is about, by its number.
        step: Option<u32>,
        /// The remark.
        message: String,
        /// Whatever else is said.
        metadata: Option<Value>,
    },
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
    async fn projects(&self) -> Answer<Vec<Value>>;

    /// Serves one more: the checkout that this path is in. Whether it was not served before.
    async fn add_project(&self, path: PathBuf) -> Answer<(Value, bool)>;

    /// Serves it no more. With `purge`, its runs are deleted first.
    async fn remove_project(&self, project: Uuid, purge: bool) -> Answer<()>;

    /// Removes a workflow that nobody can start any more.
    async fn remove_workflow(&self, workflow: Uuid) -> Answer<()>;

    /// Starts a run.
    async fn execute(&self, order: Order) -> Answer<Started>;

    /// Does something to a run, in somebody's name. The run that it is about afterwards.
    async fn act(&self, found: Found, deed: Deed, by: String) -> Answer<RunId>;

    /// What is under way in a run, as documents.
    async fn operations(&self, found: Found) -> Answer<Value>;

    /// What a run, or one of its steps, has done to the files.
    async fn diff(&self, found: Found, step: Option<String>) -> Answer<Value>;

    /// Opens a file that a run has kept.
    async fn open_artifact(&self, found: Found, artifact: ArtifactRecord) -> Answer<Kept>;

    /// Opens a log of a run: of one step, or all of it. None if nothing was logged yet.
    async fn open_log(&self, found: Found, step: Option<Uuid>) -> Answer<Option<File>>;

    /// The workspaces, of one project or all; also those that are gone, if that is asked. And the databases that could not be
    /// read, whose workspaces are missing.
    async fn workspaces(
        &self,
        project: Option<Uuid>,
        all: bool,
    ) -> Answer<(Vec<Value>, Vec<Unreadable>)>;

    /// One workspace, with its size and what would be lost with it.
    async fn workspace(&self, id: String) -> Answer<Value>;

    /// Removes a workspace. By force, what would be lost is backed up first.
    async fn clean(&self, id: String, force: bool) -> Answer<Value>;

    /// Brings a workspace back from a backup.
    async fn restore(&self, id: String, backup: Option<u32>) -> Answer<Value>;
}
