//! The recorded life of a step: asked for, attempted, perhaps failed and attempted again, ended.

use super::illegal::Illegal;
use super::scope::ScopeRecord;
use super::{Deliverable, Journal, Placed};
use crate::bounds;
use crate::entry::{KeptBody, StepOutcome};
use crate::failure::Failure;
use crate::id::{Attempt, Seq, StepNumber};
use crate::path::{ScopePath, StepPath};
use crate::retry::RetryPolicy;
use crate::source::BodyText;
use crate::time::{Millis, Timestamp};

/// A step as the log knows it.
#[derive(Debug)]
pub(crate) struct StepRecord {
    /// A phase has none.
    pub(crate) number: Option<StepNumber>,
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Option<Millis>,
    pub(crate) body: Option<BodyText>,
    /// Every attempt that began, in order.
    pub(crate) attempts: Vec<Seq>,
    /// Why attempts failed that were followed by another, and when that one was due.
    pub(crate) failures: Vec<(Failure, Timestamp)>,
    pub(crate) ended: Option<Placed<StepOutcome>>,
    state: StepState,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepState {
    Requested,
    Running(Attempt),
    Retrying(Attempt),
    Ended,
}

impl StepState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "asked for",
            Self::Running(_) => "running",
            Self::Retrying(_) => "about to be tried again",
            Self::Ended => "ended",
        }
    }
}

impl StepRecord {
    pub(super) fn new(retry: RetryPolicy, timeout: Option<Millis>, body: Option<BodyText>) -> Self {
        Self {
            number: None,
            retry,
            timeout,
            body,
            attempts: Vec::new(),
            failures: Vec::new(),
            ended: None,
            state: StepState::Requested,
        }
    }

    pub(crate) const fn state(&self) -> StepState {
        self.state
    }

    fn out_of_order(&self, step: &StepPath) -> Illegal {
        Illegal::OutOfOrder { of: step.to_string(), state: self.state.as_str() }
    }
}

/// The step of an attempt's scope; the run's own scope has none.
fn owner_of(scope: &ScopePath) -> Result<StepPath, Illegal> {
    scope.owner().ok_or_else(|| Illegal::DeadScope { scope: scope.clone() })
}

impl Journal {
    pub(super) fn step_requested(
        &mut self,
        step: StepPath,
        number: Option<StepNumber>,
        record: StepRecord,
    ) -> Result<(), Illegal> {
        if step.scope().depth() >= bounds::SCOPE_DEPTH {
            return Err(Illegal::TooDeep);
        }
        if self.steps.contains_key(&step) {
            return Err(Illegal::Repeated { what: step.to_string() });
        }
        if step.is_phase() == number.is_some() {
            return Err(Illegal::WrongNumber { expected: self.number_for(step.as_str()) });
        }
        self.check_number(step.as_str(), number)?;
        self.live_scope_mut(&step.scope())?.open += 1;
        self.take_number(number);
        self.steps.insert(step, StepRecord { number, ..record });
        Ok(())
    }

    /// A body is kept for a step that was not asked for yet, and does nothing outside of it.
    pub(super) fn body_kept(&mut self, kept: KeptBody) -> Result<(), Illegal> {
        if self.steps.contains_key(&kept.step) || self.bodies.contains_key(&kept.step) {
            return Err(Illegal::Repeated { what: kept.step.to_string() });
        }
        let scopes = kept.acts.iter().flatten().map(|act| act.deed.scope());
        if let Some(scope) = scopes.into_iter().find(|scope| !scope.is_within(&kept.step)) {
            return Err(Illegal::DeadScope { scope });
        }
        self.bodies.insert(kept.step.clone(), kept);
        Ok(())
    }

    fn step_mut(&mut self, step: &StepPath) -> Result<&mut StepRecord, Illegal> {
        self.steps.get_mut(step).ok_or_else(|| Illegal::UnknownStep { step: step.clone() })
    }

    pub(super) fn attempt_started(
        &mut self,
        seq: Seq,
        at: Timestamp,
        scope: ScopePath,
        counts_from: Option<Timestamp>,
    ) -> Result<(), Illegal> {
        let path = owner_of(&scope)?;
        self.live_scope(&path.scope())?;
        let step = self.step_mut(&path)?;
        let next = match step.state {
            StepState::Requested => Attempt::FIRST,
            StepState::Retrying(failed) => failed.next(),
            StepState::Running(_) | StepState::Ended => return Err(step.out_of_order(&path)),
        };
        if scope.attempt() != next {
            return Err(step.out_of_order(&path));
        }
        if step.failures.last().is_some_and(|(_, due)| *due > at) {
            return Err(Illegal::TooEarly);
        }
        step.state = StepState::Running(next);
        step.attempts.push(seq);
        self.scopes.insert(scope.clone(), ScopeRecord::default());
        self.deliver(seq, at, Deliverable::Attempt(scope, counts_from.unwrap_or(at)));
        Ok(())
    }

    pub(super) fn attempt_timed_out(
        &mut self,
        seq: Seq,
        at: Timestamp,
        path: ScopePath,
    ) -> Result<(), Illegal> {
        let timeout = self.steps.get(&owner_of(&path)?).and_then(|step| step.timeout);
        let scope = self.live_scope_mut(&path)?;
        if timeout.is_none() {
            return Err(Illegal::TooEarly);
        }
        if scope.timed_out.is_some() {
            return Err(Illegal::Repeated { what: format!("the timeout of `{path}`") });
        }
        scope.timed_out = Some(seq);
        self.deliver(seq, at, Deliverable::TimedOut(path));
        Ok(())
    }

    pub(super) fn attempt_failed(
        &mut self,
        scope: ScopePath,
        failure: Failure,
        retry_at: Timestamp,
    ) -> Result<(), Illegal> {
        let path = owner_of(&scope)?;
        self.check_nothing_open(&scope)?;
        let step = self.step_mut(&path)?;
        let attempt = scope.attempt();
        if step.state != StepState::Running(attempt) || !step.retry.allows_after(attempt) {
            return Err(step.out_of_order(&path));
        }
        step.state = StepState::Retrying(attempt);
        step.failures.push((failure, retry_at));
        self.live_scope_mut(&scope)?.over = true;
        Ok(())
    }

    pub(super) fn step_ended(
        &mut self,
        seq: Seq,
        at: Timestamp,
        path: StepPath,
        outcome: StepOutcome,
    ) -> Result<(), Illegal> {
        let step =
            self.steps.get(&path).ok_or_else(|| Illegal::UnknownStep { step: path.clone() })?;
        match step.state {
            StepState::Running(attempt) => {
                let scope = path.attempt(attempt);
                self.check_nothing_open(&scope)?;
                self.live_scope_mut(&scope)?.over = true;
            }
            // Only what did not run can end without having run: by being cancelled.
            StepState::Requested | StepState::Retrying(_)
                if outcome == StepOutcome::Cancelled {} => {}
            _ => return Err(step.out_of_order(&path)),
        }
        let step = self.step_mut(&path)?;
        step.state = StepState::Ended;
        step.ended = Some(Placed { seq, value: outcome });
        self.close_one(&path.scope());
        self.deliver(seq, at, Deliverable::StepEnd(path));
        Ok(())
    }
}
