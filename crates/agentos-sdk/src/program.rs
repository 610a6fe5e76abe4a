//! Executes a Rust workflow as a program of the core.
//!
//! Each delivery starts one body or answers one request, and then exactly the body that waited is polled. Wakers play
//! no part in that, so neither threads nor a runtime can change the order of anything.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agentos_core::failure::Failure;
use agentos_core::id::Attempt;
use agentos_core::program::{BodyOutcome, Delivery, Door, Program, ScopeId, Ticket};
use agentos_core::value::Value;

use crate::actions::Actions;
use crate::body::{self, Body, BodyFuture, Polled};
use crate::ctx::Ctx;
use crate::desk::{BodyId, Desk};
use crate::panics;
use crate::run::{Run, RunInfo};
use crate::stage::Stage;
use crate::workflow::Workflow;

/// One execution of a Rust workflow.
pub struct RustProgram {
    workflow: Workflow,
    desk: Desk,
    bodies: BTreeMap<BodyId, Body>,
    next_body: BodyId,
}

impl RustProgram {
    pub(crate) fn new(workflow: Workflow, info: RunInfo) -> Self {
        let run = Arc::new(Run { info, retry: workflow.config().retry });
        Self { workflow, desk: Desk::new(run), bodies: BTreeMap::new(), next_body: 0 }
    }

    /// Where the work of this execution's effects is found.
    #[must_use]
    pub fn actions(&self) -> Actions {
        self.desk.actions.clone()
    }

    /// Starts a body: its function is called, and runs until it waits.
    fn start(&mut self, ctx: Ctx, make: impl FnOnce(Ctx) -> BodyFuture, door: &mut Door<'_>) {
        let scope = ctx.scope;
        let stage = Stage { door: door.reborrow(), desk: &mut self.desk };
        match stage.perform(|| panics::catch(|| make(ctx))) {
            Ok(future) => {
                let id = self.next_body;
                self.next_body += 1;
                self.bodies.insert(id, Body::new(scope, future));
                self.poll(id, door);
            }
            Err(failure) => door.finish(scope, BodyOutcome::Threw(failure)),
        }
    }

    fn start_run(&mut self, scope: ScopeId, input: Value, door: &mut Door<'_>) {
        let workflow = self.workflow.clone();
        let ctx = self.ctx(scope, Attempt::FIRST);
        self.start(ctx, |ctx| workflow.call(ctx, input), door);
    }

    fn start_attempt(
        &mut self,
        ticket: Ticket,
        scope: ScopeId,
        attempt: Attempt,
        door: &mut Door<'_>,
    ) {
        if let Some(maker) = self.desk.take_body(ticket) {
            let ctx = self.ctx(scope, attempt);
            self.start(ctx, &maker, door);
            self.desk.keep_body(ticket, maker);
        }
    }

    fn ctx(&self, scope: ScopeId, attempt: Attempt) -> Ctx {
        Ctx::new(Arc::clone(&self.desk.run), scope, attempt)
    }

    /// Polls a body, and reports its end if it came to one.
    fn poll(&mut self, id: BodyId, door: &mut Door<'_>) {
        let Some(body) = self.bodies.get_mut(&id) else {
            return;
        };
        let scope = body.scope;
        body.polls += 1;
        self.desk.begin_poll(id, body.polls);
        let stage = Stage { door: door.reborrow(), desk: &mut self.desk };
        let outcome = match stage.perform(|| body.poll()) {
            Polled::Waits if self.desk.waits() => return,
            Polled::Waits | Polled::WaitsElsewhere => {
                BodyOutcome::Threw(body::waits_elsewhere(&door.path(scope)))
            }
            Polled::Ended(outcome) => outcome,
        };
        let over = self.bodies.remove(&id);
        let stage = Stage { door: door.reborrow(), desk: &mut self.desk };
        let dropped = stage.perform(|| panics::catch(|| drop(over)));
        let outcome = match (outcome, dropped) {
            (BodyOutcome::Returned(_) | BodyOutcome::Skipped(_), Err(panic)) => {
                BodyOutcome::Threw(panic)
            }
            (outcome, _) => outcome,
        };
        door.finish(scope, outcome);
    }
}

impl Program for RustProgram {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        match delivery {
            Delivery::Run { scope, input } => self.start_run(scope, input, door),
            Delivery::Body { ticket, scope, attempt } => {
                self.start_attempt(ticket, scope, attempt, door);
            }
            Delivery::Answer { ticket, result } => {
                if let Some(waiter) = self.desk.answer(ticket, result) {
                    self.poll(waiter, door);
                }
            }
        }
    }

    fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        self.desk.unhandled(scope)
    }
}

impl Drop for RustProgram {
    /// Bodies that have not come to their end are dropped where they stand, without a stage.
    fn drop(&mut self) {
        while let Some((_, body)) = self.bodies.pop_last() {
            panics::drop_quietly(body);
        }
        self.desk.clear();
    }
}

impl fmt::Debug for RustProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RustProgram")
            .field("workflow", &self.workflow.name())
            .field("desk", &self.desk)
            .field("bodies", &self.bodies)
            .finish_non_exhaustive()
    }
}
