//! Rows of steps.

use agentos_core::entry::{AnswerTimes, Entry, StepOutcome};
use agentos_core::operation::OperationKind;
use agentos_core::path::{ScopePath, StepPath};
use agentos_core::time::Timestamp;
use serde_json::{Value, json};

use super::origin::Done;
use super::{Changes, Origin, Projection, StepStatus, to_value};

/// A step or phase that is not over.
#[derive(Debug)]
pub(super) struct OpenStep {
    /// A phase has none.
    pub(super) number: Option<u32>,
    attempt: u32,
    started_at: Option<Timestamp>,
    /// An attempt failed, so the row has said why.
    has_failed: bool,
    /// When the next attempt begins, if one failed; and when that was.
    pub(super) retry: Option<(Timestamp, Timestamp)>,
    /// Whether it was asked for in the history that another source is executed over.
    is_replayed: bool,
    /// What was done in it.
    pub(super) done: Done,
}

/// What a row of a step becomes.
#[derive(Debug, PartialEq)]
pub(crate) struct StepPatch {
    /// What is said once, if the row is new.
    pub(crate) new: Option<NewStep>,
    /// Where the work of a new row comes from.
    pub(crate) origin: Origin,
    pub(crate) status: StepStatus,
    pub(crate) attempt: u32,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) output: Option<Value>,
    pub(crate) error: Option<Value>,
    /// The row may hold the error of an earlier attempt.
    pub(crate) replaces_error: bool,
}

/// What is said about a step when it is asked for.
#[derive(Debug, PartialEq)]
pub(crate) struct NewStep {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) phase: Option<String>,
    pub(crate) max_attempts: u32,
    pub(crate) input: Option<Value>,
    pub(crate) at: Timestamp,
}

impl StepPatch {
    pub(super) const fn pending(new: NewStep) -> Self {
        Self {
            new: Some(new),
            origin: Origin::NONE,
            status: StepStatus::Pending,
            attempt: 1,
            started_at: None,
            completed_at: None,
            output: None,
            error: None,
            replaces_error: false,
        }
    }

    /// An operation that is a step by itself, and under way.
    pub(super) const fn running() -> Self {
        Self {
            new: None,
            origin: Origin::NONE,
            status: StepStatus::Running,
            attempt: 1,
            started_at: None,
            completed_at: None,
            output: None,
            error: None,
            replaces_error: false,
        }
    }

    const fn of(step: &OpenStep) -> Self {
        Self {
            new: None,
            origin: Origin::NONE,
            status: StepStatus::Running,
            attempt: step.attempt,
            started_at: step.started_at,
            completed_at: None,
            output: None,
            error: None,
            replaces_error: step.has_failed,
        }
    }

    /// A step that ends in the turn in which it was asked for has these times, if it has any of its own.
    fn take_origin(&mut self, (origin, times): (Origin, Option<AnswerTimes>)) {
        let Some(new) = &mut self.new else { return };
        self.origin = origin;
        if let Some(times) = times {
            new.at = times.asked_at;
            self.started_at = Some(times.asked_at);
            self.completed_at = Some(times.answered_at);
        }
    }

    pub(super) fn end(&mut self, at: Timestamp, outcome: &StepOutcome) {
        self.completed_at = Some(at);
        (self.status, self.output, self.error) = match outcome {
            StepOutcome::Completed { output } => {
                (StepStatus::Completed, Some(output.clone()), None)
            }
            StepOutcome::Failed { failure } => (StepStatus::Failed, None, Some(to_value(failure))),
            StepOutcome::Skipped { reason } => {
                (StepStatus::Skipped, Some(json!({ "skipped": reason })), None)
            }
            StepOutcome::Cancelled {} => (StepStatus::Cancelled, None, None),
        };
    }
}

