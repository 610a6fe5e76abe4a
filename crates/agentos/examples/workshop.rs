//! Workflows for the tests of the command line: each does one thing that a command has to cope with.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos::sdk::{
    Backoff, Ctx, Error, Millis, Result, RetryPolicy, Workflow, try_join, try_join_all,
};
use serde::Deserialize;
use serde_json::{Value, json};

fn main() -> std::process::ExitCode {
    agentos::App::new()
        .workflow(
            Workflow::new("greet", greet)
                .description("Greets somebody")
                .version("1")
                .input(greet_schema()),
        )
        .workflow(Workflow::new("count", count).description("Counts in a file, step by step"))
        .workflow(Workflow::new("ask", ask).description("Asks a question"))
        .workflow(Workflow::new("listen", listen).description("Waits for the signal `go`"))
        .workflow(Workflow::new("nap", nap).description("Sleeps"))
        .workflow(Workflow::new("mend", mend).description("Fails until the file `mended` is there"))
        .workflow(Workflow::new("parent", parent).description("Invokes three children"))
        .workflow(Workflow::new("endless", endless).description("Never ends by itself"))
        .workflow(Workflow::new("tree", tree).description("Does everything that can be watched"))
        .main()
}

fn greet_schema() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string", "description": "Whom to greet" },
            "times": { "type": "integer", "minimum": 1, "default": 1, "description": "How often" },
            "loud": { "type": "boolean", "description": "In capitals" },
            "brief": { "type": "string", "format": "file", "description": "What to say beside" },
            "json": { "type": "string", "description": "Not a flag, because that name is taken" },
        },
    })
}

#[derive(Deserialize)]
struct Greeting {
    name: String,
    #[serde(default = "once")]
    times: usize,
    #[serde(default)]
    loud: bool,
    brief: Option<PathBuf>,
}

const fn once() -> usize {
    1
}

async fn greet(ctx: Ctx, greeting: Greeting) -> Result<Value> {
    ctx.log().info(format!("greeting {}", greeting.name));
    let said = ctx.run("greet", move |_| {
        let mut text = vec![format!("hello {}", greeting.name); greeting.times].join(", ");
        if greeting.loud {
            text = text.to_uppercase();
        }
        async move { Ok(text) }
    });
    let said: String = said.await?;
    let brief = match greeting.brief {
        Some(path) => {
            ctx.effect("read", move || async move { Ok(Some(std::fs::read_to_string(path)?)) })
                .await?
        }
        None => None::<String>,
    };
    ctx.comment("greeted", json!({}))?;
    Ok(json!({ "said": said, "brief": brief }))
}

#[derive(Deserialize)]
struct Count {
    file: PathBuf,
    steps: u32,
    #[serde(default)]
    pause: u64,
}

async fn count(ctx: Ctx, count: Count) -> Result<u32> {
    for number in 1..=count.steps {
        let (file, pause) = (count.file.clone(), Duration::from_millis(count.pause));
        ctx.run(format!("count {number}"), move |ctx| {
            let (file, text) = (file.clone(), number.to_string());
            let counted = move || async move {
                append(&file, &text)?;
                tokio::time::sleep(pause).await;
                Ok(())
            };
            async move { Ok(ctx.effect("append", counted).await?) }
        })
        .await?;
    }
    Ok(count.steps)
}

fn append(file: &Path, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(file, "{line}")
}

async fn ask(ctx: Ctx, _: Value) -> Result<Value> {
    let decision = ctx.approve("Shall we?").await?;
    Ok(json!({ "approved": decision.approved, "comment": decision.comment }))
}

async fn listen(ctx: Ctx, _: Value) -> Result<Value> {
    Ok(ctx.wait_for("go").await?)
}

#[derive(Deserialize)]
struct Nap {
    ms: u64,
}

async fn nap(ctx: Ctx, nap: Nap) -> Result<()> {
    Ok(ctx.sleep(Duration::from_millis(nap.ms)).await?)
}

#[derive(Deserialize)]
struct Mend {
    /// What mends it, once it is there.
    file: PathBuf,
    /// Where it is written down that the preparation was done.
    counted: PathBuf,
}

async fn mend(ctx: Ctx, mend: Mend) -> Result<String> {
    let prepare = move || async move { Ok(append(&mend.counted, "prepared")?) };
    ctx.run("prepare", move |ctx| {
        let prepare = prepare.clone();
        async move { Ok(ctx.effect("prepare", prepare).await?) }
    })
    .await?;
    let tried = ctx.step("try").retry(twice(1)).run(move |ctx| {
        let file = mend.file.clone();
        async move {
            let there: bool = ctx.effect("look", move || async move { Ok(file.exists()) }).await?;
            if there { Ok("mended".to_owned()) } else { Err(Error::new("it is still broken")) }
        }
    });
    Ok(tried.await?)
}

fn twice(delay_ms: u64) -> RetryPolicy {
    RetryPolicy {
        max_attempts: 2,
        backoff: Backoff::Fixed,
        delay_ms: Millis::new(delay_ms),
        ..RetryPolicy::default()
    }
}

async fn parent(ctx: Ctx, _: Value) -> Result<Vec<Value>> {
    let children =
        (1..=3).map(|number| ctx.invoke("greet", json!({ "name": format!("child {number}") })));
    Ok(try_join_all(children.collect::<Vec<_>>()).await?)
}

#[derive(Deserialize)]
struct Endless {
    /// Where it is written down that it has begun.
    file: PathBuf,
}

async fn endless(ctx: Ctx, endless: Endless) -> Result<()> {
    let wait = move || async move {
        append(&endless.file, "began")?;
        std::future::pending::<()>().await;
        Ok(())
    };
    let waited = ctx.run("wait", move |ctx| {
        let wait = wait.clone();
        async move { Ok(ctx.effect("wait", wait).await?) }
    });
    Ok(waited.await?)
}

#[derive(Deserialize)]
struct Pace {
    /// How long each piece takes.
    ms: u64,
}

/// Nested and parallel steps, an attempt that fails, children, a wait, and a question at the end.
async fn tree(ctx: Ctx, pace: Pace) -> Result<String> {
    let ms = pace.ms;
    ctx.phase("prepare", move |ctx| async move {
        ctx.run("read the brief", move |ctx| work(ctx, ms)).await?;
        Ok(ctx.run("write a plan that has quite a long name", move |ctx| work(ctx, ms)).await?)
    })
    .await?;
    let build = ctx.run("build", move |ctx| async move {
        let library = ctx.run("library", move |ctx| work(ctx, ms));
        let program = ctx.run("program", move |ctx| work(ctx, 2 * ms));
        try_join((library, program)).await?;
        Ok(())
    });
    let check = ctx.step("check").retry(twice(2 * ms)).run(move |ctx| async move {
        ctx.log().warn("the first look is always wrong");
        let attempt = ctx.attempt();
        work(ctx, ms).await?;
        if attempt < 2 { Err(Error::new("a test is red: expected 3, found 4")) } else { Ok(()) }
    });
    try_join((build, check)).await?;
    let children = [1, 3].map(|times| ctx.invoke::<Value>("nap", json!({ "ms": times * ms })));
    try_join_all(children.into_iter().collect::<Vec<_>>()).await?;
    ctx.sleep(Duration::from_millis(ms)).await?;
    let decision = ctx.approve("Ship it?").await?;
    Ok(if decision.approved { "shipped" } else { "kept" }.to_owned())
}

async fn work(ctx: Ctx, ms: u64) -> Result<()> {
    let busy = move || async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(())
    };
    Ok(ctx.effect("work", busy).await?)
}
