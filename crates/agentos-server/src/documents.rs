//! What goes over the wire, described: the shapes of documents that the OpenAPI description is made of.
//!
//! Records of runs are written by the store's own types, the same that `--json` prints, so that there is one spelling of
//! them. What is here describes those documents for other programs; that both agree is tested with every answer of the
//! server.

mod catalog;
mod execution;
mod page;
mod step_name;
mod totals;
mod wanted;
mod written;

pub use catalog::{
    Backup, Finding, Integrated, Keeping, Project, Statistics, Verdict, Weight, Workflow,
    WorkflowDetail, WorkflowVersion, Workspace, WorkspaceDetail, Worktree,
};
pub use execution::{
    AgentSession, Artifact, ArtifactType, ChangedWorkflow, Comment, Elsewhere, ElsewhereReason,
    Execution, ExecutionDetail, ExecutionWithNotes, Operation, Question, SessionStatus, Step,
    StepStatus, WaitKind, Waiting, WorkflowStatus,
};
pub(crate) use page::{PAGING, Page, Paging, Unreadable};
pub use step_name::StepName;
pub(crate) use totals::Totals;
pub use wanted::{
    ApproveRequest, CancelRequest, CleanRequest, CommentRequest, ExecuteRequest, ForkRequest,
    ProjectRequest, RestoreRequest, ResumeRequest, RetryRequest, SignalRequest, WorkspaceRequest,
};
pub(crate) use written::Written;
