//! Pieces that are answered at once: state, time, chance, comments and log lines.

use agentos_core::entry::CommentOn;
use agentos_core::turn::LogLevel;
use agentos_core::value::Value;
use serde_json::json;

use super::{Ctx, done, name};
use crate::promise::Completion;
use crate::script::Node;

pub(super) async fn evaluate_synchronous(node: &Node, ctx: &Ctx) -> Completion {
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
