//! Promises and the queue behind them, with the timing of JavaScript.
//!
//! The programs of the simulation are meant to behave as TypeScript workflows will: code runs until it awaits, an
//! `await` costs one turn of the queue, `Promise.race` leaves its losers running, a rejection that nobody looks at is
//! unhandled. Rust's own futures do none of that, so they are used here only as coroutines: each one is polled exactly
//! when what resumes it comes up, and talks to its surroundings by handing out [`Call`]s.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::program::{BodyOutcome, Door, ScopeId, Ticket};
use agentos_core::value::Value;

/// What code can throw.
#[derive(Debug, Clone, PartialEq)]
pub enum Thrown {
    /// An error.
    Failure(Failure),
    /// The wish to end the step as skipped.
    Skip(String),
}

/// How a promise was settled.
pub type Settled = Result<Value, Thrown>;

/// A promise of this engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Promise(usize);

/// How an async function ends.
#[derive(Debug)]
pub enum Completion {
    /// With a value or an error.
    Settled(Settled),
    /// With another promise, whose fate it shares two turns of the queue later.
    Adopted(Promise),
}

/// An async function under way.
pub type Coroutine = Pin<Box<dyn Future<Output = Completion>>>;

/// What makes the coroutine of a step's body, given the scope of its attempt.
pub type Body = Rc<dyn Fn(ScopeId) -> Coroutine>;

/// Something done with the door, and the promise or value that came of it.
pub type DoorCall = Box<dyn FnOnce(&mut Engine, &mut Door<'_>) -> Reply>;

/// What a coroutine wants from its engine.
pub enum Call {
    /// Wait for a promise.
    Await(Promise),
    /// Call an async function: it runs until it first awaits.
    Spawn(ScopeId, Coroutine),
    /// `Promise.all`
    All(Vec<Promise>),
    /// `Promise.race`
    Race(Vec<Promise>),
    /// Speak to the world.
    Door(DoorCall),
}

/// What a coroutine gets back.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A promise.
    Promise(Promise),
    /// What a promise was settled with, or what a synchronous call came to.
    Settled(Settled),
}

/// Where a coroutine and its engine meet.
#[derive(Clone, Default)]
pub struct Meeting(Rc<RefCell<(Option<Call>, Option<Reply>)>>);

impl Meeting {
    /// Hands out a call and waits for the reply.
    pub async fn call(&self, call: Call) -> Reply {
        self.0.borrow_mut().0 = Some(call);
        std::future::poll_fn(|_| match self.0.borrow_mut().1.take() {
            Some(reply) => Poll::Ready(reply),
            None => Poll::Pending,
        })
        .await
    }
}

#[derive(Debug, Clone, Copy)]
enum Reaction {
    Resume(usize),
    All { all: usize, index: usize },
    Settle(Promise),
    Finish(ScopeId),
    Ignore,
}

#[derive(Debug)]
enum Queued {
    React(Reaction, Settled),
    Adopt { outer: Promise, inner: Promise },
}

#[derive(Debug)]
struct PromiseState {
    settled: Option<Settled>,
    reactions: Vec<Reaction>,
    handled: bool,
    /// Whose business it is if nobody handles its rejection.
    scope: ScopeId,
}

#[derive(Debug)]
struct AllState {
    result: Promise,
    values: Vec<Value>,
    missing: usize,
}

struct Running {
    coroutine: Option<Coroutine>,
    promise: Promise,
}

/// The engine: promises, coroutines, and the queue that connects them.
#[derive(Default)]
pub struct Engine {
    promises: Vec<PromiseState>,
    alls: Vec<AllState>,
    running: Vec<Running>,
    queue: VecDeque<Queued>,
    tickets: HashMap<Ticket, Promise>,
    bodies: HashMap<Ticket, Body>,
    meeting: Meeting,
}

impl Engine {
    /// Where this engine's coroutines hand out their calls.
    #[must_use]
    pub fn meeting(&self) -> Meeting {
        self.meeting.clone()
    }

    /// A new promise.
    pub fn promise(&mut self, scope: ScopeId) -> Promise {
        self.promises.push(PromiseState {
            settled: None,
            reactions: Vec::new(),
            handled: false,
            scope,
        });
        Promise(self.promises.len() - 1)
    }

    /// A promise for what was asked for, or one that is rejected already because it was refused.
    pub fn asked(&mut self, scope: ScopeId, asked: Result<Ticket, Failure>) -> Promise {
        let promise = self.promise(scope);
        match asked {
            Ok(ticket) => {
                self.tickets.insert(ticket, promise);
            }
            Err(failure) => self.settle(promise, Err(Thrown::Failure(failure))),
        }
        promise
    }

    /// A promise for a step, whose body is called when it begins.
    pub fn asked_step(
        &mut self,
        scope: ScopeId,
        asked: Result<Ticket, Failure>,
        body: Body,
    ) -> Promise {
        if let Ok(ticket) = asked {
            self.bodies.insert(ticket, body);
        }
        self.asked(scope, asked)
    }

    /// Says that somebody looks at a promise's rejection: `.catch(() => {})`.
    pub fn ignore(&mut self, promise: Promise) {
        self.react(promise, Reaction::Ignore);
    }

