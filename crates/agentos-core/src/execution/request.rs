//! What happens when program code asks for something: it is found in the log, or it is ordered.

use super::AdvanceError;
use super::cursor::{Cursor, ROOT};
use super::diverge::Divergence;
use super::scope::{Accepts, Asked, AskedStep, Counted, What};
use crate::bounds;
use crate::effect::{Effect, Happening, Timer};
use crate::entry::Entry;
use crate::failure::{Failure, FailureKind};
use crate::id::{Attempt, RunId, StepNumber, Try};
use crate::journal::StepRecord;
use crate::name::Name;
use crate::operation::{OperationKind, Request, Treatment};
use crate::path::{OperationId, ScopePath, StepPath};
use crate::program::{BodyOutcome, ScopeId, StepOptions, Ticket};
use crate::retry::RetryPolicy;
use crate::source::{BodyText, Site};
use crate::time::{Millis, Timestamp};
use crate::value::{self, Value};

impl Cursor {
    pub(crate) fn request_operation(
        &mut self,
        scope: ScopeId,
        request: Request,
    ) -> Result<Ticket, Failure> {
        value::check(&request.args)
            .map_err(|error| Failure::new(FailureKind::Limit, error.to_string()))?;
        if let Err(failure) = self.admit(scope.0) {
            return self.refuse(scope.0, failure);
        }
        let Request { kind, name, args, timer, site } = request;
        let asking = &mut self.scopes[scope.0];
        let occurrence = asking.count(Counted::Operation(kind, name.clone()));
        let id = asking.path.operation(kind, &name, occurrence);
        let ticket = self.ask_operation(scope.0, &id);
        self.note_fault(|cursor| {
            let due = timer.map(|length| cursor.due(&id, length));
            let new = cursor.order(&id, args, due, site)?;
            cursor.begin(ticket, &id, name)?;
            if new { cursor.end_no_sleep(id, due) } else { Ok(()) }
        });
        Ok(ticket)
    }

    /// A sleep of no length needs no clock. One that was ordered earlier does, however long ago it was due: firing it in
    /// the middle of a replay would put it before what was recorded after it.
    pub(super) fn end_no_sleep(
        &mut self,
        id: OperationId,
        due: Option<Timestamp>,
    ) -> Result<(), AdvanceError> {
        if Self::kind_of(&id) == OperationKind::Sleep && due.is_some_and(|due| due <= self.at) {
            self.absorb(Happening::Timer(Timer::Operation(id)))?;
        }
        Ok(())
    }

    pub(super) fn ask_operation(&mut self, scope: usize, id: &OperationId) -> Ticket {
        let ticket = self.ask(scope, What::Operation(id.clone()));
        self.operations.insert(id.clone(), ticket);
        ticket
    }

    /// When the timer of an operation fires that is asked for now.
    fn due(&self, id: &OperationId, length: Millis) -> Timestamp {
        match &self.anew {
            Some(anew) => anew.due(id, self.at, length),
            None => self.at.after(length),
        }
    }

