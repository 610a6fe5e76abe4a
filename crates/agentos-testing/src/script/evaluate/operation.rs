//! Pieces that ask for something and wait: operations, steps and phases.

use std::rc::Rc;

use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::StepOptions;
use agentos_core::retry::{Backoff, RetryPolicy};
use agentos_core::time::Millis;
use agentos_core::value::Value;
use serde_json::json;

use super::{Ctx, done, name};
use crate::chance;
use crate::promise::{Call, Completion, DoorCall, Reply};
use crate::script::Node;

/// Operations whose answer is mixed into the account.
pub(super) async fn evaluate_operation(node: &Node, ctx: &Ctx) -> Completion {
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
            let options = StepOptions { retry, timeout, body: text, ..StepOptions::default() };
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