    /// The first rejection in a scope that nobody looked at.
    #[must_use]
    pub fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        let of_scope =
            self.promises.iter().filter(|promise| promise.scope == scope && !promise.handled);
        of_scope
            .filter_map(|promise| match &promise.settled {
                Some(Err(Thrown::Failure(failure))) => Some(failure.clone()),
                _ => None,
            })
            .find(|failure| failure.kind != FailureKind::Cancelled)
    }

    /// Starts the body of a run or step, and reports its end to the door.
    pub fn start_body(&mut self, scope: ScopeId, coroutine: Coroutine, door: &mut Door<'_>) {
        let promise = self.spawn(scope, coroutine, door);
        self.react(promise, Reaction::Finish(scope));
        self.drain(door);
    }

    /// Starts the body of a step that was asked for.
    pub fn start_step(&mut self, ticket: Ticket, scope: ScopeId, door: &mut Door<'_>) {
        if let Some(body) = self.bodies.get(&ticket).cloned() {
            self.start_body(scope, body(scope), door);
        }
    }

    /// Answers what was asked for.
    pub fn answer(&mut self, ticket: Ticket, result: Result<Value, Failure>, door: &mut Door<'_>) {
        if let Some(promise) = self.tickets.get(&ticket).copied() {
            self.settle(promise, result.map_err(Thrown::Failure));
        }
        self.drain(door);
    }

    /// Runs what is queued until nothing is.
    fn drain(&mut self, door: &mut Door<'_>) {
        while let Some(queued) = self.queue.pop_front() {
            match queued {
                Queued::Adopt { outer, inner } => self.react(inner, Reaction::Settle(outer)),
                Queued::React(Reaction::Resume(running), settled) => {
                    self.meeting.0.borrow_mut().1 = Some(Reply::Settled(settled));
                    self.run(running, door);
                }
                Queued::React(Reaction::Settle(promise), settled) => self.settle(promise, settled),
                Queued::React(Reaction::All { all, index }, settled) => {
                    self.one_of_all(all, index, settled)
                }
                Queued::React(Reaction::Finish(scope), settled) => door.finish(
                    scope,
                    match settled {
                        Ok(value) => BodyOutcome::Returned(value),
                        Err(Thrown::Failure(failure)) => BodyOutcome::Threw(failure),
                        Err(Thrown::Skip(reason)) => BodyOutcome::Skipped(reason),
                    },
                ),
                Queued::React(Reaction::Ignore, _) => {}
            }
        }
    }

    fn spawn(&mut self, scope: ScopeId, coroutine: Coroutine, door: &mut Door<'_>) -> Promise {
        let promise = self.promise(scope);
        self.running.push(Running { coroutine: Some(coroutine), promise });
        self.run(self.running.len() - 1, door);
        promise
    }

    /// Runs a coroutine until it awaits or ends, serving its calls on the way.
    fn run(&mut self, index: usize, door: &mut Door<'_>) {
        let Some(mut coroutine) = self.running[index].coroutine.take() else {
            return;
        };
        loop {
            if let Poll::Ready(completion) =
                coroutine.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                let outer = self.running[index].promise;
                match completion {
                    Completion::Settled(settled) => self.settle(outer, settled),
                    Completion::Adopted(inner) => {
                        self.queue.push_back(Queued::Adopt { outer, inner })
                    }
                }
                return;
            }
            let call = self.meeting.0.borrow_mut().0.take();
            let reply = match call {
                None => return,
                Some(Call::Await(promise)) => {
                    self.running[index].coroutine = Some(coroutine);
                    self.react(promise, Reaction::Resume(index));
                    return;
                }
                Some(Call::Spawn(scope, callee)) => Reply::Promise(self.spawn(scope, callee, door)),
                Some(Call::All(promises)) => {
                    Reply::Promise(self.all(&promises, self.scope_of(index)))
                }
                Some(Call::Race(promises)) => {
                    Reply::Promise(self.race(&promises, self.scope_of(index)))
                }
                Some(Call::Door(call)) => call(self, door),
            };
            self.meeting.0.borrow_mut().1 = Some(reply);
        }
    }

    fn scope_of(&self, index: usize) -> ScopeId {
        self.promises[self.running[index].promise.0].scope
    }

    fn all(&mut self, promises: &[Promise], scope: ScopeId) -> Promise {
        let result = self.promise(scope);
        let all = self.alls.len();
        self.alls.push(AllState {
            result,
            values: vec![Value::Null; promises.len()],
            missing: promises.len(),
        });
        for (index, promise) in promises.iter().enumerate() {
            self.react(*promise, Reaction::All { all, index });
        }
        result
    }

    fn one_of_all(&mut self, all: usize, index: usize, settled: Settled) {
        let state = &mut self.alls[all];
        let result = state.result;
        match settled {
            Err(thrown) => self.settle(result, Err(thrown)),
            Ok(value) => {
                state.values[index] = value;
                state.missing -= 1;
                if state.missing == 0 {
                    let values = std::mem::take(&mut state.values);
                    self.settle(result, Ok(Value::Array(values)));
                }
            }
        }
    }

    fn race(&mut self, promises: &[Promise], scope: ScopeId) -> Promise {
        let result = self.promise(scope);
        for promise in promises {
            self.react(*promise, Reaction::Settle(result));
        }
        result
    }

    /// `promise.then(reaction)`
    fn react(&mut self, promise: Promise, reaction: Reaction) {
        let state = &mut self.promises[promise.0];
        state.handled = true;
        match &state.settled {
            Some(settled) => self.queue.push_back(Queued::React(reaction, settled.clone())),
            None => state.reactions.push(reaction),
        }
    }

    /// Settles a promise; a second time changes nothing.
    fn settle(&mut self, promise: Promise, settled: Settled) {
        let state = &mut self.promises[promise.0];
        if state.settled.is_some() {
            return;
        }
        let reactions = std::mem::take(&mut state.reactions);
        self.queue
            .extend(reactions.into_iter().map(|reaction| Queued::React(reaction, settled.clone())));
        state.settled = Some(settled);
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("promises", &self.promises)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}
