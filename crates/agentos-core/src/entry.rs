//! The entries of a run log: every fact that a run is made of.
//!
//! Entries are facts, not commands: once committed they stay, in this spelling, for ever. Recorded logs are kept as
//! fixtures that every later version must fold, so a field is never renamed and never changes its meaning; a new
//! need gets a new field with a default or a new kind.
//!
//! Some entries are *deliverable*: they run program code, one at a time, in the order of their positions (see
//! [`crate::execution`]). The others only record.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::{InboxKey, RunId, Seed, Seq, StepNumber, Try};
use crate::name::Name;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::retry::RetryPolicy;
use crate::time::{Millis, Timestamp};
use crate::value::Value;

/// An entry with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its position.
    pub seq: Seq,
    /// When it was recorded. Never earlier than the entry before.
    pub at: Timestamp,
    /// The fact.
    pub entry: Entry,
}

/// What a run starts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: Name,
    /// The hash of the workflow's modules; the run keeps the source it started with.
    pub definition: String,
    /// The input, already validated.
    pub input: Value,
    /// Where the run's randomness comes from.
    pub seed: Seed,
    /// How long cleanup may go on after something was closed or cancelled.
    pub grace_ms: Millis,
}

/// Why a scope stopped accepting ordinary work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseCause {
    /// Its body ended and left something open.
    Finished,
    /// The run was cancelled.
    Cancelled,
    /// Its grace ran out.
    Expired,
}

/// What was cancelled when a scope closed. Replay uses this list: what was open *then* can't be seen from the log
/// as it is *now*.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeClosing {
    /// The scope.
    pub scope: ScopePath,
    /// Why.
    pub cause: CloseCause,
    /// Operations to cancel, in the scope and below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationId>,
    /// Steps to cancel, in the scope and below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepPath>,
    /// Until when cleanup may still ask for operations; without it, not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_until: Option<Timestamp>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum StepOutcome {
    /// Its body returned.
    Completed {
        /// What it returned.
        output: Value,
    },
    /// Its last attempt failed.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// Its body said that there was nothing to do.
    Skipped {
        /// Why.
        reason: String,
    },
    /// What it belonged to ended first, or the run was cancelled.
    Cancelled,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum RunOutcome {
    /// The workflow returned.
    Completed {
        /// What it returned.
        output: Value,
    },
    /// The workflow failed.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// The run was cancelled.
    Cancelled {
        /// What the workflow threw while it was cleaning up, if that was anything else than the cancellation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
}

/// The result of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum OperationResult {
    /// It worked.
    Ok {
        /// What came out.
        value: Value,
    },
    /// It did not.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// It was cancelled, and nothing of it is alive.
    Cancelled,
}

/// What a comment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentOn {
    /// The step in whose scope it was made.
    Step,
    /// The run.
    Run,
}

