//! Structured scopes: nothing outlives what started it.
//!
//! Before an attempt, step or run may end, what it left open is cancelled and proven dead: losers of a race, siblings
//! of a failure, what nobody awaited. What was open at that moment is written down, because a replay, which sees
//! answers that came later, could not find it out again.

use std::collections::HashSet;

use super::AdvanceError;
use super::cursor::{Cursor, ROOT};
use super::diverge::Divergence;
use super::scope::{Accepts, AskedStep, What};
use crate::effect::{Effect, Timer};
use crate::entry::{CloseCause, Entry, OperationResult, ScopeClosing, StepOutcome};
use crate::journal::StepState;
use crate::operation::Treatment;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::time::{Millis, Timestamp};

impl Cursor {
    /// Bodies that came to their end since the program was resumed.
    pub(super) fn close_finished(&mut self) -> Result<(), AdvanceError> {
        while let Some((scope, outcome)) = self.finished.pop_front() {
            let closing = &mut self.scopes[scope];
            if closing.ended || closing.body.is_some() {
                continue;
            }
            closing.body = Some(outcome);
            self.stop_timeout(scope);
            self.close(scope, CloseCause::Finished)?;
            self.endable.insert(scope);
        }
        Ok(())
    }

    /// Closes a scope: cancels what is open in it and below, and lets it accept cleanup at most.
    pub(super) fn close(&mut self, scope: usize, cause: CloseCause) -> Result<(), AdvanceError> {
        let path = self.scopes[scope].path.clone();
        let recorded = self.journal.scope(&path).and_then(|record| record.closing(cause)).cloned();
        let closing = match recorded {
            Some(closing) => closing,
            None if cause == CloseCause::Finished && self.scopes[scope].open.is_empty() => {
                return Ok(());
            }
            None => {
                let closing = self.plan_closing(scope, cause);
                self.append(Entry::ScopeClosing(closing.clone()))?;
                closing
            }
        };
        self.restrict(scope, cause, closing.grace_until);
        self.note_missed(scope, &closing);
        for operation in &closing.operations {
            self.cancel_operation(operation)?;
        }
        for step in &closing.steps {
            self.doom_step(step)?;
        }
        Ok(())
    }

    fn plan_closing(&self, scope: usize, cause: CloseCause) -> ScopeClosing {
        let closing = &self.scopes[scope];
        let mut plan = ScopeClosing {
            scope: closing.path.clone(),
            cause,
            operations: Vec::new(),
            steps: Vec::new(),
            grace_until: None,
        };
        let grace = self.journal.start().map_or(Millis::ZERO, |start| start.grace_ms);
        if cause != CloseCause::Expired && !grace.is_zero() && closing.accepts < Accepts::Nothing {
            let from = match &self.anew {
                Some(anew) => anew.closed_at(&closing.path, cause, self.at),
                None => self.at,
            };
            plan.grace_until = closing.grace_until.or(Some(from.after(grace)));
        }
        self.collect_open(scope, &mut plan);
        plan
    }

    /// What has no recorded answer, in the scope and below it, in the order of asking.
    fn collect_open(&self, scope: usize, plan: &mut ScopeClosing) {
        for ticket in &self.scopes[scope].open {
            match &self.asked[ticket.0].what {
                What::Operation(id) => {
                    let record = self.journal.operation(id);
                    if record.is_some_and(|record| !record.is_answered() && !record.cancel_ordered)
                    {
                        plan.operations.push(id.clone());
                    }
                }
                What::Step(step) => {
                    let state = self.journal.step(&step.path).map(|record| record.state());
                    let doomed = match (plan.cause, state) {
                        (_, None | Some(StepState::Ended)) => continue,
                        // A cancelled run's bodies see the cancellation and end by themselves.
                        (CloseCause::Cancelled, Some(state)) => {
                            matches!(state, StepState::Retrying(_))
                        }
                        (CloseCause::Finished | CloseCause::Expired, Some(_)) => true,
                    };
                    if doomed {
                        plan.steps.push(step.path.clone());
                    }
                    if let Some(current) = step.current {
                        self.collect_open(current, plan);
                    }
                }
                What::Nothing => {}
            }
        }
    }

