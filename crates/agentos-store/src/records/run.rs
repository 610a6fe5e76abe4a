//! A run as people see it.

use std::collections::BTreeMap;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value;
use uuid::Uuid;

use crate::counterpart::Counterpart;
use crate::list::RunCursor;
use crate::projection::{SessionStatus, StepStatus, WaitKind, Waiting, WorkflowStatus};

/// A run. As a document it is without what can be large, as listings and messages have it; [`whole`](Self::whole) has all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    /// Its id.
    pub id: RunId,
    /// The same, under the name by which everything that belongs to the run refers to it.
    pub execution_id: RunId,
    /// Its short name.
    pub run_id: String,
    /// The definition that it was made from, if that is registered.
    pub workflow_def_id: Option<Uuid>,
    /// The project.
    pub project_id: Option<Uuid>,
    /// The workflow's name.
    pub workflow: String,
    /// The hash of its modules.
    pub definition_hash: String,
    /// The version of that definition; none if the run's source is no version of it.
    pub definition_version: Option<u32>,
    /// How it is shown.
    pub status: WorkflowStatus,
    /// It was at something and nobody who lives has it: it can be resumed.
    pub interrupted: bool,
    /// The other database that it goes on in, if not in this one. Then it is neither interrupted nor does it wait for anything
    /// here, however the log stands that was left.
    pub elsewhere: Option<Counterpart>,
    /// What it waits for, while it only waits.
    #[serde(serialize_with = "waiting::serialize")]
    pub waiting: Option<Waiting>,
    /// The id of the step that it is at, or was at last.
    pub current_workflow_step_id: Option<Uuid>,
    /// That step.
    pub current_step: Option<StepRecord>,
    /// When somebody first drove it. A fork begins when it is created, however old its history is.
    #[serde(serialize_with = "crate::moment::serialize_some")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(serialize_with = "crate::moment::serialize_some")]
    pub completed_at: Option<Timestamp>,
    /// How long that took, in milliseconds.
    pub duration: Option<i64>,
    /// The branch that it works on.
    pub branch_name: Option<String>,
    /// Its latest commit.
    pub commit_sha: Option<String>,
    /// Its pull request.
    pub pr_url: Option<String>,
    /// What it was started with.
    #[serde(skip)]
    pub input: Option<Value>,
    /// What it returned.
    #[serde(skip)]
    pub output: Option<Value>,
    /// Why it did not.
    pub error: Option<Value>,
    /// What it wrote with `set`.
    #[serde(skip)]
    pub state: Option<Value>,
    /// Its log file, relative to the project.
    pub log_file_path: Option<String>,
    /// The worktree that it belongs to.
    pub worktree_id: Option<String>,
    /// The checkout that it was started from.
    pub work_dir: Option<String>,
    /// The workspace that it works in.
    pub workspace_dir: Option<String>,
    /// That workspace's id.
    pub workspace_id: Option<String>,
    /// Its input files, prompts and transcripts.
    pub context_dir: Option<String>,
    /// Who invoked it.
    pub parent_run_id: Option<String>,
    /// What it was forked from.
    pub forked_from: Option<String>,
    /// When it was created.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub updated_at: Timestamp,
    /// The number of entries in its log.
    pub seq: u64,
}

impl RunRecord {
    /// The same as it is shown in a database in which it does not go on.
    pub(crate) fn going_on_in(&mut self, other: Counterpart) {
        self.interrupted = false;
        self.waiting = None;
        self.elsewhere = Some(other);
    }

    /// The document with what can be large.
    #[must_use]
    pub fn whole(&self) -> impl Serialize + '_ {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            run: &'a RunRecord,
            input: Option<&'a Value>,
            output: Option<&'a Value>,
            state: Option<&'a Value>,
        }
        let (input, output, state) = (&self.input, &self.output, &self.state);
        Whole { run: self, input: input.as_ref(), output: output.as_ref(), state: state.as_ref() }
    }
}

fn whole<S: Serializer>(run: &RunRecord, to: S) -> Result<S::Ok, S::Error> {
    run.whole().serialize(to)
}

mod waiting {
    //! In the database moments are numbers; in the document they are written as everywhere else in it.

    use serde::{Serialize, Serializer};

    use crate::projection::{WaitKind, Waiting};

