//! Which rows an entry is about: what whoever follows a run has to look at again.
//!
//! An entry tells little (`step.ended` with a path), people want the row as it is now. Ids of rows follow from the names
//! in the entry, so they are known without the rest of the log. Some are only guessed at: whether an operation forms a
//! step by itself stands in another entry. A row that is not there is left out by whoever reads them.

use agentos_core::entry::{Entry, OperationResult};
use agentos_core::id::RunId;
use agentos_core::operation::OperationKind;
use agentos_core::path::{OperationId, StepPath};
use agentos_core::time::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::operation::{artifacts, session_files};
use super::{ArtifactRow, artifact_identity};
use crate::ids::{Of, row_id};

/// The rows that entries are about, beside the run's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Steps; some of them may not exist.
    pub steps: Vec<Uuid>,
    /// Remarks.
    pub comments: Vec<Uuid>,
    /// Files.
    pub artifacts: Vec<Uuid>,
    /// Sessions of agents.
    pub sessions: Vec<Uuid>,
    /// Whether the run's input, output and state are wanted, too: at its beginning and at its end.
    pub with_values: bool,
}

impl Touched {
    /// What this entry of this run is about.
    #[must_use]
    pub fn by(run: RunId, entry: &Entry) -> Self {
        let mut touched = Self::default();
        match entry {
            Entry::RunStarted(_) | Entry::RunEnded { .. } => touched.with_values = true,
            Entry::StepRequested { step, .. } | Entry::StepEnded { step, .. } => {
                touched.step(run, Some(step));
            }
            Entry::AttemptStarted { scope, .. }
            | Entry::AttemptFailed { scope, .. }
            | Entry::AttemptTimedOut { scope } => touched.step(run, scope.owner().as_ref()),
            Entry::CommentAdded { operation, .. } => {
                touched.comments.push(row_id(run, Of::Comment(operation.as_str())));
            }
            Entry::OperationEnded { operation, result } => {
                touched.operation(run, operation);
                touched.kept(run, operation, result);
            }
            Entry::OperationOrdered { operation, .. }
            | Entry::OperationStarted { operation, .. }
            | Entry::OperationInterrupted { operation, .. }
            | Entry::OperationRetried { operation, .. }
            | Entry::OperationHeld { operation, .. }
            | Entry::OperationReleased { operation, .. }
            | Entry::OperationCancelOrdered { operation }
            | Entry::ChildEnded { operation, .. }
            | Entry::TimerFired { operation }
            | Entry::SignalConsumed { operation, .. } => touched.operation(run, operation),
            _ => {}
        }
        touched
    }

    /// These and the others.
    pub fn add(&mut self, other: &Self) {
        self.steps.extend(&other.steps);
        self.comments.extend(&other.comments);
        self.artifacts.extend(&other.artifacts);
        self.sessions.extend(&other.sessions);
        self.with_values |= other.with_values;
    }

    fn step(&mut self, run: RunId, step: Option<&StepPath>) {
        let step = step.filter(|step| !step.is_phase());
        self.steps.extend(step.map(|step| row_id(run, Of::Step(step.as_str()))));
    }

    fn operation(&mut self, run: RunId, operation: &OperationId) {
        self.steps.push(row_id(run, Of::Step(operation.as_str())));
        if operation.kind() == Some(OperationKind::Agent) {
            self.sessions.push(row_id(run, Of::Session(operation.as_str())));
        }
    }

    fn kept(&mut self, run: RunId, operation: &OperationId, result: &OperationResult) {
        // Only names are wanted of these rows.
        let at = Timestamp(0);
        let rows: Vec<ArtifactRow> = match (operation.kind(), result) {
            (Some(OperationKind::Agent), _) => session_files(at, None, operation, result),
            (Some(OperationKind::Artifact), OperationResult::Ok { value }) => {
                artifacts(at, None, operation, (&Value::Null, value))
            }
            _ => Vec::new(),
        };
        let ids = rows.iter().map(|row| row_id(run, Of::Artifact(&artifact_identity(row))));
        self.artifacts.extend(ids);
    }
}
