//! The delivery of one entry: the only thing that runs program code.

use super::AdvanceError;
use super::cursor::{Cursor, ROOT};
use super::diverge::Divergence;
use super::scope::{Accepts, Scope, What};
use crate::effect::Timer;
use crate::entry::{ActCause, CloseCause, Entry, OperationResult, StepOutcome};
use crate::failure::{Failure, FailureKind};
use crate::id::InboxKey;
use crate::journal::Deliverable;
use crate::operation::answer_in_time;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::program::{BodyOutcome, Delivery, ScopeId, Ticket};
use crate::random::Randomness;
use crate::time::Timestamp;
use crate::value::Value;

/// What comes next.
pub(super) enum Next {
    /// Code goes on: the program's, or that of bodies which are played, or both.
    Resume(Resumption),
    /// Something changed without the program's knowing.
    Changed,
    /// Nothing, until the world says something.
    Nothing,
}

/// What code goes on with.
pub(super) struct Resumption {
    /// For the program, if it was the program that asked.
    pub(super) delivery: Option<Delivery>,
    /// For bodies that are played, if there are any.
    pub(super) cause: Option<ActCause>,
}

impl Cursor {
    /// Delivers the next entry: exactly one promise is settled, or one body started, before the program runs.
    pub(super) fn next_delivery(&mut self) -> Result<Next, AdvanceError> {
        if self.ended {
            return Ok(Next::Nothing);
        }
        if let Some((key, ticket)) = self.answering.pop_front() {
            return self.answer_by_signal(&key, ticket);
        }
        let Some(seq) = self.ready.pop_first() else {
            return Ok(Next::Nothing);
        };
        self.delivered = seq;
        self.delivering = Some(seq);
        self.lines_here = 0;
        let Some((at, what)) = self.journal.take_deliverable(seq) else {
            return Ok(Next::Changed);
        };
        self.deliver(at, what)
    }

    fn deliver(&mut self, at: Timestamp, what: Deliverable) -> Result<Next, AdvanceError> {
        self.now = self.now.max(at);
        match what {
            Deliverable::RunStart => return Ok(self.start_run()),
            Deliverable::Attempt(scope, from) => return self.start_body(from, &scope),
            Deliverable::StepEnd(step) => return self.answer_step(&step),
            Deliverable::OperationEnd(id) => return self.answer_operation(&id),
            Deliverable::Timer(id) => return self.answer_by_timer(&id),
            Deliverable::Cancel => self.cancel_run()?,
            Deliverable::Resumed(away, until) => self.shift_timeouts(away, until),
            Deliverable::Failing(failure) => self.fail_root(failure),
            Deliverable::Abandoned(id) => self.left_is_dead(&id),
            Deliverable::TimedOut(scope) => self.time_out(&scope),
            Deliverable::Grace(scope) => self.expire(&scope)?,
            Deliverable::Signal(key) => self.signal_arrives(key)?,
            Deliverable::Offer(key) => self.signal_offered(&key),
        }
        Ok(Next::Changed)
    }