    #[derive(Serialize)]
    struct Written<'a> {
        kind: WaitKind,
        #[serde(serialize_with = "crate::moment::serialize")]
        since: agentos_core::time::Timestamp,
        #[serde(serialize_with = "crate::moment::serialize_some")]
        until: Option<agentos_core::time::Timestamp>,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        about: Option<&'a str>,
    }

    #[expect(clippy::ref_option, reason = "serde hands out a reference")]
    pub(super) fn serialize<S: Serializer>(
        waiting: &Option<Waiting>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let written = waiting.as_ref().map(|Waiting { kind, since, until, why, about }| Written {
            kind: *kind,
            since: *since,
            until: *until,
            why: why.as_deref(),
            about: about.as_deref(),
        });
        written.serialize(to)
    }
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRecord {
    /// Its id, which follows from the run and the names on the way to the step.
    pub id: Uuid,
    /// The run.
    pub execution_id: RunId,
    /// Counted from 1.
    pub step_number: u32,
    /// Its name. An operation outside of a step is named by what it does: `shell: make test`.
    pub name: String,
    /// Where in the run it stands: `/implement#1@2/test#1` belongs to the second attempt at `/implement#1`.
    pub path: String,
    /// The phases around it.
    pub phase: Option<String>,
    /// How it is shown.
    pub status: StepStatus,
    /// When its first attempt began.
    #[serde(serialize_with = "crate::moment::serialize_some")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(serialize_with = "crate::moment::serialize_some")]
    pub completed_at: Option<Timestamp>,
    /// How long that took, in milliseconds.
    pub duration: Option<i64>,
    /// What it was asked for with, if it is an operation outside of a step.
    pub input: Option<Value>,
    /// What it returned.
    pub output: Option<Value>,
    /// Why its latest attempt failed.
    pub error: Option<Value>,
    /// Its latest attempt.
    pub attempt_number: u32,
    /// How many it may have.
    pub max_attempts: u32,
    /// Its log file, relative to the project.
    pub log_file_path: Option<String>,
    /// The run's present source does not ask for it. What it did stays on record.
    pub superseded: bool,
    /// When it was asked for.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub updated_at: Timestamp,
}

/// A remark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommentRecord {
    /// Its id.
    pub id: Uuid,
    /// The step that it is on; the run itself if there is none.
    pub step_id: Option<Uuid>,
    /// The remark.
    pub message: String,
    /// Whatever else was said.
    pub metadata: Option<Value>,
    /// Who, if it was a person.
    pub author: Option<String>,
    /// When.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
}

/// What a person has remarked, and on which run.
#[derive(Debug, Clone, PartialEq)]
pub struct Remark {
    /// The run.
    pub run: RunId,
    /// The remark.
    pub comment: CommentRecord,
}

/// A place behind which people's remarks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemarkCursor(pub(crate) i64);

/// What a person remarks.
#[derive(Debug, Clone, PartialEq)]
pub struct NewComment {
    /// A new id.
    pub id: Uuid,
    /// The run.
    pub run: RunId,
    /// The number of the step; none for the run itself.
    pub step: Option<u32>,
    /// The remark.
    pub message: String,
    /// Whatever else is said.
    pub metadata: Option<Value>,
    /// Who.
    pub author: String,
    /// When.
    pub at: Timestamp,
}

/// A file kept with a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArtifactRecord {
    /// Its id.
    pub id: Uuid,
    /// The step that made it.
    pub step_id: Option<Uuid>,
    /// The session that made it.
    pub agent_session_id: Option<Uuid>,
    /// Its name.
    pub name: String,
    /// `SCREENSHOT`, `LOG_FILE`, `SESSION_FILE`, `TEST_REPORT`, `BUILD_OUTPUT`, `DOCUMENT` or `OTHER`.
    pub r#type: String,
    /// Where it is, relative to the project.
    pub storage_path: String,
    /// `FILESYSTEM`.
    pub storage_type: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// How large it is.
    pub size_bytes: Option<i64>,
    /// Whatever else was said.
    pub metadata: Option<Value>,
    /// When it was made.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
}

