//! Carrying a run from one store to another: what is carried, and what becomes of it there.
//!
//! A run is its log. So the log is carried as it is, byte by byte, with the inbox, what people have remarked, and where the
//! run belongs; every other row is made again from the log by whoever takes it in. Nothing is ever carried in part: a run
//! is taken in by one transaction, after which it is read back and compared.

use std::collections::BTreeMap;

use agentos_core::id::RunId;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use rusqlite::types::Value as Cell;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::backend::BackendError;
use crate::records::{DefinitionVersion, Project, Workspace};

/// Everything about one run.
#[derive(Debug, Clone)]
pub struct RunCopy {
    pub(crate) run: RunId,
    pub(crate) standing: Standing,
    /// Columns of its row that are taken over as they are.
    pub(crate) columns: BTreeMap<&'static str, Cell>,
    pub(crate) input: Option<Value>,
    /// First position and text of each chunk.
    pub(crate) log: Vec<(i64, String)>,
    pub(crate) inbox: Vec<CopiedMessage>,
    pub(crate) remarks: Vec<CopiedRemark>,
    pub(crate) project: Option<Project>,
    pub(crate) definition: Option<CopiedDefinition>,
    /// The workspace that it works in, if the store knows it.
    pub workspace: Option<Workspace>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CopiedMessage {
    pub(crate) key: String,
    pub(crate) at: i64,
    pub(crate) message: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CopiedRemark {
    pub(crate) id: String,
    pub(crate) step_path: Option<String>,
    pub(crate) message: String,
    pub(crate) metadata: Option<Value>,
    pub(crate) author: String,
    pub(crate) at: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct CopiedDefinition {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) file_path: Option<String>,
    pub(crate) config: Option<Value>,
    pub(crate) is_active: bool,
    pub(crate) at: i64,
    pub(crate) versions: Vec<DefinitionVersion>,
}

impl RunCopy {
    /// The run.
    #[must_use]
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// Its short name.
    #[must_use]
    pub fn run_id(&self) -> &str {
        self.text("run_id").unwrap_or_default()
    }

    /// The checkout that it was started from.
    #[must_use]
    pub fn work_dir(&self) -> Option<&str> {
        self.text("work_dir")
    }

    /// Whether it has ended.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        self.standing.is_ended()
    }

    /// The same run, at home in another checkout from now on. Its log still says where it began.
    #[must_use]
    pub fn at_home_in(mut self, project: Project, worktree_id: String) -> Self {
        let here = project.path.clone();
        if let (Some(before), Some(context)) = (self.work_dir(), self.text("context_dir"))
            && let Some(rest) = context.strip_prefix(before)
        {
            let moved = format!("{here}{rest}");
            self.columns.insert("context_dir", Cell::Text(moved));
        }
        self.columns.insert("work_dir", Cell::Text(here));
        self.columns.insert("worktree_id", Cell::Text(worktree_id));
        self.project = Some(project);
        self
    }

    fn text(&self, column: &str) -> Option<&str> {
        match self.columns.get(column) {
            Some(Cell::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// What became of a run that was to be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// It was not known, and is now.
    New,
    /// A part of it was there; it has gone on since, and now all of it is there.
    BroughtUpToDate,
    /// All of it was there already.
    AlreadyThere,
    /// All of it was there already, and it has gone on here.
    WentOn,
}

/// Why a run can't be carried. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TransferError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// Its log does not hold together.
    #[error("the log of run {run} is damaged: {reason}")]
    Damaged {
        /// The run.
        run: RunId,
        /// Where.
        reason: String,
    },
    /// Both have gone on, each on its own.
    #[error(
        "run {run} is there already with another history; delete one of the two, or keep both databases"
    )]
    Different {
        /// The run.
        run: RunId,
    },
    /// Another run has its short name.
    #[error("another run there is called {name}")]
    NameTaken {
        /// The short name.
        name: String,
    },
    /// Somebody drives it where it is to be taken in.
    #[error("somebody drives run {run} there; wait for it, then try again")]
    Busy {
        /// The run.
        run: RunId,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// A run whose row can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableRun {
    /// What can be said about which it is: its short name, or its id, or where it is.
    pub run_id: String,
    /// What is wrong with it.
    pub reason: String,
}

/// One run as far as it decides whether it can be carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The run.
    pub run: RunId,
    /// Its short name.
    pub run_id: String,
    /// Its workflow.
    pub workflow: String,
    /// Whether it has ended.
    pub is_ended: bool,
    /// Whether somebody has taken it to drive it, dead or alive.
    pub has_owner: bool,
    /// Whether somebody who lives drives it.
    pub is_driven: bool,
    /// The worktree that it belongs to.
    pub worktree_id: Option<String>,
    /// The checkout that it was started from.
    pub work_dir: Option<String>,
    /// The workspace that it works in.
    pub workspace_id: Option<String>,
    /// Who invoked it.
    pub parent: Option<String>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// How it is shown.
    pub status: String,
}