    /// What is open and not cancelled has its answer already. Whoever waits for it learns of the closing at its next
    /// call; without that, the loser of a race would go on with its work for as long as cleanup is allowed.
    fn note_missed(&mut self, scope: usize, closing: &ScopeClosing) {
        let cancelled: HashSet<&OperationId> = closing.operations.iter().collect();
        let doomed: HashSet<&StepPath> = closing.steps.iter().collect();
        let mut scopes = vec![scope];
        while let Some(scope) = scopes.pop() {
            for ticket in &self.scopes[scope].open {
                match &self.asked[ticket.0].what {
                    What::Operation(id) if cancelled.contains(id) => {}
                    What::Step(step) if doomed.contains(&step.path) => scopes.extend(step.current),
                    What::Step(AskedStep { current: Some(below), .. }) => scopes.push(*below),
                    What::Operation(_) | What::Step(_) | What::Nothing => {
                        self.missed.insert(*ticket);
                    }
                }
            }
        }
    }

    /// From now on the scope accepts less.
    fn restrict(&mut self, scope: usize, cause: CloseCause, grace_until: Option<Timestamp>) {
        let accepts = match (cause, grace_until) {
            (CloseCause::Finished | CloseCause::Cancelled, Some(_)) => Accepts::Cleanup,
            _ => Accepts::Nothing,
        };
        let closing = &mut self.scopes[scope];
        closing.accepts = closing.accepts.max(accepts);
        if let Some(until) = grace_until.filter(|_| closing.grace_until.is_none()) {
            closing.grace_until = Some(until);
            let path = closing.path.clone();
            if self.journal.scope(&path).is_some_and(|record| record.grace_expired.is_none()) {
                self.timers.insert((until, Timer::Grace(path)));
            }
        }
    }

    /// Cancels one operation. What runs in the world is stopped there first; what only waits is over at once.
    fn cancel_operation(&mut self, id: &OperationId) -> Result<(), AdvanceError> {
        if !self.operations.contains_key(id) {
            return Err(Divergence::NotOrdered { identity: id.to_string() }.into());
        }
        let Some(record) = self.journal.operation(id) else {
            return Ok(());
        };
        let (answered, ordered) = (record.is_answered(), record.cancel_ordered);
        let (r#try, due, child) = (record.r#try, record.due, record.child);
        match Self::kind_of(id).treatment() {
            Treatment::Performed | Treatment::Invoked => {
                if let Some(ticket) = self.operations.get(id).copied()
                    && self.waiting.remove(&ticket)
                {
                    self.performing.insert(ticket);
                }
                self.stop_hold_timer(id);
                if !ordered {
                    self.append(Entry::OperationCancelOrdered { operation: id.clone() })?;
                }
                if !answered {
                    self.effects.push(Effect::Stop { operation: id.clone(), r#try, child });
                }
            }
            Treatment::Timed | Treatment::Signalled | Treatment::Noted => {
                if !answered {
                    if let Some(due) = due {
                        self.timers.remove(&(due, Timer::Operation(id.clone())));
                    }
                    self.append(Entry::OperationEnded {
                        operation: id.clone(),
                        result: OperationResult::Cancelled {},
                    })?;
                }
            }
        }
        Ok(())
    }

    /// A step in a closing scope ends as cancelled: at once if no body of it runs, else when its body has nothing open.
    fn doom_step(&mut self, path: &StepPath) -> Result<(), AdvanceError> {
        let Some(ticket) = self.steps.get(path).copied() else {
            return Err(Divergence::NotOrdered { identity: path.to_string() }.into());
        };
        let Some(step) = self.step_of(ticket).filter(|step| !step.ended) else {
            return Ok(());
        };
        match step.current {
            Some(scope) => {
                self.scopes[scope].doomed = true;
                self.endable.insert(scope);
            }
            None => self.end_step(ticket, StepOutcome::Cancelled {})?,
        }
        Ok(())
    }

    /// The scope of this path, if it has begun and not ended.
    pub(super) fn living(&mut self, path: &ScopePath) -> Option<usize> {
        let step = path.owner().and_then(|step| self.steps.get(&step).copied());
        let scope = match step {
            Some(ticket) => self.step_of(ticket).and_then(|step| step.current),
            None => path.is_root().then_some(ROOT),
        };
        scope.filter(|scope| !self.scopes[*scope].ended && self.scopes[*scope].path == *path)
    }

    /// The grace of a closing scope is over: whatever it still has open is cancelled, and it refuses the rest.
    pub(super) fn expire(&mut self, path: &ScopePath) -> Result<(), AdvanceError> {
        let Some(scope) = self.living(path) else {
            return Ok(());
        };
        self.scopes[scope].doomed |= self.scopes[scope].body.is_none();
        self.close(scope, CloseCause::Expired)?;
        self.endable.insert(scope);
        Ok(())
    }
}
