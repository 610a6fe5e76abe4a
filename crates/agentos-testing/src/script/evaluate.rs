//! Executes a [`Node`] as a program, and keeps a trace of everything it did and saw.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use agentos_core::entry::CommentOn;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::name::Name;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::{Delivery, Door, Program, ScopeId, StepOptions};
use agentos_core::retry::{Backoff, RetryPolicy};
use agentos_core::source::{BodyText, Site};
use agentos_core::time::Millis;
use agentos_core::turn::LogLevel;
use agentos_core::value::Value;
use serde_json::json;

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

async fn evaluate_control(node: &Node, ctx: &Ctx) -> Completion {
    match node {
        Node::Seq { of } => {
            let mut last = Value::Null;
            for node in of {
                match ctx.await_node(&Rc::new(node.clone())).await {
                    Ok(value) => last = value,
                    thrown => return Completion::Settled(thrown),
                }
            }
            Completion::Settled(Ok(last))
        }
        Node::Repeat { times, body } => {
            let body = Rc::new((**body).clone());
            for _ in 0..*times {
                if let Err(thrown) = ctx.await_node(&body).await {
                    return Completion::Settled(Err(thrown));
                }
            }
            done(0)
        }
        Node::All { of } => {
            let promises = ctx.start_all(of).await;
            let count = i64::try_from(promises.len()).unwrap_or(i64::MAX);
            let all = ctx.promise(Call::All(promises)).await;
            match ctx.wait(all).await {
                Ok(_) => done(count),
                thrown => Completion::Settled(thrown),
            }
        }
        Node::Race { of } => {
            let promises = ctx.start_all(of).await;
            Completion::Adopted(ctx.promise(Call::Race(promises)).await)
        }
        Node::Try { body, rescue, cleanup } => {
            evaluate_try(body, rescue.as_deref(), cleanup, ctx).await
        }
        _ => done(0),
    }
}

async fn evaluate_try(body: &Node, rescue: Option<&Node>, cleanup: &Node, ctx: &Ctx) -> Completion {
    let tried = match (ctx.await_node(&Rc::new(body.clone())).await, rescue) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(rescue)) => ctx.await_node(&Rc::new(rescue.clone())).await,
        (Err(_), None) => {
            ctx.mix_by(1, 1);
            Ok(json!(-1))
        }
    };
    match ctx.await_node(&Rc::new(cleanup.clone())).await {
        Ok(_) => Completion::Settled(tried),
        thrown => Completion::Settled(thrown),
    }
}

/// Operations whose answer is mixed into the account.
async fn evaluate_operation(node: &Node, ctx: &Ctx) -> Completion {
    let promise = match node {
        Node::Shell { name } => ctx.perform(OperationKind::Shell, name).await,
        Node::Artifact { name } => ctx.perform(OperationKind::Artifact, name).await,
        Node::Invoke { name: workflow } => {
            ctx.request(Request::invoke(name(workflow), json!({}))).await
        }
        Node::Pure { name } => return evaluate_pure(name, ctx).await,
        Node::Approve { name: question, ms } => {
            let timeout = (*ms > 0).then(|| Millis::new(*ms));
            ctx.request(Request::approve(name(question), "may it go on?", timeout)).await
        }
        _ => return evaluate_other(node, ctx).await,
    };
    let answer = ctx.wait(promise).await;
    if let Ok(value) = &answer {
        ctx.mix(value.as_i64().unwrap_or_else(|| i64::from(value["approved"] == json!(true))));
    }
    Completion::Settled(answer)
}

async fn evaluate_pure(pure: &str, ctx: &Ctx) -> Completion {
    let promise = ctx.request(Request::sleep(name(&format!("pure-{pure}")), Millis::ZERO)).await;
    let identity = ctx.trace.borrow().last().map(|asked| asked.replace("ask ", ""));
    // The value that a pure operation of the same place has in the recorded outcomes.
    let place = identity.unwrap_or_default().replace("/sleep:pure-", "/pure:");
    let value = i64::from(chance::number(&format!("p{place}")) % 1_000);
    match ctx.wait(promise).await {
        Ok(_) => {
            ctx.mix(value);
            done(value)
        }
        thrown => Completion::Settled(thrown),
    }
}

