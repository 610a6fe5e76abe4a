//! Workflows for the tests of the command line: each does one thing that a command has to cope with.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use agentos::sdk::{Backoff, Ctx, Error, Millis, Result, RetryPolicy, Workflow, try_join_all};
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
            let file = file.clone();
            let append = move || async move {
                let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
                writeln!(file, "{number}")?;
                tokio::time::sleep(pause).await;
                Ok(())
            };
            async move { Ok(ctx.effect("append", append).await?) }
        })
        .await?;
    }
    Ok(count.steps)
}

async fn ask(ctx: Ctx, _: Value) -> Result<Value> {
    let decision = ctx.approve("Shall we?").await?;
    Ok(json!({ "approved": decision.approved, "comment": decision.comment }))
}

async fn listen(ctx: Ctx, _: Value) -> Result<Value> {
    Ok(ctx.wait_for("go").await?)
}

async fn nap(ctx: Ctx, ms: Option<u64>) -> Result<()> {
    Ok(ctx.sleep(Duration::from_millis(ms.unwrap_or(100))).await?)
}

async fn mend(ctx: Ctx, file: PathBuf) -> Result<String> {
    ctx.run("prepare", |_| async { Ok(()) }).await?;
    let once = RetryPolicy {
        max_attempts: 2,
        backoff: Backoff::Fixed,
        delay_ms: Millis::new(1),
        ..RetryPolicy::default()
    };
    let tried = ctx.step("try").retry(once).run(move |ctx| {
        let file = file.clone();
        async move {
            let there: bool = ctx.effect("look", move || async move { Ok(file.exists()) }).await?;
            if there { Ok("mended".to_owned()) } else { Err(Error::new("it is still broken")) }
        }
    });
    Ok(tried.await?)
}

async fn parent(ctx: Ctx, _: Value) -> Result<Vec<Value>> {
    let children =
        (1..=3).map(|number| ctx.invoke("greet", json!({ "name": format!("child {number}") })));
    Ok(try_join_all(children.collect::<Vec<_>>()).await?)
}

async fn endless(ctx: Ctx, file: Option<PathBuf>) -> Result<()> {
    let wait = move || async move {
        if let Some(file) = file {
            std::fs::write(file, "began")?;
        }
        std::future::pending::<()>().await;
        Ok(())
    };
    let waited = ctx.run("wait", move |ctx| {
        let wait = wait.clone();
        async move { Ok(ctx.effect("wait", wait).await?) }
    });
    Ok(waited.await?)
}