/// A session of a coding agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionRecord {
    /// Its id.
    pub id: Uuid,
    /// The step that it belongs to.
    pub workflow_step_id: Option<Uuid>,
    /// Its name.
    pub name: String,
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The agent's own name for the session.
    pub session_id: Option<String>,
    /// How it is shown.
    pub status: SessionStatus,
    /// Its transcript.
    pub session_file_path: Option<String>,
    /// Tokens read.
    pub input_tokens: Option<i64>,
    /// Tokens written.
    pub output_tokens: Option<i64>,
    /// Tokens read from a cache.
    pub cached_tokens: Option<i64>,
    /// What it cost.
    pub cost_usd: Option<f64>,
    /// How the process ended.
    pub exit_code: Option<i64>,
    /// Why it failed.
    pub error: Option<Value>,
    /// When it began.
    #[serde(serialize_with = "crate::moment::serialize_some")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(serialize_with = "crate::moment::serialize_some")]
    pub completed_at: Option<Timestamp>,
    /// How long that took, in milliseconds.
    pub duration: Option<i64>,
    /// It was a session of the run that this one was made out of, and counts for that one.
    pub inherited: bool,
    /// The run's present source does not ask for it. What it did and cost stays on record.
    pub superseded: bool,
    /// When it was ordered.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::moment::serialize")]
    pub updated_at: Timestamp,
}

/// What the sessions of a run cost, as far as that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RunCosts {
    /// Those that it paid for itself, superseded ones among them.
    pub cost_usd: Option<f64>,
    /// Those that it has from the run that it was made out of.
    pub inherited_cost_usd: Option<f64>,
}

impl RunCosts {
    /// The sums over these sessions.
    #[must_use]
    pub fn of(sessions: &[SessionRecord]) -> Self {
        let sum = |inherited: bool| {
            let own = sessions.iter().filter(|session| session.inherited == inherited);
            own.filter_map(|session| session.cost_usd).reduce(|all, cost| all + cost)
        };
        Self { cost_usd: sum(false), inherited_cost_usd: sum(true) }
    }
}

/// A run with everything about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunDetail {
    /// The run.
    #[serde(flatten, serialize_with = "whole")]
    pub run: RunRecord,
    /// What its sessions cost.
    #[serde(flatten)]
    pub costs: RunCosts,
    /// Its steps, by number.
    pub steps: Vec<StepRecord>,
    /// Remarks, oldest first.
    pub comments: Vec<CommentRecord>,
    /// Files, oldest first.
    pub artifacts: Vec<ArtifactRecord>,
    /// Sessions, oldest first.
    pub agent_sessions: Vec<SessionRecord>,
}

/// Which end of a listing comes first. What has not started counts as newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sort {
    /// `-started_at`
    #[default]
    LatestFirst,
    /// `started_at`
    OldestFirst,
}

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paging {
    /// The how-manieth page, counted from 1. Shifts when runs are added.
    Page(u64),
    /// Behind where another page ended. Does not.
    After(RunCursor),
}

/// Which runs to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunQuery {
    /// Those that are shown so; any if empty.
    pub statuses: Vec<WorkflowStatus>,
    /// Those that wait for something of these kinds; any if empty, also those that do not wait.
    pub waiting: Vec<WaitKind>,
    /// Those of this workflow: a definition's id, or a name.
    pub workflow: Option<String>,
    /// Those of these projects; of any if empty.
    pub projects: Vec<Uuid>,
    /// Those of this worktree.
    pub worktree: Option<String>,
    /// Those that started then or later, or have not started.
    pub since: Option<Timestamp>,
    /// Those in whose names or branch this text occurs.
    pub text: Option<String>,
    /// Without these, whatever else is asked: another database has them as they are now.
    pub except: Vec<RunId>,
    /// In which order.
    pub sort: Sort,
    /// From where on.
    pub paging: Paging,
    /// How many.
    pub limit: usize,
    /// Whether all that would be shown are counted.
    pub with_total: bool,
}

impl Default for RunQuery {
    fn default() -> Self {
        Self {
            statuses: Vec::new(),
            waiting: Vec::new(),
            workflow: None,
            projects: Vec::new(),
            worktree: None,
            since: None,
            text: None,
            except: Vec::new(),
            sort: Sort::default(),
            paging: Paging::Page(1),
            limit: 50,
            with_total: false,
        }
    }
}

/// One page of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunListing {
    /// The runs. Their input, output and state are left out.
    pub runs: Vec<RunRecord>,
    /// How many there are in all, if that was asked for.
    pub total: Option<u64>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<RunCursor>,
}

/// How many runs there are, by status.
pub type RunCounts = BTreeMap<WorkflowStatus, u64>;
