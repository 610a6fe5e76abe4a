//! The signs in front of runs and steps. They differ in shape, not only in colour.

use agentos_store::projection::{StepStatus, WorkflowStatus};

use super::paint::{Paint, Tone};

/// The sign of a step.
pub(crate) const fn of_step(status: StepStatus, paint: Paint) -> (Tone, &'static str) {
    let (tone, sign, ascii) = match status {
        StepStatus::Pending => (Tone::Faint, "○", "."),
        StepStatus::Running => (Tone::Busy, "●", "*"),
        StepStatus::Completed => (Tone::Good, "✓", "+"),
        StepStatus::Failed => (Tone::Bad, "✗", "x"),
        StepStatus::Retrying => (Tone::Warning, "↻", "~"),
        StepStatus::Skipped => (Tone::Faint, "–", "-"),
        StepStatus::Cancelled => (Tone::Faint, "⊘", "/"),
    };
    (tone, if paint.is_unicode() { sign } else { ascii })
}

/// The tone in which a run's status is written.
pub(crate) const fn tone_of_run(status: WorkflowStatus) -> Tone {
    match status {
        WorkflowStatus::Pending => Tone::Faint,
        WorkflowStatus::Running => Tone::Busy,
        WorkflowStatus::Completed => Tone::Good,
        WorkflowStatus::Failed | WorkflowStatus::TimedOut => Tone::Bad,
        WorkflowStatus::Cancelled => Tone::Warning,
    }
}
