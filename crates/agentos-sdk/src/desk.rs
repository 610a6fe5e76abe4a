//! Where an execution keeps what it has asked for: answers that nobody has fetched yet, bodies of steps, and who waits.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::task::Poll;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::path::OperationId;
use agentos_core::program::{ScopeId, Ticket};
use agentos_core::value::Value;
use slab::Slab;

use crate::actions::{Action, Actions};
use crate::body::BodyMaker;
use crate::panics;
use crate::run::Run;

/// The number of a body under way: the workflow's, or that of one attempt at a step.
pub(crate) type BodyId = usize;

/// The place of one answer. It is used again, but not before its answer was fetched or nobody can fetch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SlotId(usize);

#[derive(Debug)]
struct Slot {
    /// The how-manieth that was asked for.
    nth: u64,
    scope: ScopeId,
    ticket: Option<Ticket>,
    answer: Option<Result<Value, Failure>>,
    /// Whether some code has looked for the answer, so that a failure is its business.
    seen: bool,
    /// Whether nobody can look for the answer any more.
    left: bool,
    /// Who looked last, and found nothing.
    waiter: Option<BodyId>,
    /// The effect whose closure is kept for it.
    action: Option<OperationId>,
}

impl Slot {
    /// Whether it is of no further use: its answer has come, nobody can fetch it, and it is no failure that nobody saw.
    const fn is_done(&self) -> bool {
        match &self.answer {
            Some(answer) => self.left && (self.seen || answer.is_ok()),
            None => false,
        }
    }
}

/// All of it, for one execution.
pub(crate) struct Desk {
    pub(crate) run: Arc<Run>,
    pub(crate) actions: Actions,
    slots: Slab<Slot>,
    /// How much was asked for so far.
    asked: u64,
    tickets: HashMap<Ticket, SlotId>,
    bodies: HashMap<Ticket, BodyMaker>,
    /// The body that is being polled.
    current: BodyId,
    /// How many answers it has looked for in vain during this poll.
    waits: usize,
}

impl Desk {
    pub(crate) fn new(run: Arc<Run>) -> Self {
        Self {
            run,
            actions: Actions::default(),
            slots: Slab::new(),
            asked: 0,
            tickets: HashMap::new(),
            bodies: HashMap::new(),
            current: 0,
            waits: 0,
        }
    }

    /// A place for the answer to what was asked for, or to a refusal.
    pub(crate) fn expect(&mut self, scope: ScopeId, asked: Result<Ticket, Failure>) -> SlotId {
        self.asked += 1;
        let nth = self.asked;
        let (ticket, answer) = match asked {
            Ok(ticket) => (Some(ticket), None),
            Err(failure) => (None, Some(Err(failure))),
        };
        let (seen, left, waiter, action) = (false, false, None, None);
        let slot = Slot { nth, scope, ticket, answer, seen, left, waiter, action };
        let slot = SlotId(self.slots.insert(slot));
        if let Some(ticket) = ticket {
            self.tickets.insert(ticket, slot);
        }
        slot
    }

    /// Keeps what makes the bodies of a step.
    pub(crate) fn keep_body(&mut self, ticket: Ticket, maker: BodyMaker) {
        self.bodies.insert(ticket, maker);
    }

    /// Takes it out, to call it without holding the desk.
    pub(crate) fn take_body(&mut self, ticket: Ticket) -> Option<BodyMaker> {
        self.bodies.remove(&ticket)
    }

    /// What the answer in this place is awaited from.
    pub(crate) fn ticket(&self, slot: SlotId) -> Option<Ticket> {
        self.slots.get(slot.0)?.ticket
    }

    /// Keeps the work of an effect until it is taken, or answered without.
    pub(crate) fn keep_action(&mut self, slot: SlotId, operation: OperationId, action: Action) {
        if let Some(slot) = self.slots.get_mut(slot.0) {
            slot.action = Some(operation.clone());
            self.actions.keep(operation, action);
        }
    }

    /// A failure in this place is nobody's business any more.
    pub(crate) fn ignore(&mut self, slot: SlotId) {
        if let Some(slot) = self.slots.get_mut(slot.0) {
            slot.seen = true;
        }
    }

    /// Nobody can look for the answer in this place any more.
    pub(crate) fn leave(&mut self, id: SlotId) {
        if let Some(slot) = self.slots.get_mut(id.0) {
            slot.left = true;
            slot.waiter = None;
            if slot.is_done() {
                self.slots.remove(id.0);
            }
        }
    }

    /// Puts an answer into its place, and says which body waits there.
    pub(crate) fn answer(
        &mut self,
        ticket: Ticket,
        result: Result<Value, Failure>,
    ) -> Option<BodyId> {
        panics::drop_quietly(self.bodies.remove(&ticket));
        let id = self.tickets.remove(&ticket)?;
        let slot = self.slots.get_mut(id.0)?;
        if let Some(operation) = slot.action.take() {
            self.actions.discard(&operation);
        }
        slot.answer = Some(result);
        let waiter = slot.waiter.take();
        if slot.is_done() {
            self.slots.remove(id.0);
        }
        waiter
    }

    /// Looks for an answer on behalf of the body that is polled.
    pub(crate) fn poll(&mut self, id: SlotId) -> Poll<(Option<Ticket>, Result<Value, Failure>)> {
        let Some(slot) = self.slots.get_mut(id.0) else {
            return Poll::Pending;
        };
        slot.seen = true;
        match slot.answer.take() {
            Some(answer) => {
                let ticket = slot.ticket;
                self.slots.remove(id.0);
                Poll::Ready((ticket, answer))
            }
            None => {
                slot.waiter = Some(self.current);
                self.waits += 1;
                Poll::Pending
            }
        }
    }

    /// Drops what workflow code left here.
    pub(crate) fn clear(&mut self) {
        for (_, maker) in self.bodies.drain() {
            panics::drop_quietly(maker);
        }
    }

    /// A body is about to be polled.
    pub(crate) fn begin_poll(&mut self, body: BodyId) {
        self.current = body;
        self.waits = 0;
    }

    /// Whether the body that was polled waits for something of ours.
    pub(crate) const fn waits(&self) -> bool {
        self.waits > 0
    }

    /// The first failure in a scope that no code looked for.
    pub(crate) fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        let unseen = self.slots.iter().filter(|(_, slot)| slot.scope == scope && !slot.seen);
        unseen
            .filter_map(|(_, slot)| match &slot.answer {
                Some(Err(failure)) if failure.kind != FailureKind::Cancelled => {
                    Some((slot.nth, failure))
                }
                _ => None,
            })
            .min_by_key(|(nth, _)| *nth)
            .map(|(_, failure)| failure.clone())
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("slots", &self.slots).finish_non_exhaustive()
    }
}
