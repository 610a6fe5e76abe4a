//! Files travel with the log: what has to be done about a run's files before an operation is performed.
//!
//! - **Snapshots** are lazy. One is taken before the first operation that may change files after something began that a
//!   person could go back to: a step, an attempt, an operation that is a step by itself. Its label is the operation's
//!   position in the log, so *the files at some position are those of the first snapshot at or after it*: nothing has
//!   changed them in between. One more is taken when the run ends, and when it begins to wait after files were changed.
//! - **Only while it is quiet.** Whether something else of the run may be changing files is read out of the log, not out of
//!   memory, so that whoever comes after a crash decides the same. Where it is not quiet there is no snapshot, and whoever
//!   wants to go back there is refused, with the name of the step that was at work.
//! - **Rollback.** Before the first operation of a further attempt the files go back to the step's start, once: that it was
//!   done is a snapshot of its own, taken before the operation begins.
//!
//! The core knows nothing of this but that a step asked for it.

mod history;
mod track;

use agentos_core::entry::{Hold, Home};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{Attempt, RunId, Seq, StepNumber};
use agentos_core::invocation::Invoked;
use agentos_core::operation::OperationKind;
use agentos_core::path::{OperationId, ScopePath};
use agentos_core::value::Value;
use async_trait::async_trait;

use crate::shell::Refusal;
pub(crate) use history::step_around;
pub use history::{Asked, History, Work};
pub(crate) use track::{Due, Track};

/// Whether an operation may change files in the run's workspace.
#[must_use]
pub fn touches_files(operation: &OperationId, args: &Value) -> bool {
    let name = operation.name();
    let name = name.as_ref().map_or("", |name| name.as_str());
    match operation.kind() {
        Some(OperationKind::Shell | OperationKind::Agent | OperationKind::Effect) => true,
        Some(OperationKind::Files) => matches!(name, "write" | "delete" | "copy"),
        Some(OperationKind::Git) => matches!(name, "commit" | "stageAll" | "ensureBranch"),
        // A child run works where its parent does, unless it is given a place of its own.
        Some(OperationKind::Invoke) => !Invoked::of_args(args.clone()).has_own_workspace,
        _ => false,
    }
}

/// Whether an operation may look at files in the run's workspace.
pub(crate) fn sees_files(operation: &OperationId) -> bool {
    use OperationKind::{Agent, Artifact, Effect, Files, Git, Invoke, Shell};
    matches!(operation.kind(), Some(Agent | Artifact | Effect | Files | Git | Invoke | Shell))
}

/// The attempt at the innermost step around a scope: phases are not tried again.
pub(crate) fn attempt_around(scope: &ScopePath) -> Attempt {
    let around = std::iter::successors(Some(scope.clone()), |scope| Some(scope.owner()?.scope()));
    let mut steps = around.filter(|scope| scope.owner().is_some_and(|step| !step.is_phase()));
    steps.next().map_or(Attempt::FIRST, |scope| scope.attempt())
}

/// A moment in the life of a run at which its files are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The run.
    pub run: RunId,
    /// Where it works.
    pub home: Home,
    /// Before which step's operation, in which of its attempts; without it, the end of the run, or of its work for now.
    pub before: Option<(StepNumber, Attempt)>,
    /// Whether the run begins to wait, and may go on much later.
    pub is_waiting: bool,
    /// Whether what comes after this moment can be held until the files are kept.
    pub can_be_held: bool,
    /// The position in the run's log: that of the operation's order, or of the end.
    pub position: Seq,
}

/// A return to the start of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    /// Before which operation: the step and the attempt are those that roll back.
    pub moment: Moment,
    /// What people call the step.
    pub step: String,
    /// The files are to be as they were at this position: the step's start.
    pub since: Seq,
    /// Where the attempt began. What was kept from there on is its own.
    pub until: Seq,
}

/// Keeps the files of runs, and brings them back.
#[async_trait]
pub trait Snapshots: Send + Sync + 'static {
    /// Whether there is anybody who does.
    fn is_there(&self) -> bool {
        true
    }

    /// Keeps the files as they are. Asked again for the same moment, nothing happens. What can't be kept is told on the run;
    /// the run goes on.
    ///
    /// # Errors
    /// They can't be kept yet, because of something that passes: what was about to change them waits.
    async fn keep(&self, moment: Moment) -> Result<(), Hold>;

    /// Whether the files have gone back already.
    ///
    /// # Errors
    /// It can't be found out, or not yet.
    async fn is_done(&self, rollback: &Rollback) -> Result<bool, Refusal>;

    /// Takes the files back, and writes down that this was done.
    ///
    /// # Errors
    /// They can't go back, or not yet.
    async fn roll_back(&self, rollback: Rollback) -> Result<(), Refusal>;
}

/// Nobody keeps files.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSnapshots;

#[async_trait]
impl Snapshots for NoSnapshots {
    fn is_there(&self) -> bool {
        false
    }

    async fn keep(&self, _: Moment) -> Result<(), Hold> {
        Ok(())
    }

    async fn is_done(&self, _: &Rollback) -> Result<bool, Refusal> {
        Ok(false)
    }

    async fn roll_back(&self, rollback: Rollback) -> Result<(), Refusal> {
        Err(refused(&rollback.step, "no snapshots are kept here").into())
    }
}

/// A step can't be rolled back, and trying again would not help.
#[must_use]
pub fn refused(step: &str, why: &str) -> Failure {
    let message = format!("the files can't go back to the start of `{step}`: {why}");
    Failure::new(FailureKind::NonRetryable, message)
}
