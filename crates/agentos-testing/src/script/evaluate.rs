//! Executes a [`Node`] as a program, and keeps a trace of everything it did and saw.

mod control;
mod note;
mod operation;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::name::Name;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::{Delivery, Door, Program, ScopeId, StepOptions};
use agentos_core::source::{BodyText, Site};
use agentos_core::value::Value;
use serde_json::json;

use control::evaluate_control;
use note::evaluate_synchronous;
use operation::evaluate_operation;

use super::Node;
use crate::chance;
use crate::promise::{
    Body, Call, Completion, Coroutine, DoorCall, Engine, Meeting, Promise, Reply, Settled, Thrown,
};

/// What a program did and saw, in order.
pub type Trace = Vec<String>;

/// The account is kept below this number.
const ACCOUNT: i64 = 10_007;

/// A tree, executed.
#[derive(Debug)]
pub struct Script {
    node: Rc<Node>,
    engine: Engine,
    trace: Rc<RefCell<Trace>>,
    edition: u32,
}

impl Script {
    /// A fresh execution of a tree.
    #[must_use]
    pub fn new(node: Rc<Node>) -> Self {
        Self::edition(node, 0)
    }

    /// A fresh execution of another edition: bodies that keep their own account say something else in each, and do the
    /// same.
    #[must_use]
    pub fn edition(node: Rc<Node>, edition: u32) -> Self {
        Self { node, engine: Engine::default(), trace: Rc::default(), edition }
    }

    /// What it does and sees; goes on growing while it is executed.
    #[must_use]
    pub fn trace(&self) -> Rc<RefCell<Trace>> {
        Rc::clone(&self.trace)
    }
}

impl Program for Script {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        match delivery {
            Delivery::Run { scope, input } => {
                self.trace.borrow_mut().push(format!("run {input}"));
                let ctx = Ctx {
                    scope,
                    meeting: self.engine.meeting(),
                    trace: Rc::clone(&self.trace),
                    account: Rc::new(Cell::new(1)),
                    edition: self.edition,
                };
                let node = Rc::clone(&self.node);
                self.engine.start_body(scope, Box::pin(run(node, ctx)), door);
            }
            Delivery::Body { ticket, scope, .. } => {
                self.trace.borrow_mut().push(format!("body {}", door.path(scope)));
                self.engine.start_step(ticket, scope, door);
            }
            Delivery::Answer { ticket, result } => {
                self.trace.borrow_mut().push(match &result {
                    Ok(value) => format!("answer {} {value}", door.identity(ticket)),
                    Err(failure) => format!("answer {} ! {failure}", door.identity(ticket)),
                });
                self.engine.answer(ticket, result, door);
            }
        }
    }

    fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        self.engine.unhandled(scope)
    }
}

/// What `ctx` is to a real workflow.
#[derive(Clone)]
struct Ctx {
    scope: ScopeId,
    meeting: Meeting,
    trace: Rc<RefCell<Trace>>,
    account: Rc<Cell<i64>>,
    edition: u32,
}

async fn run(node: Rc<Node>, ctx: Ctx) -> Completion {
    match ctx.await_node(&node).await {
        Ok(_) => Completion::Settled(Ok(json!(ctx.account.get()))),
        Err(thrown) => Completion::Settled(Err(thrown)),
    }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("scripts use short names")
}

impl Ctx {
    fn mix(&self, number: i64) {
        self.mix_by(31, number);
    }

    fn mix_by(&self, factor: i64, number: i64) {
        self.account.set((self.account.get() * factor + number) % ACCOUNT);
    }

    fn note(&self, event: String) {
        self.trace.borrow_mut().push(event);
    }

    async fn promise(&self, call: Call) -> Promise {
        match self.meeting.call(call).await {
            Reply::Promise(promise) => promise,
            Reply::Settled(_) => unreachable!("the engine replies to this call with a promise"),
        }
    }

    async fn settled(&self, call: Call) -> Settled {
        match self.meeting.call(call).await {
            Reply::Settled(settled) => settled,
            Reply::Promise(_) => unreachable!("the engine replies to this call with a value"),
        }
    }

    async fn wait(&self, promise: Promise) -> Settled {
        self.settled(Call::Await(promise)).await
    }

    /// Calls the async function for a node.
    async fn start(&self, node: &Rc<Node>) -> Promise {
        let coroutine: Coroutine = Box::pin(evaluate(Rc::clone(node), self.clone()));
        self.promise(Call::Spawn(self.scope, coroutine)).await
    }