    /// What was left behind is dead: the run may end without it, and if it was asked for again, that may begin.
    fn left_is_dead(&mut self, id: &OperationId) {
        self.left.remove(id);
        self.endable.insert(ROOT);
        let asked = self.operations.contains_key(id);
        if let Some(record) =
            self.journal.operation(id).filter(|record| asked && !record.is_answered())
        {
            self.perform(id, record.r#try);
        }
    }

    fn start_run(&mut self) -> Next {
        let input = self.journal.start().map_or(Value::Null, |start| start.input.clone());
        if let Some(deadline) = self.journal.start().and_then(|start| start.deadline)
            && self.journal.failing().is_none()
        {
            self.timers.insert((deadline, Timer::Deadline));
        }
        self.reseed("");
        let delivery = Some(Delivery::Run { scope: ScopeId(ROOT), input });
        Next::Resume(Resumption { delivery, cause: None })
    }

    fn start_body(&mut self, from: Timestamp, scope: &ScopePath) -> Result<Next, AdvanceError> {
        let Some(step_path) = scope.owner() else {
            return Ok(Next::Changed);
        };
        let Some(ticket) = self.steps.get(&step_path).copied() else {
            return Ok(Next::Changed);
        };
        let parent = self.asked[ticket.0].scope;
        let in_step = self.scopes[parent].in_step || !step_path.is_phase();
        let index = self.scopes.len();
        let Some(step) = self.step_of(ticket).filter(|step| !step.ended) else {
            // Cancelled before it began.
            return Ok(Next::Changed);
        };
        if step.current.is_some() {
            return Err(Divergence::NotEnded { identity: scope.to_string() }.into());
        }
        step.current = Some(index);
        let played = self.scopes[parent].played || self.is_played(&step_path);
        let mut begun = Scope::new(scope.clone(), Some(parent), Some(ticket));
        begun.in_step = in_step;
        begun.played = played;
        self.scopes.push(begun);
        if self.missed.remove(&ticket) {
            self.unaware.insert(index);
        }
        self.begin_timeout(index, from);
        self.reseed(scope.as_str());
        let body = Delivery::Body { ticket, scope: ScopeId(index), attempt: scope.attempt() };
        let cause = self.has_acts().then(|| ActCause::Attempt(scope.clone()));
        Ok(Next::Resume(Resumption { delivery: (!played).then_some(body), cause }))
    }

    fn answer_step(&mut self, path: &StepPath) -> Result<Next, AdvanceError> {
        let ticket = self.steps.get(path).copied();
        let ended = ticket.and_then(|ticket| self.step_of(ticket)).is_some_and(|step| step.ended);
        let outcome = self
            .journal
            .step(path)
            .and_then(|step| step.ended.as_ref())
            .map(|end| end.value.clone());
        let (Some(ticket), true, Some(outcome)) = (ticket, ended, outcome) else {
            return Err(Divergence::NotEnded { identity: path.to_string() }.into());
        };
        let result = match outcome {
            StepOutcome::Completed { output } => Ok(output),
            StepOutcome::Failed { failure } => Err(failure),
            StepOutcome::Skipped { .. } => Ok(Value::Null),
            StepOutcome::Cancelled {} => Err(Failure::cancelled()),
        };
        self.reseed(path.as_str());
        Ok(self.answer(ticket, result))
    }

    fn answer_operation(&mut self, id: &OperationId) -> Result<Next, AdvanceError> {
        let result = self
            .journal
            .operation(id)
            .and_then(|record| record.ended.as_ref())
            .map(|end| end.value.clone());
        let (Some(ticket), Some(result)) = (self.operations.get(id).copied(), result) else {
            return Ok(Next::Changed);
        };
        let result = match result {
            OperationResult::Ok { value } => Ok(value),
            OperationResult::Failed { failure } => Err(failure),
            OperationResult::Cancelled {} => Err(Failure::cancelled()),
        };
        self.reseed(id.as_str());
        Ok(self.answer(ticket, result))
    }

    fn answer_by_timer(&mut self, id: &OperationId) -> Result<Next, AdvanceError> {
        let Some(ticket) =
            self.operations.get(id).copied().filter(|ticket| !self.asked[ticket.0].settled)
        else {
            // A signal was first.
            return Ok(Next::Changed);
        };
        let result = answer_in_time(id, self.journal.operation(id).map(|record| &record.args));
        self.reseed(id.as_str());
        Ok(self.answer(ticket, result))
    }

    fn answer_by_signal(&mut self, key: &InboxKey, ticket: Ticket) -> Result<Next, AdvanceError> {
        let payload = self.journal.signal(key).map(|signal| signal.payload.clone());
        let (Some(id), Some(payload)) = (self.operation_of(ticket).cloned(), payload) else {
            return Ok(Next::Changed);
        };
        if !self.hears(ticket) {
            return Ok(Next::Changed);
        }
        let consumed = match self.journal.consumption(key, &id) {
            Some(seq) => seq,
            None => {
                self.append(Entry::SignalConsumed { key: key.clone(), operation: id.clone() })?
            }
        };
        self.delivering = Some(consumed);
        self.reseed(&format!("{key} {id}"));
        Ok(self.answer(ticket, Ok(payload)))
    }

    /// Settles what was asked for, and hands the answer to the program.
    fn answer(&mut self, ticket: Ticket, result: Result<Value, Failure>) -> Next {
        if self.missed.remove(&ticket) {
            self.unaware.insert(self.asked[ticket.0].scope);
        }
        self.settle(ticket);
        let asked = &self.asked[ticket.0];
        let played = self.scopes[asked.scope].played;
        let cause = match &asked.what {
            What::Operation(id) if self.has_acts() => Some(ActCause::Operation(id.clone())),
            What::Step(step) if self.has_acts() => Some(ActCause::Step(step.path.clone())),
            What::Operation(_) | What::Step(_) | What::Nothing => None,
        };
        let delivery = (!played).then_some(Delivery::Answer { ticket, result });
        Next::Resume(Resumption { delivery, cause })
    }

    /// What was asked for is no longer open.
    fn settle(&mut self, ticket: Ticket) {
        let asked = &mut self.asked[ticket.0];
        asked.settled = true;
        let scope = asked.scope;
        if let What::Operation(id) = &asked.what {
            self.performing.remove(&ticket);
            self.waiting.remove(&ticket);
            if let Some(due) = self.journal.operation(id).and_then(|record| record.due) {
                self.timers.remove(&(due, Timer::Operation(id.clone())));
            }
            if let Some(waits) = id.name().and_then(|name| self.waits.get_mut(&name)) {
                waits.remove(&ticket);
            }
        }
        self.scopes[scope].open.remove(&ticket);
        if self.scopes[scope].is_closing() {
            self.endable.insert(scope);
        }
    }

    /// Somebody wants the run to end: what is open is cancelled, and its code sees that.
    fn cancel_run(&mut self) -> Result<(), AdvanceError> {
        if self.cancelled {
            return Ok(());
        }
        self.cancelled = !self.timed_out;
        self.close(ROOT, CloseCause::Cancelled)
    }

    /// The run can't go on: whatever its body may still do, this is how it ends.
    fn fail_root(&mut self, failure: Failure) {
        let bound = failure.kind == FailureKind::Limit;
        self.timed_out |= failure.kind == FailureKind::Timeout && !self.cancelled;
        let outcome = BodyOutcome::Threw(failure);
        match &mut self.scopes[ROOT].body {
            Some(body) => *body = outcome,
            None => self.finished.push_back((ROOT, outcome)),
        }
        if bound {
            self.scopes[ROOT].accepts = Accepts::Nothing;
        }
    }

    /// The program's randomness after this delivery.
    fn reseed(&mut self, identity: &str) {
        self.random = Randomness::after(self.seed(), identity);
    }
}
