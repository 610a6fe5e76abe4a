//! A run ("execution"), and what belongs to it.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// How a run is shown.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum WorkflowStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

/// How a step is shown.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum StepStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Retrying,
    Skipped,
    Cancelled,
}

/// How a session of an agent is shown.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SessionStatus {
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// What kind of file was kept.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ArtifactType {
    Screenshot,
    LogFile,
    SessionFile,
    TestReport,
    BuildOutput,
    Document,
    Other,
}

/// What a run waits for.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum WaitKind {
    Timer,
    Signal,
    Approval,
    Child,
    Retry,
    Slot,
    Disk,
}

/// What a run waits for, and since when.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Waiting {
    /// What for.
    pub kind: WaitKind,
    /// Since when.
    #[schema(format = DateTime)]
    pub since: String,
    /// Until when, if it ends by itself.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// What is in the way, where that is known: who has the slots, say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub why: Option<String>,
    /// What it is about, in a line of at most 200 characters: the question, the name of the event, the workflow that was
    /// invoked. The whole question is among the run's `operations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub about: Option<String>,
}

/// Why a run does not go on in the database in which it was found.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ElsewhereReason {
    Moved,
    Copy,
}

/// The other database that a run goes on in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Elsewhere {
    /// Whether it was moved there, or this is a copy of it.
    pub reason: ElsewhereReason,
    /// The other database's file.
    pub database: String,
}

/// A run, as lists show it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Execution {
    /// Its id.
    pub id: Uuid,
    /// The same, under the name by which everything that belongs to the run refers to it.
    pub execution_id: Uuid,
    /// Its short name.
    #[schema(example = "release-abcdef")]
    pub run_id: String,
    /// The definition that it was made from, if that is registered.
    pub workflow_def_id: Option<Uuid>,
    /// The project; for a run of a worktree that is no project here, that of its repository.
    pub project_id: Option<Uuid>,
    /// The workflow's name.
    pub workflow: String,
    /// The hash of its modules.
    pub definition_hash: String,
    /// The version of that definition; null if the run's source is no version of it.
    pub definition_version: Option<u32>,
    /// How it is shown.
    pub status: WorkflowStatus,
    /// It was at something and nobody who lives has it: it can be resumed.
    pub interrupted: bool,
    /// The other database that it goes on in, if not in this one: it was moved there, or this is a copy. Then it is neither
    /// interrupted nor waiting here, and can be neither resumed nor answered here.
    pub elsewhere: Option<Elsewhere>,
    /// What it waits for, while it only waits.
    pub waiting: Option<Waiting>,
    /// The id of the step that it is at, or was at last.
    pub current_workflow_step_id: Option<Uuid>,
    /// That step.
    pub current_step: Option<Step>,
    /// When somebody first drove it.
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// When it ended.
    #[schema(format = DateTime)]
    pub completed_at: Option<String>,
    /// How long that took, in milliseconds.
    pub duration: Option<i64>,
    /// The branch that it works on.
    pub branch_name: Option<String>,
    /// Its latest commit.
    pub commit_sha: Option<String>,
    /// Its pull request.
    pub pr_url: Option<String>,
    /// Why it did not return.
    pub error: Option<Value>,
    /// Its log file, relative to the project.
    pub log_file_path: Option<String>,
    /// The worktree that it belongs to: `main`, or an id.
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
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// The number of entries in its log.
    pub seq: u64,
    /// What its worktree is called. Only in lists.
    #[schema(required = false, nullable = false)]
    pub worktree: Option<String>,
    /// The file that it is kept in. Only in lists.
    #[schema(required = false, nullable = false)]
    pub database: Option<String>,
}