    async fn await_node(&self, node: &Rc<Node>) -> Settled {
        let promise = self.start(node).await;
        self.wait(promise).await
    }

    async fn start_all(&self, of: &[Node]) -> Vec<Promise> {
        let mut promises = Vec::with_capacity(of.len());
        for node in of {
            promises.push(self.start(&Rc::new(node.clone())).await);
        }
        promises
    }

    /// Speaks to the world and gets an answer at once.
    async fn ask(
        &self,
        call: impl FnOnce(&mut Door<'_>) -> Result<Value, Failure> + 'static,
    ) -> Settled {
        let call: DoorCall =
            Box::new(|_, door| Reply::Settled(call(door).map_err(Thrown::Failure)));
        self.settled(Call::Door(call)).await
    }

    async fn request(&self, request: Request) -> Promise {
        let (scope, trace) = (self.scope, Rc::clone(&self.trace));
        let call: DoorCall = Box::new(move |engine, door| {
            let asked = door.request(scope, request);
            trace.borrow_mut().push(match &asked {
                Ok(ticket) => format!("ask {}", door.identity(*ticket)),
                Err(failure) => format!("refused {} {failure}", door.path(scope)),
            });
            Reply::Promise(engine.asked(scope, asked))
        });
        self.promise(Call::Door(call)).await
    }

    /// What the body of a step says.
    fn body_text(&self, body: &Node, own: bool) -> BodyText {
        let edition = if own { self.edition } else { 0 };
        let text = format!("{edition} {body:?}");
        let tied = (!own).then(|| Site::new(format!("script:{body}")));
        BodyText { hash: format!("{:08x}", chance::number(&text)), tied }
    }

    async fn perform(&self, kind: OperationKind, operation: &str) -> Promise {
        let request = Request::perform(kind, name(operation), json!({ "name": operation }));
        self.request(request.expect("scripts perform what can be performed")).await
    }

    async fn step(
        &self,
        step: &str,
        body: &Rc<Node>,
        own: bool,
        options: Option<StepOptions>,
    ) -> Promise {
        let (ctx, node, step) = (self.clone(), Rc::clone(body), name(step));
        let body: Body = Rc::new(move |scope| {
            let ctx = Ctx { scope, ..ctx.clone() };
            if own {
                let account = Rc::new(Cell::new(1));
                Box::pin(run(Rc::clone(&node), Ctx { account, ..ctx }))
            } else {
                Box::pin(evaluate(Rc::clone(&node), ctx))
            }
        });
        let (scope, trace) = (self.scope, Rc::clone(&self.trace));
        let call: DoorCall = Box::new(move |engine, door| {
            let asked = match options {
                Some(options) => door.step(scope, step, options),
                None => door.phase(scope, step),
            };
            trace.borrow_mut().push(match &asked {
                Ok(ticket) => format!("step {}", door.identity(*ticket)),
                Err(failure) => format!("refused {} {failure}", door.path(scope)),
            });
            Reply::Promise(engine.asked_step(scope, asked, body))
        });
        self.promise(Call::Door(call)).await
    }
}

fn done(number: i64) -> Completion {
    Completion::Settled(Ok(json!(number)))
}

/// The async function for one node.
async fn evaluate(node: Rc<Node>, ctx: Ctx) -> Completion {
    match &*node {
        Node::Seq { .. }
        | Node::Repeat { .. }
        | Node::All { .. }
        | Node::Race { .. }
        | Node::Try { .. } => evaluate_control(&node, &ctx).await,
        Node::Shell { .. }
        | Node::Pure { .. }
        | Node::Artifact { .. }
        | Node::Invoke { .. }
        | Node::Forget { .. }
        | Node::Sleep { .. }
        | Node::Wait { .. }
        | Node::Approve { .. }
        | Node::Step { .. }
        | Node::Phase { .. } => evaluate_operation(&node, &ctx).await,
        Node::Throw { retryable } => {
            let kind = if *retryable { FailureKind::Error } else { FailureKind::NonRetryable };
            Completion::Settled(Err(Thrown::Failure(Failure::new(kind, "thrown"))))
        }
        Node::Skip => Completion::Settled(Err(Thrown::Skip("nothing to do".into()))),
        Node::Never => {
            let scope = ctx.scope;
            let never: DoorCall = Box::new(move |engine, _| Reply::Promise(engine.promise(scope)));
            let promise = ctx.promise(Call::Door(never)).await;
            Completion::Settled(ctx.wait(promise).await)
        }
        _ => evaluate_synchronous(&node, &ctx).await,
    }
}
