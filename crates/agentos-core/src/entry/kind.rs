//! What can be asked of any entry: its kind, and whether it records a message.

use super::Entry;
use crate::id::InboxKey;

impl Entry {
    /// The key of the message that this entry records.
    #[must_use]
    pub const fn message_key(&self) -> Option<&InboxKey> {
        match self {
            Self::CancelRequested { key, .. }
            | Self::SignalArrived { key, .. }
            | Self::ApprovalGiven { key, .. }
            | Self::ChildEnded { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The spelling of the entry's kind in the log.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run.started",
            Self::CancelRequested { .. } => "run.cancel_requested",
            Self::RunResumed { .. } => "run.resumed",
            Self::RunRebased { .. } => "run.rebased",
            Self::RunFailing { .. } => "run.failing",
            Self::RunEnded { .. } => "run.ended",
            Self::SourceSwitched { .. } => "source.switched",
            Self::AnswersKept { .. } => "answers.kept",
            Self::AbandonedEnded { .. } => "operation.abandoned_ended",
            Self::StepRequested { .. } => "step.requested",
            Self::BodyKept(_) => "body.kept",
            Self::AttemptStarted { .. } => "attempt.started",
            Self::AttemptFailed { .. } => "attempt.failed",
            Self::StepEnded { .. } => "step.ended",
            Self::ScopeClosing(_) => "scope.closing",
            Self::AttemptTimedOut { .. } => "attempt.timed_out",
            Self::GraceExpired { .. } => "scope.grace_expired",
            Self::OperationOrdered { .. } => "operation.ordered",
            Self::OperationStarted { .. } => "operation.started",
            Self::OperationInterrupted { .. } => "operation.interrupted",
            Self::OperationRetried { .. } => "operation.retried",
            Self::OperationHeld { .. } => "operation.held",
            Self::OperationReleased { .. } => "operation.released",
            Self::OperationCancelOrdered { .. } => "operation.cancel_ordered",
            Self::OperationEnded { .. } => "operation.ended",
            Self::ChildEnded { .. } => "child.ended",
            Self::TimerFired { .. } => "timer.fired",
            Self::SignalArrived { .. } => "signal.arrived",
            Self::ApprovalGiven { .. } => "approval.given",
            Self::SignalOffered { .. } => "signal.offered",
            Self::SignalConsumed { .. } => "signal.consumed",
            Self::StateWritten { .. } => "state.written",
            Self::CommentAdded { .. } => "comment.added",
        }
    }
}