/// One fact of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum Entry {
    /// The run exists. *Delivered:* starts the workflow's body.
    #[serde(rename = "run.started")]
    RunStarted(RunStarted),

    /// Somebody wants the run to end. *Delivered:* cancels what is open; a second wish changes nothing.
    #[serde(rename = "run.cancel_requested")]
    CancelRequested {
        /// The message's key.
        key: InboxKey,
        /// Why, if they said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },

    /// The run can't go on: it waits for nothing, or reached a bound. *Delivered:* closes it with this failure.
    #[serde(rename = "run.failing")]
    RunFailing {
        /// Why.
        failure: Failure,
    },

    /// The run is over.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// How.
        outcome: RunOutcome,
    },

    /// The program asked for a step or phase.
    #[serde(rename = "step.requested")]
    StepRequested {
        /// The step.
        step: StepPath,
        /// Its row; a phase has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<StepNumber>,
        /// How it is retried.
        retry: RetryPolicy,
    },

    /// An attempt begins. *Delivered:* starts its body.
    #[serde(rename = "attempt.started")]
    AttemptStarted {
        /// The attempt.
        scope: ScopePath,
    },

    /// An attempt failed and there will be another.
    #[serde(rename = "attempt.failed")]
    AttemptFailed {
        /// The attempt.
        scope: ScopePath,
        /// Why.
        failure: Failure,
        /// When the next one begins.
        retry_at: Timestamp,
    },

    /// A step or phase is over. *Delivered:* answers whoever asked for it.
    #[serde(rename = "step.ended")]
    StepEnded {
        /// The step.
        step: StepPath,
        /// How.
        outcome: StepOutcome,
    },

    /// A scope stopped accepting ordinary work; what it had open is cancelled.
    #[serde(rename = "scope.closing")]
    ScopeClosing(ScopeClosing),

    /// A closing scope's grace is over. *Delivered:* the scope refuses whatever is still asked for.
    #[serde(rename = "scope.grace_expired")]
    GraceExpired {
        /// The scope.
        scope: ScopePath,
    },

    /// The program asked for an operation. Whatever it does in the world starts after this is committed.
    #[serde(rename = "operation.ordered")]
    OperationOrdered {
        /// The operation.
        operation: OperationId,
        /// The row of the step that it forms by itself, when it was asked for outside a step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<StepNumber>,
        /// What it was asked for with.
        args: Value,
        /// When its timer fires, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
    },

    /// An operation is known to have started.
    #[serde(rename = "operation.started")]
    OperationStarted {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
        /// Where it can be found again: a process, a session id.
        detail: Value,
    },

    /// A try came to nothing: whoever executed it died.
    #[serde(rename = "operation.interrupted")]
    OperationInterrupted {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
    },

    /// An interrupted operation is executed again.
    #[serde(rename = "operation.retried")]
    OperationRetried {
        /// The operation.
        operation: OperationId,
        /// The new try.
        r#try: Try,
    },

    /// A running operation is to be stopped. Its end is recorded when it is proven dead.
    #[serde(rename = "operation.cancel_ordered")]
    OperationCancelOrdered {
        /// The operation.
        operation: OperationId,
    },

    /// An operation is over. *Delivered:* answers whoever asked for it.
    #[serde(rename = "operation.ended")]
    OperationEnded {
        /// The operation.
        operation: OperationId,
        /// What came out.
        result: OperationResult,
    },

    /// The time of a sleep or of a wait's timeout has come. *Delivered:* answers it, unless something else did.
    #[serde(rename = "timer.fired")]
    TimerFired {
        /// The operation.
        operation: OperationId,
    },

    /// A signal came in. *Delivered:* answers every open wait of its name, or is kept for the next.
    #[serde(rename = "signal.arrived")]
    SignalArrived {
        /// The message's key.
        key: InboxKey,
        /// Its name.
        name: Name,
        /// What it carries.
        payload: Value,
    },

    /// A kept signal meets a new wait of its name. *Delivered:* as the arrival.
    #[serde(rename = "signal.offered")]
    SignalOffered {
        /// The signal.
        key: InboxKey,
        /// The wait that was asked for.
        operation: OperationId,
    },

    /// A signal answered a wait.
    #[serde(rename = "signal.consumed")]
    SignalConsumed {
        /// The signal.
        key: InboxKey,
        /// The wait.
        operation: OperationId,
    },

    /// The program wrote to the run's state.
    #[serde(rename = "state.written")]
    StateWritten {
        /// The write's identity; its name is the key.
        operation: OperationId,
        /// The new value; without it, the key is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },

    /// The program made a remark.
    #[serde(rename = "comment.added")]
    CommentAdded {
        /// The remark's identity.
        operation: OperationId,
        /// What it belongs to.
        on: CommentOn,
        /// The remark.
        message: String,
        /// Whatever else was said.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        meta: Value,
    },
}

impl Entry {
    /// The spelling of the entry's kind in the log.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run.started",
            Self::CancelRequested { .. } => "run.cancel_requested",
            Self::RunFailing { .. } => "run.failing",
            Self::RunEnded { .. } => "run.ended",
            Self::StepRequested { .. } => "step.requested",
            Self::AttemptStarted { .. } => "attempt.started",
            Self::AttemptFailed { .. } => "attempt.failed",
            Self::StepEnded { .. } => "step.ended",
            Self::ScopeClosing(_) => "scope.closing",
            Self::GraceExpired { .. } => "scope.grace_expired",
            Self::OperationOrdered { .. } => "operation.ordered",
            Self::OperationStarted { .. } => "operation.started",
            Self::OperationInterrupted { .. } => "operation.interrupted",
            Self::OperationRetried { .. } => "operation.retried",
            Self::OperationCancelOrdered { .. } => "operation.cancel_ordered",
            Self::OperationEnded { .. } => "operation.ended",
            Self::TimerFired { .. } => "timer.fired",
            Self::SignalArrived { .. } => "signal.arrived",
            Self::SignalOffered { .. } => "signal.offered",
            Self::SignalConsumed { .. } => "signal.consumed",
            Self::StateWritten { .. } => "state.written",
            Self::CommentAdded { .. } => "comment.added",
        }
    }
}