    /// The order stands in the log, from before or (then the answer is true) from now on.
    pub(super) fn order(
        &mut self,
        id: &OperationId,
        args: Value,
        due: Option<Timestamp>,
        site: Option<Site>,
    ) -> Result<bool, AdvanceError> {
        if let Some(recorded) = self.journal.operation(id) {
            if recorded.args != args {
                return Err(Divergence::changed(id, &recorded.args, &args).into());
            }
            return Ok(false);
        }
        let scope = self.operations.get(id).map_or(ROOT, |ticket| self.asked[ticket.0].scope);
        let number = self.own_number(scope, id);
        let r#try = self.journal.left_behind().get(id).map_or(Try::FIRST, |left| left.r#try.next());
        let child = self.child_of(id, r#try);
        self.append(Entry::OperationOrdered {
            operation: id.clone(),
            number,
            args,
            due,
            child,
            r#try,
            site,
        })?;
        if let Some(result) = self.journal.kept_answer(id).cloned() {
            self.append(Entry::OperationEnded { operation: id.clone(), result })?;
            return Ok(false);
        }
        Ok(true)
    }

    /// The run that an invocation creates.
    fn child_of(&self, id: &OperationId, r#try: Try) -> Option<RunId> {
        let run = self.journal.start()?.run;
        let known = self.anew.as_ref().and_then(|anew| anew.known.children.get(id));
        (Self::kind_of(id) == OperationKind::Invoke)
            .then(|| known.copied().unwrap_or_else(|| run.child(id, r#try)))
    }

    /// Outside of steps, an operation forms a step of its own.
    fn own_number(&self, scope: usize, id: &OperationId) -> Option<StepNumber> {
        (!self.scopes[scope].in_step).then(|| self.journal.number_for(id.as_str()))
    }

    /// Sees to it that an ordered operation gets its answer.
    pub(super) fn begin(
        &mut self,
        ticket: Ticket,
        id: &OperationId,
        name: Name,
    ) -> Result<(), AdvanceError> {
        let Some(record) = self.journal.operation(id) else {
            return Ok(());
        };
        let (answered, due, r#try) = (record.is_answered(), record.due, record.r#try);
        let (answer, offered) = (record.answer(), record.offered);
        let rests = record.is_started() && !record.cancel_ordered;
        let kind = Self::kind_of(id);
        match kind.treatment() {
            Treatment::Performed if self.begin_hold(ticket, id) => {}
            Treatment::Performed => {
                if !answered {
                    self.perform(id, r#try);
                }
                self.performing.insert(ticket);
            }
            Treatment::Invoked => {
                // Once the child is known to exist, waiting for it needs nobody.
                if !answered {
                    self.perform(id, r#try);
                }
                if rests {
                    self.waiting.insert(ticket)
                } else {
                    self.performing.insert(ticket)
                };
            }
            Treatment::Timed | Treatment::Signalled | Treatment::Noted => {
                self.waiting.insert(ticket);
                if let Some(due) = due.filter(|_| !answered) {
                    self.timers.insert((due, Timer::Operation(id.clone())));
                }
            }
        }
        self.await_recorded(answer);
        if kind == OperationKind::Wait && self.journal.kept_answer(id).is_none() {
            self.await_recorded(offered);
            self.begin_wait(ticket, id, name)?;
        }
        Ok(())
    }

    /// Has this try of an operation performed after the commit.
    /// One that follows on a try that a source switch left behind begins when that one is dead.
    pub(super) fn perform(&mut self, id: &OperationId, r#try: Try) {
        let dead = !self.left.contains(id);
        let Some(record) = self.journal.operation(id).filter(|_| dead) else {
            return;
        };
        self.effects.push(Effect::Perform {
            operation: id.clone(),
            kind: Self::kind_of(id),
            r#try,
            args: record.args.clone(),
            child: record.child,
            started: record.started.clone(),
            granted: record.granted.clone(),
        });
    }

    /// Asks for a step, or without a policy for a phase.
    pub(crate) fn request_step(
        &mut self,
        scope: ScopeId,
        name: &Name,
        options: Option<StepOptions>,
    ) -> Result<Ticket, Failure> {
        if let Err(failure) = self.admit(scope.0) {
            return self.refuse(scope.0, failure);
        }
        if self.scopes[scope.0].path.depth() >= bounds::SCOPE_DEPTH {
            let message = format!("steps can be nested {} deep at most", bounds::SCOPE_DEPTH);
            return Err(Failure::new(FailureKind::Limit, message));
        }
        let path = self.next_step(scope.0, name, options.is_none());
        let options = options.unwrap_or_else(|| StepOptions {
            retry: RetryPolicy::once(),
            ..StepOptions::default()
        });
        let (ticket, begun) = self.ask_step(scope.0, &path, &options);
        self.note_fault(|_| begun);
        Ok(ticket)
    }

    /// The path of the next step or phase of this name.
    pub(super) fn next_step(&mut self, scope: usize, name: &Name, is_phase: bool) -> StepPath {
        let asking = &mut self.scopes[scope];
        if is_phase {
            let occurrence = asking.count(Counted::Phase(name.clone()));
            asking.path.phase(name, occurrence)
        } else {
            let occurrence = asking.count(Counted::Step(name.clone()));
            asking.path.step(name, occurrence)
        }
    }

    pub(super) fn ask_step(
        &mut self,
        scope: usize,
        path: &StepPath,
        options: &StepOptions,
    ) -> (Ticket, Result<(), AdvanceError>) {
        let retry = options.retry;
        let step =
            AskedStep { path: path.clone(), retry, current: None, retry_timer: None, ended: false };
        let ticket = self.ask(scope, What::Step(step));
        self.steps.insert(path.clone(), ticket);
        (ticket, self.begin_step(ticket, path, options))
    }

    fn begin_step(
        &mut self,
        ticket: Ticket,
        path: &StepPath,
        options: &StepOptions,
    ) -> Result<(), AdvanceError> {
        let options = self.keep_body(path, options)?;
        if let Some(step) = self.step_of(ticket) {
            step.retry = options.retry;
        }
        if let Some(recorded) = self.journal.step(path) {
            check_same(path, recorded, &options)?;
            let first = recorded.attempts.first().copied();
            let end = recorded.ended.as_ref().map(|end| end.seq);
            self.await_recorded(first);
            self.await_recorded(end);
            return Ok(());
        }
        let number = (!path.is_phase()).then(|| self.journal.number_for(path.as_str()));
        self.append(Entry::StepRequested {
            step: path.clone(),
            number,
            retry: options.retry,
            timeout_ms: options.timeout,
            rolls_back: options.rolls_back,
            body: options.body,
            site: options.site,
        })?;
        self.start_attempt(path.attempt(Attempt::FIRST))
    }

    pub(super) fn start_attempt(&mut self, scope: ScopePath) -> Result<(), AdvanceError> {
        let counts_from = self.anew.as_ref().and_then(|anew| anew.counts_from(&scope, self.at));
        self.append(Entry::AttemptStarted { scope, counts_from }).map(|_| ())
    }

    fn ask(&mut self, scope: usize, what: What) -> Ticket {
        let ticket = Ticket(self.asked.len());
        self.asked.push(Asked { scope, what, settled: false });
        self.scopes[scope].open.insert(ticket);
        ticket
    }

    /// Whether a scope, and all around it, still accepts operations.
    fn admit(&mut self, scope: usize) -> Result<(), Failure> {
        self.drain_requests += 1;
        if self.drain_requests > bounds::DRAIN_REQUESTS {
            return Err(Failure::new(
                FailureKind::Limit,
                "too many calls without waiting for one of them",
            ));
        }
        if self.unaware.remove(&scope) {
            return Err(Failure::cancelled());
        }
        if self.accepts(scope) < Accepts::Nothing
            && !self.scopes[scope].ended
            && self.fault.is_none()
        {
            return Ok(());
        }
        Err(if self.cancelled {
            Failure::cancelled()
        } else {
            Failure::new(FailureKind::Closed, "this part of the run is over")
        })
    }

    /// A refused call is rejected at once; a program that goes on asking is left waiting.
    fn refuse(&mut self, scope: usize, failure: Failure) -> Result<Ticket, Failure> {
        self.drain_refusals += 1;
        if self.drain_refusals <= bounds::DRAIN_REFUSALS {
            return Err(failure);
        }
        let ticket = Ticket(self.asked.len());
        self.asked.push(Asked { scope, what: What::Nothing, settled: true });
        Ok(ticket)
    }

    /// What a scope accepts: no more than any scope around it.
    pub(super) fn accepts(&self, scope: usize) -> Accepts {
        let around = std::iter::successors(Some(scope), |scope| self.scopes[*scope].parent);
        around.map(|scope| self.scopes[scope].accepts).max().unwrap_or(Accepts::Nothing)
    }

    pub(crate) fn body_finished(&mut self, scope: ScopeId, outcome: BodyOutcome) {
        let outcome = match outcome {
            BodyOutcome::Threw(failure) => BodyOutcome::Threw(failure.bounded()),
            BodyOutcome::Skipped(reason) => {
                BodyOutcome::Skipped(Failure::new(FailureKind::Error, reason).bounded().message)
            }
            BodyOutcome::Returned(output) => BodyOutcome::Returned(output),
        };
        self.finished.push_back((scope.0, outcome));
    }

    /// Program code can't be given our errors in the middle of its work: the first one is kept until it waits.
    pub(super) fn note_fault(&mut self, work: impl FnOnce(&mut Self) -> Result<(), AdvanceError>) {
        if self.fault.is_none() {
            self.fault = work(self).err();
        }
    }
}

/// Whether a step that is asked for is the one that is recorded.
fn check_same(
    path: &StepPath,
    recorded: &StepRecord,
    asked: &StepOptions,
) -> Result<(), Divergence> {
    let hash = |body: &BodyText| body.hash.clone();
    let (was, is) = (recorded.body.as_ref().map(hash), asked.body.as_ref().map(hash));
    // Older logs do not know what bodies say.
    let unknown = was.is_none() || is.is_none();
    let known = (recorded.retry, recorded.timeout, was.filter(|_| !unknown));
    let found = (asked.retry, asked.timeout, is.filter(|_| !unknown));
    if known == found { Ok(()) } else { Err(Divergence::changed(path, &known, &found)) }
}
