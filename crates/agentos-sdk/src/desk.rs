//! Where an execution keeps what it has asked for: answers that nobody has fetched yet, bodies of steps, and who waits.

use std::collections::{BTreeMap, HashMap};
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

/// One poll of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occasion {
    body: BodyId,
    nth: u64,
    /// The answer because of which it is polled.
    pub(crate) fresh: Option<SlotId>,
}

impl Occasion {
    /// Whether the body was not polled in between.
    pub(crate) const fn follows(&self, last: &Self) -> bool {
        self.body == last.body && self.nth <= last.nth + 1
    }
}

/// How much a body had waited for at some point of its poll.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    waits: usize,
    looked: usize,
}

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
    /// The how-manieth poll of it this is.
    nth: u64,
    /// How many answers it has looked for in vain during this poll.
    waits: usize,
    /// Which those were.
    looked: Vec<SlotId>,
    /// The answer because of which a body is about to be polled.
    answered: Option<SlotId>,
    /// The answer because of which the current body is polled.
    fresh: Option<SlotId>,
    /// Failures that no code has looked for, in the order in which they were asked for.
    unseen: BTreeMap<u64, SlotId>,
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
            nth: 0,
            waits: 0,
            looked: Vec::new(),
            answered: None,
            fresh: None,
            unseen: BTreeMap::new(),
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
        let is_refused = answer.is_some();
        let slot = Slot { nth, scope, ticket, answer, seen, left, waiter, action };
        let slot = SlotId(self.slots.insert(slot));
        if is_refused {
            self.unseen.insert(nth, slot);
        }
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
            self.unseen.remove(&slot.nth);
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
        if result.is_err() && !slot.seen {
            self.unseen.insert(slot.nth, id);
        }
        slot.answer = Some(result);
        let waiter = slot.waiter.take();
        if slot.is_done() {
            self.slots.remove(id.0);
        }
        self.answered = waiter.map(|_| id);
        waiter
    }

    /// Looks for an answer on behalf of the body that is polled.
    pub(crate) fn poll(&mut self, id: SlotId) -> Poll<(Option<Ticket>, Result<Value, Failure>)> {
        let Some(slot) = self.slots.get_mut(id.0) else {
            return Poll::Pending;
        };
        slot.seen = true;
        self.unseen.remove(&slot.nth);
        match slot.answer.take() {
            Some(answer) => {
                let ticket = slot.ticket;
                self.slots.remove(id.0);
                Poll::Ready((ticket, answer))
            }
            None => {
                slot.waiter = Some(self.current);
                self.waits += 1;
                self.looked.push(id);
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
    pub(crate) fn begin_poll(&mut self, body: BodyId, nth: u64) {
        self.current = body;
        self.nth = nth;
        self.waits = 0;
        self.looked.clear();
        self.fresh = self.answered.take();
    }

    /// Why the body is polled. Whoever was there at its last poll and waits for other answers need not look again.
    pub(crate) const fn occasion(&self) -> Occasion {
        Occasion { body: self.current, nth: self.nth, fresh: self.fresh }
    }

    /// How much was waited for during this poll so far.
    pub(crate) const fn mark(&self) -> Mark {
        Mark { waits: self.waits, looked: self.looked.len() }
    }

    /// Answers that were looked for in vain since then, and whether anything was waited for at all.
    pub(crate) fn since(&self, mark: Mark) -> (&[SlotId], bool) {
        (self.looked.get(mark.looked..).unwrap_or_default(), self.waits > mark.waits)
    }

    /// The body waits for answers that it has looked for before.
    pub(crate) const fn still_waits(&mut self) {
        self.waits += 1;
    }

    /// Whether the body that was polled waits for something of ours.
    pub(crate) const fn waits(&self) -> bool {
        self.waits > 0
    }

    /// The first failure in a scope that no code looked for.
    pub(crate) fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        let unseen = self.unseen.values().filter_map(|id| self.slots.get(id.0));
        let mut failures = unseen.filter(|slot| slot.scope == scope).filter_map(|slot| {
            let failure = slot.answer.as_ref()?.as_ref().err()?;
            (failure.kind != FailureKind::Cancelled).then_some(failure)
        });
        failures.next().cloned()
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("slots", &self.slots).finish_non_exhaustive()
    }
}