/// A run with everything about it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionDetail {
    /// The run.
    #[serde(flatten)]
    pub execution: Execution,
    /// What it was started with.
    pub input: Option<Value>,
    /// What it returned.
    pub output: Option<Value>,
    /// What it wrote with `set`.
    pub state: Option<Value>,
    /// What its own sessions cost, as far as that is known.
    pub cost_usd: Option<f64>,
    /// What the sessions cost that it has from the run that it was made out of. They count for that one.
    pub inherited_cost_usd: Option<f64>,
    /// Its steps, by number.
    pub steps: Vec<Step>,
    /// Remarks, oldest first.
    pub comments: Vec<Comment>,
    /// Files, oldest first.
    pub artifacts: Vec<Artifact>,
    /// Sessions of agents, oldest first.
    pub agent_sessions: Vec<AgentSession>,
    /// What is under way in it.
    pub operations: Vec<Operation>,
    /// A workflow that has changed since the run failed, if one has: a retry may go better now.
    pub changed: Option<ChangedWorkflow>,
}

/// A run that goes on, or that was made out of another one, and what there is to know about that.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ExecutionWithNotes {
    /// The run.
    #[serde(flatten)]
    pub detail: ExecutionDetail,
    /// What is worth knowing about how it goes on or was made, in lines for people: which inputs were left out, what of the
    /// work that had finished is not asked for any more. They are only in this answer.
    pub notes: Vec<String>,
}

/// A workflow that has changed since a run of it failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChangedWorkflow {
    /// Its name.
    pub workflow: String,
    /// The short name of the run of it that failed: this one, or one that this one has invoked.
    pub run_id: String,
    /// The short name of the run to retry: the outermost one that failed with it. What it invokes begins anew, with the
    /// workflows as they are now.
    pub retry: String,
    /// Whether to retry that with `latest`: its own workflow has changed, too.
    pub latest: bool,
}

/// A step of a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Step {
    /// Its id.
    pub id: Uuid,
    /// The run.
    pub execution_id: Uuid,
    /// Counted from 1.
    #[schema(minimum = 1)]
    pub step_number: u32,
    /// Its name.
    pub name: String,
    /// Where in the run it stands: `/implement#1@2/test#1` belongs to the second attempt at `/implement#1`.
    pub path: String,
    /// The phases around it.
    pub phase: Option<String>,
    /// How it is shown.
    pub status: StepStatus,
    /// When its first attempt began.
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// When it ended.
    #[schema(format = DateTime)]
    pub completed_at: Option<String>,
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
    /// The run's present source does not ask for it: it goes on under another source. What the step did stays on record.
    pub superseded: bool,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// A remark.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Comment {
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
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// A file kept with a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Artifact {
    /// Its id.
    pub id: Uuid,
    /// The step that made it.
    pub step_id: Option<Uuid>,
    /// The session that made it.
    pub agent_session_id: Option<Uuid>,
    /// Its name.
    pub name: String,
    /// What kind of file it is.
    pub r#type: ArtifactType,
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
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// A session of a coding agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AgentSession {
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
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// When it ended.
    #[schema(format = DateTime)]
    pub completed_at: Option<String>,
    /// How long that took, in milliseconds.
    pub duration: Option<i64>,
    /// It was a session of the run that this one was made out of (`forked_from`), and counts for that one.
    pub inherited: bool,
    /// The run's present source does not ask for it: it goes on under another source. What it cost stays on record.
    pub superseded: bool,
    /// When it was ordered.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Something that a run has asked of the world and waits for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Operation {
    /// Its identity in the run.
    pub operation: String,
    /// What kind: `shell`, `agent`, `approve`, `sleep` …
    pub kind: Option<String>,
    /// Its name.
    pub name: String,
    /// The step that it belongs to.
    pub step_number: Option<u32>,
    /// Which try it is.
    pub r#try: u32,
    /// Since when.
    #[schema(format = DateTime)]
    pub since: String,
    /// The line for the shell, or the program with its arguments.
    pub command: Option<String>,
    /// What a person is asked.
    pub question: Option<Question>,
    /// What it waits for before it can begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub held: Option<String>,
    /// The command's process, while it can be seen.
    pub pid: Option<i32>,
    /// The process that supervises it.
    pub supervisor: Option<i32>,
    /// Where all that is known about the command is kept while the run lasts.
    pub directory: Option<String>,
}

/// What a person is asked.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Question {
    /// The question.
    pub text: String,
    /// What was changed, if the question is about that.
    #[schema(required = false)]
    pub diff: Option<Value>,
}
