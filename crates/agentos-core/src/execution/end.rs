//! How scopes end: with an outcome, with another attempt, or as cancelled.

use super::AdvanceError;
use super::cursor::{Cursor, ROOT};
use super::diverge::Divergence;
use crate::effect::Timer;
use crate::entry::{Entry, RunOutcome, StepOutcome};
use crate::failure::{Failure, FailureKind};
use crate::path::ScopePath;
use crate::program::{BodyOutcome, Ticket};
use crate::value;

impl Cursor {
    /// The next scope that can end: its body is over or does not matter any more, and every answer was delivered.
    pub(super) fn next_endable(&mut self) -> Option<usize> {
        while let Some(scope) = self.endable.pop_first() {
            let candidate = &self.scopes[scope];
            let waits_for_left = scope == ROOT && !self.left.is_empty();
            if !candidate.ended
                && candidate.is_closing()
                && candidate.open.is_empty()
                && !waits_for_left
            {
                return Some(scope);
            }
        }
        None
    }

    /// Ends a scope. A rejection that nobody handled fails it, unless a cancellation caused it.
    pub(super) fn end_scope(
        &mut self,
        scope: usize,
        unhandled: Option<Failure>,
    ) -> Result<(), AdvanceError> {
        let ending = &mut self.scopes[scope];
        let (doomed, step, path) = (ending.doomed, ending.step, ending.path.clone());
        let grace = ending.grace_until.take();
        let body = ending.end().filter(|_| !doomed);
        self.stop_timeout(scope);
        if let Some(until) = grace {
            self.timers.remove(&(until, Timer::Grace(path.clone())));
        }
        let unhandled = unhandled
            .filter(|failure| failure.kind != FailureKind::Cancelled)
            .map(Failure::bounded);
        let outcome = match (body, unhandled) {
            (Some(BodyOutcome::Returned(_)), Some(failure)) => Some(BodyOutcome::Threw(failure)),
            (Some(BodyOutcome::Returned(output)), None) => Some(match value::check(&output) {
                Ok(()) => BodyOutcome::Returned(output),
                Err(error) => {
                    BodyOutcome::Threw(Failure::new(FailureKind::Limit, error.to_string()))
                }
            }),
            (body, _) => body,
        };
        match step {
            Some(ticket) => self.end_attempt(ticket, &path, outcome),
            None => self.end_run(outcome),
        }
    }

    fn end_attempt(
        &mut self,
        ticket: Ticket,
        scope: &ScopePath,
        outcome: Option<BodyOutcome>,
    ) -> Result<(), AdvanceError> {
        let mut retry = None;
        if let Some(step) = self.step_of(ticket) {
            step.current = None;
            retry = Some(step.retry);
        }
        let outcome = match outcome {
            None => StepOutcome::Cancelled {},
            Some(BodyOutcome::Returned(output)) => StepOutcome::Completed { output },
            Some(BodyOutcome::Skipped(reason)) => StepOutcome::Skipped { reason },
            Some(BodyOutcome::Threw(failure)) if failure.kind == FailureKind::Cancelled => {
                StepOutcome::Cancelled {}
            }
            Some(BodyOutcome::Threw(failure)) => {
                let again = retry.filter(|retry| {
                    failure.is_retryable() && retry.allows_after(scope.attempt()) && !self.cancelled
                });
                match again {
                    Some(_) => return self.fail_attempt(ticket, scope, failure),
                    None => StepOutcome::Failed { failure },
                }
            }
        };
        self.end_step(ticket, outcome)
    }

