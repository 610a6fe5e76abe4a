//! Bodies that are played: finished under an earlier source, and saying something else now.
//!
//! Such a body is not executed. Whenever its code was once resumed, it does what it did then: it asks for the same
//! operations and steps, writes the same state, comes to the same end. So everything that holds for executed bodies
//! (positions, signals, closings, retries) holds for these, and the code around them sees no difference.

use super::AdvanceError;
use super::cursor::Cursor;
use crate::entry::{ActCause, Deed, Entry, KeptBody, StepOutcome};
use crate::failure::Failure;
use crate::path::StepPath;
use crate::program::{BodyOutcome, ScopeId, StepOptions};

impl Cursor {
    /// Whether some body is played that has not done all it did.
    pub(super) fn has_acts(&self) -> bool {
        !self.acts.is_empty()
    }

    pub(super) fn is_played(&self, step: &StepPath) -> bool {
        self.playing.contains(step)
    }

    /// A step is asked for. If it had finished with another body or policy, it is executed as it was then.
    pub(super) fn keep_body(
        &mut self,
        step: &StepPath,
        asked: &StepOptions,
    ) -> Result<StepOptions, AdvanceError> {
        if self.journal.kept_body(step).is_none()
            && let Some(kept) = self.anew.as_mut().and_then(|anew| anew.body_to_keep(step, asked))
        {
            self.append(Entry::BodyKept(kept))?;
        }
        let Some(kept) = self.journal.kept_body(step).filter(|kept| kept.differs(asked)) else {
            return Ok(asked.clone());
        };
        if let Some(acts) = &kept.acts {
            self.playing.insert(step.clone());
            for act in acts {
                self.acts.entry(act.by.clone()).or_default().push(act.deed.clone());
            }
        }
        let KeptBody { body, retry, timeout_ms, .. } = kept;
        Ok(StepOptions {
            retry: *retry,
            timeout: *timeout_ms,
            rolls_back: asked.rolls_back,
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
        // What was done has its names already, whatever the order in which it is done again.
        match deed {
            Deed::Ordered { operation, args, due } => {
                let Some(name) = operation.name() else { return Ok(()) };
                let ticket = self.ask_operation(scope, &operation);
                let new = self.order(&operation, args, due, None)?;
                self.begin(ticket, &operation, name)?;
                if new { self.end_no_sleep(operation, due) } else { Ok(()) }
            }
            Deed::Asked { step, retry, timeout_ms, body } => {
                let options =
                    StepOptions { retry, timeout: timeout_ms, body, ..StepOptions::default() };
                self.ask_step(scope, &step, &options).1
            }
            Deed::Wrote { operation, value } => {
                let Some(key) = operation.name() else { return Ok(()) };
                self.put_state(operation, key, value);
                Ok(())
            }
            Deed::Remarked { operation, on, message, meta } => {
                self.put_comment(operation, on, message, meta);
                Ok(())
            }
            Deed::Ended { outcome, .. } => {
                self.body_finished(ScopeId(scope), outcome.into());
                Ok(())
            }
        }
    }
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
