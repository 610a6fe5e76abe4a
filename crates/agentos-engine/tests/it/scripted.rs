//! The simulation's programs as a workflow in Rust: the same tree, said with `ctx`.
//!
//! Commands and artifacts are effects here, because what the simulated world answers is a number. Whoever performs them
//! looks the answer up under the name that the simulation has for it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agentos_core::path::OperationId;
use agentos_sdk::operations::Decision;
use agentos_sdk::{Backoff, Ctx, Error, Millis, Result, RetryPolicy, Value, Workflow};
use agentos_testing::chance;
use agentos_testing::script::Node;
use serde_json::json;

type Evaluated<'a> = Pin<Box<dyn Future<Output = Result<Value>> + Send + 'a>>;

/// A tree as a workflow of this name.
pub(crate) fn workflow(name: &str, program: &Node) -> Workflow {
    let program = Arc::new(program.clone());
    Workflow::new(name, move |ctx: Ctx, _: Value| {
        let program = Arc::clone(&program);
        async move { counted(&program, &ctx).await }
    })
}

/// What the simulation calls an operation of such a workflow.
pub(crate) fn simulated_name(operation: &OperationId) -> String {
    operation
        .as_str()
        .replace("/effect:shell-", "/shell:")
        .replace("/effect:artifact-", "/artifact:")
}

/// The account of everything that was seen, as the simulation keeps it.
#[derive(Clone)]
struct Account(Arc<AtomicI64>);

impl Account {
    fn mix_by(&self, factor: i64, number: i64) {
        let mixed = (self.shown() * factor + number) % 10_007;
        self.0.store(mixed, Ordering::SeqCst);
    }

    fn shown(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Executes a tree with an account of its own, and returns that.
async fn counted(node: &Node, ctx: &Ctx) -> Result<Value> {
    let account = Account(Arc::new(AtomicI64::new(1)));
    evaluate(node, ctx, &account).await?;
    Ok(json!(account.shown()))
}

fn evaluate<'a>(node: &'a Node, ctx: &'a Ctx, account: &'a Account) -> Evaluated<'a> {
    Box::pin(async move {
        match node {
            Node::Seq { of } => {
                let mut last = Value::Null;
                for node in of {
                    last = evaluate(node, ctx, account).await?;
                }
                Ok(last)
            }
            Node::Repeat { times, body } => {
                for _ in 0..*times {
                    evaluate(body, ctx, account).await?;
                }
                Ok(json!(0))
            }
            Node::Try { body, rescue, cleanup } => {
                let tried = match (evaluate(body, ctx, account).await, rescue) {
                    (Ok(value), _) => Ok(value),
                    (Err(_), Some(rescue)) => evaluate(rescue, ctx, account).await,
                    (Err(_), None) => {
                        account.mix_by(1, 1);
                        Ok(json!(-1))
                    }
                };
                evaluate(cleanup, ctx, account).await?;
                tried
            }
            Node::Step { .. } | Node::Phase { .. } => scope(node, ctx, account).await,
            Node::Throw { retryable: true } => Err(Error::new("thrown")),
            Node::Throw { retryable: false } => Err(Error::non_retryable("thrown")),
            Node::Skip => Err(ctx.skip("nothing to do")),
            Node::Shell { .. }
            | Node::Artifact { .. }
            | Node::Sleep { .. }
            | Node::Wait { .. }
            | Node::Approve { .. } => operation(node, ctx, account).await,
            _ => note(node, ctx, account),
        }
    })
}

async fn scope(node: &Node, ctx: &Ctx, account: &Account) -> Result<Value> {
    match node {
        Node::Step { name, body, attempts, delay, own, .. } => {
            let delay = Millis::new(*delay);
            let retry = RetryPolicy {
                max_attempts: *attempts,
                backoff: Backoff::Fixed,
                delay_ms: delay,
                max_delay_ms: delay,
                jitter: false,
            };
            let (body, outer, own) = (Arc::new((**body).clone()), account.clone(), *own);
            let answer = ctx.step(name).retry(retry).run(move |ctx| {
                let (body, account) = (Arc::clone(&body), outer.clone());
                async move {
                    match own {
                        true => counted(&body, &ctx).await,
                        false => evaluate(&body, &ctx, &account).await,
                    }
                }
            });
            let answer: Value = answer.await?;
            if own {
                account.mix_by(31, answer.as_i64().unwrap_or(0));
            }
            Ok(answer)
        }
        Node::Phase { name, body } => {
            let (body, account) = (Arc::new((**body).clone()), account.clone());
            let answer = ctx.phase(name, move |ctx| {
                let (body, account) = (Arc::clone(&body), account.clone());
                async move { evaluate(&body, &ctx, &account).await }
            });
            Ok(answer.await?)
        }
        other => panic!("{other} is no scope"),
    }
}

async fn operation(node: &Node, ctx: &Ctx, account: &Account) -> Result<Value> {
    let performed = |name: String| {
        ctx.effect(name, || async { Err::<i64, _>(Error::new("somebody else performs it")) })
    };
    match node {
        Node::Shell { name } => {
            let answer = performed(format!("shell-{name}")).await?;
            account.mix_by(31, answer);
            Ok(json!(answer))
        }
        Node::Artifact { name } => {
            let answer = performed(format!("artifact-{name}")).await?;
            account.mix_by(31, answer);
            Ok(json!(answer))
        }
        Node::Sleep { ms, .. } => {
            ctx.sleep(Duration::from_millis(*ms)).await?;
            Ok(Value::Null)
        }
        Node::Wait { name, ms } => {
            let wait = ctx.wait_for::<Value>(name);
            let wait = if *ms > 0 { wait.timeout(Duration::from_millis(*ms)) } else { wait };
            let answer = wait.await?;
            if let Value::String(payload) = &answer {
                account.mix_by(37, i64::from(chance::number(payload)));
            }
            Ok(answer)
        }
        Node::Approve { name, ms } => {
            let ask = ctx.approve("may it go on?").name(name);
            let ask = if *ms > 0 { ask.timeout(Duration::from_millis(*ms)) } else { ask };
            let decision: Decision = ask.await?;
            account.mix_by(31, i64::from(decision.approved));
            Ok(Value::Null)
        }
        other => panic!("{other} is no operation"),
    }
}

/// What is answered at once.
fn note(node: &Node, ctx: &Ctx, account: &Account) -> Result<Value> {
    match node {
        Node::Set { key, value } => ctx.set(key, value + account.shown() % 7)?,
        Node::Delete { key } => ctx.delete(key)?,
        Node::Get { key } => {
            let value: i64 = ctx.get(key)?.unwrap_or(0);
            account.mix_by(31, value);
            return Ok(json!(value));
        }
        Node::Comment { on_run: true } => {
            ctx.comment_execution(format!("account {}", account.shown()), Value::Null)?;
        }
        Node::Comment { on_run: false } => {
            ctx.comment(format!("account {}", account.shown()), Value::Null)?;
        }
        Node::Log => ctx.log().info(format!("account {}", account.shown())),
        other => panic!("{other} can't be said in Rust"),
    }
    Ok(json!(0))
}