    /// The attempt failed and there will be another, after a while.
    fn fail_attempt(
        &mut self,
        ticket: Ticket,
        scope: &ScopePath,
        failure: Failure,
    ) -> Result<(), AdvanceError> {
        let Some(step) = self.step_of(ticket).map(|step| (step.path.clone(), step.retry)) else {
            return Ok(());
        };
        let (path, retry) = step;
        let nth = scope.attempt().0.saturating_sub(1) as usize;
        let record = self.journal.step(&path);
        let recorded = record.and_then(|record| record.failures.get(nth).cloned());
        let next = record.and_then(|record| record.attempts.get(nth + 1).copied());
        let retry_at = match recorded {
            Some((recorded, _)) if recorded != failure => {
                return Err(Divergence::changed(scope, &recorded, &failure).into());
            }
            Some((_, retry_at)) => retry_at,
            None => {
                let failed_at = match &self.anew {
                    Some(anew) => anew.failed_at(scope, self.at),
                    None => self.at,
                };
                let retry_at = failed_at.after(retry.delay_after(scope, self.seed()));
                self.append(Entry::AttemptFailed { scope: scope.clone(), failure, retry_at })?;
                retry_at
            }
        };
        match next {
            Some(_) => self.await_recorded(next),
            None => {
                let timer = (retry_at, Timer::Retry(scope.clone()));
                if let Some(step) = self.step_of(ticket) {
                    step.retry_timer = Some(timer.clone());
                }
                self.timers.insert(timer);
            }
        }
        Ok(())
    }

    /// The step is over; whoever asked for it is answered when this is delivered.
    pub(super) fn end_step(
        &mut self,
        ticket: Ticket,
        outcome: StepOutcome,
    ) -> Result<(), AdvanceError> {
        self.stop_retry_timer(ticket);
        let Some(step) = self.step_of(ticket) else {
            return Ok(());
        };
        step.ended = true;
        let path = step.path.clone();
        match self.journal.step(&path).and_then(|record| record.ended.as_ref()) {
            Some(recorded) if recorded.value == outcome => Ok(()),
            Some(recorded) => Err(Divergence::changed(path, &recorded.value, &outcome).into()),
            None => self.append(Entry::StepEnded { step: path, outcome }).map(|_| ()),
        }
    }

    /// The back-off of a step is over, or does not matter any more.
    pub(super) fn stop_retry_timer(&mut self, ticket: Ticket) {
        if let Some(timer) = self.step_of(ticket).and_then(|step| step.retry_timer.take()) {
            self.timers.remove(&timer);
        }
    }

    fn end_run(&mut self, outcome: Option<BodyOutcome>) -> Result<(), AdvanceError> {
        let thrown = match outcome {
            Some(BodyOutcome::Threw(failure)) => Some(failure),
            Some(BodyOutcome::Returned(output)) if !self.cancelled => {
                return self.record_end(RunOutcome::Completed { output });
            }
            Some(BodyOutcome::Skipped(_)) if !self.cancelled => {
                return self.record_end(RunOutcome::Completed { output: value::Value::Null });
            }
            _ => None,
        };
        let outcome = match thrown {
            Some(failure) if self.timed_out && !self.cancelled => RunOutcome::TimedOut { failure },
            Some(failure) if !self.cancelled => RunOutcome::Failed { failure },
            thrown => RunOutcome::Cancelled {
                failure: thrown.filter(|failure| failure.kind != FailureKind::Cancelled),
            },
        };
        self.record_end(outcome)
    }

    /// Why the run has failed, or will have as soon as everything that it left open is over.
    pub(super) fn own_failure(&self) -> Option<&Failure> {
        if let Some(end) = self.journal.end() {
            return match end {
                RunOutcome::Failed { failure } | RunOutcome::TimedOut { failure } => Some(failure),
                RunOutcome::Completed { .. } | RunOutcome::Cancelled { .. } => None,
            };
        }
        if self.cancelled {
            return None;
        }
        let thrown = self.scopes[ROOT].body.as_ref().and_then(|body| match body {
            BodyOutcome::Threw(failure) => Some(failure),
            _ => None,
        });
        self.journal.failing().or(thrown)
    }

    fn record_end(&mut self, outcome: RunOutcome) -> Result<(), AdvanceError> {
        self.ended = true;
        self.timers.clear();
        match self.journal.end() {
            Some(recorded) if *recorded == outcome => Ok(()),
            Some(recorded) => Err(Divergence::changed("the run", recorded, &outcome).into()),
            None => self.append(Entry::RunEnded { outcome }).map(|_| ()),
        }
    }
}
