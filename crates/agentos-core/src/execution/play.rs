//! Bodies that are played: finished under an earlier source, and saying something else now.
//!
//! Such a body is not executed. Whenever its code was once resumed, it does what it did then: it asks for the same
//! operations and steps, writes the same state, comes to the same end. So everything that holds for executed bodies
//! (positions, signals, closings, retries) holds for these, and the code around them sees no difference.

use super::AdvanceError;
use super::cursor::Cursor;
use super::diverge::Divergence;
use super::scope::Counted;
use crate::entry::{ActCause, Deed, Entry, KeptBody, StepOutcome};
use crate::failure::Failure;
use crate::path::{OperationId, StepPath};
use crate::program::{BodyOutcome, ScopeId, StepOptions};

impl Cursor {
    /// Whether some body is played that has not done all it did.
    pub(super) fn has_acts(&self) -> bool {
        !self.acts.is_empty()
    }

    /// A step is asked for. If it is one whose body is played, it is executed as it was then.
    pub(super) fn keep_body(
        &mut self,
        step: &StepPath,
        asked: &StepOptions,
    ) -> Result<StepOptions, AdvanceError> {
        if self.journal.step(step).is_none()
            && let Some(kept) = self.anew.as_mut().and_then(|anew| anew.body_to_play(step, asked))
        {
            self.append(Entry::BodyKept(kept))?;
        }
        let Some(kept) = self.journal.kept_body(step) else {
            return Ok(asked.clone());
        };
        for act in &kept.acts {
            self.acts.entry(act.by.clone()).or_default().push(act.deed.clone());
        }
        let KeptBody { body, retry, timeout_ms, .. } = kept;
        Ok(StepOptions {
            retry: *retry,
            timeout: *timeout_ms,
            body: Some(body.clone()),
            site: asked.site.clone(),
        })
    }

    /// Does what bodies did when they were resumed with this.
    pub(super) fn play(&mut self, cause: &ActCause) {
        for deed in self.acts.remove(cause).unwrap_or_default() {
            self.note_fault(|cursor| cursor.play_deed(deed));
        }
    }

    fn play_deed(&mut self, deed: Deed) -> Result<(), AdvanceError> {
        // What was around it may have ended earlier than it did then: the body ends with it.
        let Some(scope) = self.living(&deed.scope()) else {
            return Ok(());
        };
        match deed {
            Deed::Ordered { operation, args, due } => {
                let kind = Self::kind_of(&operation);
                let Some(name) = operation.name() else { return Ok(()) };
                let occurrence = self.scopes[scope].count(Counted::Operation(kind, name.clone()));
                let id = self.scopes[scope].path.operation(kind, &name, occurrence);
                same(&operation, &id)?;
                let ticket = self.ask_operation(scope, &id);
                let new = self.order(&id, args, due, None)?;
                self.begin(ticket, &id, name)?;
                if new { self.end_no_sleep(id, due) } else { Ok(()) }
            }
            Deed::Asked { step, retry, timeout_ms, body } => {
                let Some(name) = step.name() else { return Ok(()) };
                let path = self.next_step(scope, &name, step.is_phase());
                if path != step {
                    return Err(Divergence::changed(&step, &step, &path).into());
                }
                let options = StepOptions { retry, timeout: timeout_ms, body, site: None };
                self.ask_step(scope, &path, &options).1
            }
            Deed::Wrote { operation, value } => {
                let Some(key) = operation.name() else { return Ok(()) };
                self.write_state(ScopeId(scope), key, value).map_or_else(refused, Ok)
            }
            Deed::Remarked { on, message, meta, .. } => {
                self.add_comment(ScopeId(scope), on, message, meta).map_or_else(refused, Ok)
            }
            Deed::Ended { outcome, .. } => {
                self.body_finished(ScopeId(scope), outcome.into());
                Ok(())
            }
        }
    }
}

/// What a body may write was checked when it was first written; a scope that takes nothing any more has ended.
fn refused(_: Failure) -> Result<(), AdvanceError> {
    Ok(())
}

fn same(recorded: &OperationId, found: &OperationId) -> Result<(), AdvanceError> {
    if recorded == found {
        return Ok(());
    }
    Err(Divergence::changed(recorded, recorded, found).into())
}

impl From<StepOutcome> for BodyOutcome {
    /// How a body must have come to its end for its step to end like this.
    fn from(outcome: StepOutcome) -> Self {
        match outcome {
            StepOutcome::Completed { output } => Self::Returned(output),
            StepOutcome::Failed { failure } => Self::Threw(failure),
            StepOutcome::Skipped { reason } => Self::Skipped(reason),
            StepOutcome::Cancelled {} => Self::Threw(Failure::cancelled()),
        }
    }
}
