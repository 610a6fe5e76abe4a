//! Programs of the simulation's language, written as futures: whatever they do, a crash changes nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agentos_core::entry::RunOutcome;
use agentos_sdk::{
    Backoff, Ctx, Error, Millis, Result, RetryPolicy, Value, Workflow, race_all, try_join_all,
};
use agentos_testing::script::{Generator, Node, Shape};
use serde_json::json;

use crate::support::Bench;

type Evaluation = Pin<Box<dyn Future<Output = Result<i64>> + Send>>;

/// A number into which everything is mixed that a program sees.
#[derive(Clone)]
struct Account(Arc<AtomicI64>);

impl Account {
    fn mix(&self, seen: i64) {
        let now = self.0.load(Ordering::SeqCst);
        self.0.store((now * 31 + seen % 10_007).rem_euclid(10_007), Ordering::SeqCst);
    }
}

fn evaluate(node: &Node, ctx: &Ctx, account: &Account) -> Evaluation {
    let (node, ctx, account) = (node.clone(), ctx.clone(), account.clone());
    Box::pin(async move {
        match &node {
            Node::Seq { .. }
            | Node::Repeat { .. }
            | Node::All { .. }
            | Node::Race { .. }
            | Node::Try { .. } => control(&node, &ctx, &account).await,
            Node::Step { .. } | Node::Phase { .. } => scope(&node, &ctx, &account).await,
            Node::Throw { retryable: true } => Err(Error::new("thrown")),
            Node::Throw { retryable: false } => Err(Error::non_retryable("thrown")),
            Node::Skip => Err(ctx.skip("nothing to do")),
            Node::Never => std::future::pending().await,
            _ => {
                let seen = operation(&node, &ctx, &account).await?;
                account.mix(seen);
                Ok(seen)
            }
        }
    })
}

async fn control(node: &Node, ctx: &Ctx, account: &Account) -> Result<i64> {
    let each = |of: &[Node]| of.iter().map(|node| evaluate(node, ctx, account)).collect::<Vec<_>>();
    match node {
        Node::Seq { of } => {
            let mut last = 0;
            for node in of {
                last = evaluate(node, ctx, account).await?;
            }
            Ok(last)
        }
        Node::Repeat { times, body } => {
            for _ in 0..*times {
                evaluate(body, ctx, account).await?;
            }
            Ok(0)
        }
        Node::All { of } => Ok(try_join_all(each(of)).await?.into_iter().sum()),
        Node::Race { of } => race_all(each(of)).await,
        Node::Try { body, rescue, cleanup } => {
            let tried = match (evaluate(body, ctx, account).await, rescue) {
                (Err(_), Some(rescue)) => evaluate(rescue, ctx, account).await,
                (Err(_), None) => Ok(-1),
                (tried, _) => tried,
            };
            evaluate(cleanup, ctx, account).await?;
            tried
        }
        _ => Ok(0),
    }
}

async fn scope(node: &Node, ctx: &Ctx, account: &Account) -> Result<i64> {
    let account = account.clone();
    let given = match node {
        Node::Step { name, body, attempts, delay, timeout, .. } => {
            let delay = Millis::new(*delay);
            let retry = RetryPolicy {
                max_attempts: *attempts,
                backoff: Backoff::Fixed,
                delay_ms: delay,
                max_delay_ms: delay,
                jitter: false,
            };
            let mut step = ctx.step(name).retry(retry);
            if *timeout > 0 {
                step = step.timeout(Duration::from_millis(*timeout));
            }
            let body = body.clone();
            step.run(move |ctx| some(evaluate(&body, &ctx, &account))).await?
        }
        Node::Phase { name, body } => {
            let body = body.clone();
            ctx.phase(name, move |ctx| some(evaluate(&body, &ctx, &account))).await?
        }
        _ => None,
    };
    Ok(given.unwrap_or(0))
}

/// A skipped step has no result.
async fn some(evaluation: Evaluation) -> Result<Option<i64>> {
    evaluation.await.map(Some)
}

fn limit(ms: u64) -> Duration {
    Duration::from_millis(ms.max(1))
}

async fn operation(node: &Node, ctx: &Ctx, account: &Account) -> Result<i64> {
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(0);
    match node {
        Node::Shell { name } => Ok(length(&ctx.shell(name).name(name).await?.stdout)),
        Node::Pure { name } => {
            let seen = account.0.load(Ordering::SeqCst);
            Ok(ctx.effect(name, move || async move { Ok(seen + 1) }).await?)
        }
        Node::Forget { name, caught } => {
            let forgotten = ctx.shell(name).name(name).start();
            if *caught {
                forgotten.ignore();
            }
            Ok(0)
        }
        Node::Artifact { name } => Ok(length(&ctx.artifact(name).content("x").await?.to_string())),
        Node::Invoke { name } => Ok(length(&ctx.invoke::<Value>(name, 1).await?.to_string())),
        Node::Sleep { ms, .. } => Ok(ctx.sleep(Duration::from_millis(*ms)).await.map(|()| 2)?),
        Node::Wait { name, ms } => Ok(ctx.wait_for::<i64>(name).timeout(limit(*ms)).await?),
        Node::Approve { name, ms } => {
            let decision = ctx.approve("well?").name(name).timeout(limit(*ms)).await?;
            Ok(i64::from(decision.approved))
        }
        _ => Ok(note(node, ctx, account)?),
    }
}

fn note(node: &Node, ctx: &Ctx, account: &Account) -> Result<i64> {
    let sum = account.0.load(Ordering::SeqCst);
    match node {
        Node::Set { key, value } => ctx.set(key, value + sum)?,
        Node::Delete { key } => ctx.delete(key)?,
        Node::Get { key } => return Ok(ctx.get(key)?.unwrap_or(0)),
        Node::Random => return Ok((ctx.random()? * 1e6) as i64),
        Node::Now => return Ok(ctx.now()?.0),
        Node::Comment { on_run: true } => ctx.comment_execution(format!("account {sum}"), ())?,
        Node::Comment { on_run: false } => ctx.comment(format!("account {sum}"), ())?,
        Node::Log => ctx.log().info(format!("account {sum}")),
        _ => {}
    }
    Ok(0)
}

fn workflow(node: Node) -> Workflow {
    Workflow::new("build", move |ctx: Ctx, (): ()| {
        let account = Account(Arc::new(AtomicI64::new(1)));
        let body = evaluate(&node, &ctx, &account);
        async move {
            let ended = body.await;
            // What it has seen is compared too, however it ends.
            ctx.set("account", account.0.load(Ordering::SeqCst))?;
            ended
        }
    })
}

#[test]
fn any_program_goes_on_after_a_crash_at_any_commit() {
    let mut ends = [0; 4];
    for seed in 0..150 {
        let node = Generator::new(seed, Shape::Everything).invoking("child").program();
        let mut bench = Bench::new(workflow(node)).chance(seed);
        for at in [2, 5, 9] {
            bench = bench.signal(at, if at == 5 { "ev1" } else { "ev0" }, json!(at));
        }
        if seed % 4 == 0 {
            bench = bench.cancel(i64::try_from(seed % 40).unwrap_or(0));
        }
        let end = match bench.run().outcome {
            Some(RunOutcome::Completed { .. }) => 0,
            Some(RunOutcome::Failed { .. }) => 1,
            Some(RunOutcome::Cancelled { .. }) => 2,
            Some(RunOutcome::TimedOut { .. }) => 3,
            None => panic!("program {seed} does not end"),
        };
        ends[end] += 1;
    }
    assert!(ends[..3].iter().all(|count| *count > 10), "{ends:?}");
}
