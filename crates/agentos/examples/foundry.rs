//! Workflows for the tests of commands: they order what the test says, and give back what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use agentos::sdk::{Ctx, Error, Result, Workflow, try_join_all};
use serde::Deserialize;
use serde_json::{Value, json};

fn main() -> std::process::ExitCode {
    agentos::App::new()
        .workflow(Workflow::new("forge", forge).description("Executes a command in a step"))
        .workflow(Workflow::new("loose", loose).description("Executes a command outside of steps"))
        .workflow(Workflow::new("crowd", crowd).description("Executes commands at once"))
        .workflow(Workflow::new("gossip", gossip).description("Repeats what a command said"))
        .main()
}

#[derive(Clone, Deserialize)]
struct Forge {
    command: String,
    timeout_ms: Option<u64>,
    idle_timeout_ms: Option<u64>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Orders it under the name `it`.
async fn order(ctx: &Ctx, forge: &Forge) -> Result<Value> {
    let mut shell = ctx.shell(&forge.command).name("it");
    for (name, value) in &forge.env {
        shell = shell.env(name, value);
    }
    if let Some(ms) = forge.timeout_ms {
        shell = shell.timeout(Duration::from_millis(ms));
    }
    if let Some(ms) = forge.idle_timeout_ms {
        shell = shell.idle_timeout(Duration::from_millis(ms));
    }
    let output = shell.await?;
    Ok(json!({ "stdout": output.stdout, "stderr": output.stderr, "code": output.exit_code }))
}

async fn forge(ctx: Ctx, forge: Forge) -> Result<Value> {
    let once = agentos::sdk::RetryPolicy { max_attempts: 1, ..Default::default() };
    let forged = ctx.step("forge").retry(once).run(move |ctx| {
        let forge = forge.clone();
        async move { order(&ctx, &forge).await }
    });
    Ok(forged.await?)
}

async fn loose(ctx: Ctx, forge: Forge) -> Result<Value> {
    order(&ctx, &forge).await
}

#[derive(Deserialize)]
struct Crowd {
    /// `%` stands for the number of each.
    command: String,
    size: u32,
}

async fn crowd(ctx: Ctx, crowd: Crowd) -> Result<Vec<String>> {
    let ordered = (1..=crowd.size).map(|number| {
        let command = crowd.command.replace('%', &number.to_string());
        ctx.shell(command).name(format!("number {number}")).start()
    });
    let outputs = try_join_all(ordered.collect::<Vec<_>>()).await?;
    Ok(outputs.into_iter().map(|output| output.stdout).collect())
}

/// Puts what the command said wherever a workflow can put something, and fails with it.
async fn gossip(ctx: Ctx, forge: Forge) -> Result<Value> {
    let said = order(&ctx, &forge).await?;
    ctx.log().info(format!("it said {said}"));
    ctx.comment(format!("it said {said}"), said.clone())?;
    ctx.set("said", said.clone())?;
    Err(Error::new(format!("it said {said}")))
}