impl Projection {
    pub(super) fn step_entry(&mut self, at: Timestamp, entry: &Entry, changes: &mut Changes) {
        match entry {
            Entry::StepRequested { step, number, retry, .. } => {
                let number = number.map(|number| number.0);
                let open = OpenStep {
                    number,
                    attempt: 1,
                    started_at: None,
                    has_failed: false,
                    retry: None,
                    is_replayed: self.is_replayed,
                    done: Done::default(),
                };
                self.steps.insert(step.clone(), open);
                if let Some(number) = number {
                    let new = NewStep {
                        name: name_of(step),
                        path: step.as_str().to_owned(),
                        phase: phase_of(&step.scope()),
                        max_attempts: retry.max_attempts,
                        input: None,
                        at,
                    };
                    let mut patch = StepPatch::pending(new);
                    patch.origin.is_replayed = self.is_replayed;
                    changes.steps.insert(number, patch);
                }
            }
            Entry::AttemptStarted { scope, .. } => self.attempt_started(at, scope, changes),
            Entry::AttemptFailed { scope, failure, retry_at } => {
                let Some(open) = scope.owner().and_then(|step| self.steps.get_mut(&step)) else {
                    return;
                };
                open.retry = Some((at, *retry_at));
                if let Some(patch) = patch(open, changes) {
                    patch.status = StepStatus::Retrying;
                    patch.error = Some(to_value(failure));
                }
                open.has_failed = true;
            }
            Entry::StepEnded { step, outcome } => {
                if let Some(open) = self.steps.remove(step)
                    && let Some(patch) = patch(&open, changes)
                {
                    patch.end(at, outcome);
                    patch.take_origin(open.done.origin(open.is_replayed));
                }
            }
            _ => {}
        }
    }

    /// What stands before was done by another run. What is under way begins now, however long ago that one had begun it.
    pub(super) fn begin_to_live(&mut self, at: Timestamp, changes: &mut Changes) {
        for open in self.steps.values_mut().filter(|open| open.started_at.is_some()) {
            open.started_at = Some(at);
            if open.retry.is_none() {
                patch(open, changes);
            }
        }
        self.is_history = false;
        for (operation, open) in self.operations.iter().filter(|(_, open)| open.is_open()) {
            if let Some(number) = open.number {
                let patch = changes.steps.entry(number).or_insert_with(StepPatch::running);
                patch.started_at = Some(at);
            }
            if open.kind == OperationKind::Agent {
                let key = (open.ordered, operation.clone());
                changes.sessions.entry(key).or_default().restarted_at = Some(at);
            }
        }
    }

    fn attempt_started(&mut self, at: Timestamp, scope: &ScopePath, changes: &mut Changes) {
        let Some(open) = scope.owner().and_then(|step| self.steps.get_mut(&step)) else {
            return;
        };
        open.attempt = scope.attempt().0;
        open.started_at = open.started_at.or(Some(at));
        open.retry = None;
        if let Some(patch) = patch(open, changes) {
            patch.status = StepStatus::Running;
            patch.error = None;
        }
    }
}

/// The patch of this step in these changes, with what the step knows by now.
fn patch<'a>(open: &OpenStep, changes: &'a mut Changes) -> Option<&'a mut StepPatch> {
    let patch = changes.steps.entry(open.number?).or_insert_with(|| StepPatch::of(open));
    patch.attempt = open.attempt;
    patch.started_at = open.started_at;
    Some(patch)
}

fn name_of(step: &StepPath) -> String {
    step.name().map_or_else(|| step.as_str().to_owned(), |name| name.as_str().to_owned())
}

/// The phases around a scope, outermost first.
pub(super) fn phase_of(scope: &ScopePath) -> Option<String> {
    let mut names = Vec::new();
    let mut scope = scope.clone();
    while let Some(step) = scope.owner() {
        if step.is_phase() {
            names.push(name_of(&step));
        }
        scope = step.scope();
    }
    names.reverse();
    (!names.is_empty()).then(|| names.join("/"))
}
