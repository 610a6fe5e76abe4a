//! Pieces that only say in which order others are executed.

use std::rc::Rc;

use agentos_core::value::Value;
use serde_json::json;

use super::{Ctx, done};
use crate::promise::{Call, Completion};
use crate::script::Node;

pub(super) async fn evaluate_control(node: &Node, ctx: &Ctx) -> Completion {
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