/// Operations and steps that leave the account to others.
async fn evaluate_other(node: &Node, ctx: &Ctx) -> Completion {
    match node {
        Node::Forget { name, caught } => {
            let promise = ctx.perform(OperationKind::Shell, name).await;
            if *caught {
                let ignore: DoorCall = Box::new(move |engine, _| {
                    engine.ignore(promise);
                    Reply::Settled(Ok(Value::Null))
                });
                let _ = ctx.settled(Call::Door(ignore)).await;
            }
            done(0)
        }
        Node::Sleep { name: sleep, ms } => {
            Completion::Adopted(ctx.request(Request::sleep(name(sleep), Millis::new(*ms))).await)
        }
        Node::Wait { name: signal, ms } => {
            let timeout = (*ms > 0).then(|| Millis::new(*ms));
            let promise = ctx.request(Request::wait(name(signal), timeout)).await;
            let answer = ctx.wait(promise).await;
            if let Ok(Value::String(payload)) = &answer {
                ctx.mix_by(37, i64::from(chance::number(payload)));
            }
            Completion::Settled(answer)
        }
        Node::Step { name, body, attempts, delay, timeout, own } => {
            let retry = RetryPolicy {
                max_attempts: *attempts,
                backoff: Backoff::Fixed,
                delay_ms: Millis::new(*delay),
                max_delay_ms: Millis::new(*delay),
                jitter: false,
            };
            let timeout = (*timeout > 0).then(|| Millis::new(*timeout));
            let text = Some(ctx.body_text(body, *own));
            let options = StepOptions { retry, timeout, body: text, site: None };
            let body = Rc::new((**body).clone());
            let promise = ctx.step(name, &body, *own, Some(options)).await;
            if !*own {
                return Completion::Adopted(promise);
            }
            let answer = ctx.wait(promise).await;
            if let Ok(value) = &answer {
                ctx.mix(value.as_i64().unwrap_or(0));
            }
            Completion::Settled(answer)
        }
        Node::Phase { name, body } => {
            Completion::Adopted(ctx.step(name, &Rc::new((**body).clone()), false, None).await)
        }
        _ => done(0),
    }
}

async fn evaluate_synchronous(node: &Node, ctx: &Ctx) -> Completion {
    let scope = ctx.scope;
    let seen = match node {
        Node::Set { key, value } => {
            let value = value + ctx.account.get() % 7;
            ctx.note(format!("set {key}={value}"));
            let key = name(key);
            ctx.ask(move |door| door.set(scope, key, Some(json!(value))).map(|()| Value::Null))
                .await
        }
        Node::Delete { key } => {
            ctx.note(format!("delete {key}"));
            let key = name(key);
            ctx.ask(move |door| door.set(scope, key, None).map(|()| Value::Null)).await
        }
        Node::Get { key: wanted } => {
            let key = name(wanted);
            let read = ctx.ask(move |door| Ok(door.get(&key).cloned().unwrap_or_default())).await;
            let value = read.ok().and_then(|value| value.as_i64());
            ctx.note(format!("get {wanted}={value:?}"));
            ctx.mix(value.unwrap_or(0));
            return done(value.unwrap_or(0));
        }
        Node::Random => {
            let drawn = ctx.ask(|door| Ok(json!(door.random()))).await;
            #[expect(clippy::cast_possible_truncation, reason = "a draw of less than a million")]
            let drawn = (drawn.ok().and_then(|value| value.as_f64()).unwrap_or(0.0) * 1e6) as i64;
            ctx.note(format!("random {drawn}"));
            ctx.mix(drawn);
            return done(0);
        }
        Node::Now => {
            let now =
                ctx.ask(|door| Ok(json!(door.now().0))).await.ok().and_then(|now| now.as_i64());
            ctx.note(format!("now {now:?}"));
            ctx.mix(now.unwrap_or(0));
            return done(0);
        }
        Node::Comment { on_run } => {
            let on = if *on_run { CommentOn::Run } else { CommentOn::Step };
            let message = format!("account {}", ctx.account.get());
            ctx.ask(move |door| door.comment(scope, on, message, Value::Null).map(|()| Value::Null))
                .await
        }
        Node::Log => {
            let message = format!("account {}", ctx.account.get());
            ctx.ask(move |door| {
                door.log(scope, LogLevel::Info, message);
                Ok(Value::Null)
            })
            .await
        }
        _ => Ok(Value::Null),
    };
    match seen {
        Ok(_) => done(0),
        thrown => Completion::Settled(thrown),
    }
}
