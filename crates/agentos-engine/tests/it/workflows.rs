//! Workflows written in Rust, on the real engine.

use std::sync::{Arc, Mutex};

use agentos_core::bounds;
use agentos_core::entry::{Home, RunOutcome, RunStarted};
use agentos_core::id::RunId;
use agentos_core::short_name::short_name;
use agentos_core::time::Timestamp;
use agentos_engine::clock::SystemClock;
use agentos_engine::engine::Limits;
use agentos_engine::library::RustLibrary;
use agentos_sdk::{Ctx, Error, Result, Workflow, Workflows, join};
use agentos_store::place::Place;
use agentos_store::records::{Project, Records as _, RunQuery};
use agentos_testing::wait::TIMEOUT;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::House;

fn library(workflows: impl IntoIterator<Item = Workflow>) -> RustLibrary {
    let mut all = Workflows::new();
    workflows.into_iter().for_each(|workflow| all.add(workflow).expect("a new name"));
    RustLibrary::new(all, SystemClock)
}

/// What `ctx` says of the run.
fn said(ctx: &Ctx) -> Value {
    json!({
        "execution_id": ctx.execution_id(),
        "run_id": ctx.run_id(),
        "project_id": ctx.project_id(),
        "project_path": ctx.project_path(),
        "workspace_path": ctx.workspace_path(),
        "attempt": ctx.attempt(),
    })
}

#[tokio::test]
async fn a_workflow_reads_what_its_run_is_called_and_where_it_works_and_so_does_its_child() {
    let child = Workflow::new("child", |ctx: Ctx, (): ()| async move { Ok(said(&ctx)) });
    let parent = Workflow::new("parent", |ctx: Ctx, (): ()| async move {
        let child: Value = ctx.invoke("child", ()).await?;
        Ok(json!({ "own": said(&ctx), "child": child }))
    });
    let workflows = library([parent, child]);
    let run = RunId(Uuid::from_u128(3));
    let start = workflows.start(run, "parent", Value::Null).expect("it can start");
    let project = Uuid::from_u128(77);
    let home = Home {
        run_id: "parent-abcdef".to_owned(),
        project_id: project.to_string(),
        project_path: "/project".to_owned(),
        workspace_path: "/spaces/parent-abcdef".to_owned(),
        ..Home::default()
    };
    let start = RunStarted { home: home.into(), ..start };
    let house = House::new(workflows);
    let life = house.live(|builder| builder);
    let path = "/project".to_owned();
    let (created_at, updated_at) = (Timestamp(0), Timestamp(0));
    let registered = Project { id: project, name: "p".to_owned(), path, created_at, updated_at };
    life.store.put_project(registered).await.expect("a project");
    life.engine.create(start, Place::default()).await.expect("it is created");
    life.ends(run).await;
    life.engine.leave().await;
    let RunOutcome::Completed { output } = house.outcome(run).await else {
        panic!("{:?}", house.outcome(run).await)
    };
    let own = json!({
        "execution_id": run.to_string(), "run_id": "parent-abcdef", "project_id": project,
        "project_path": "/project", "workspace_path": "/spaces/parent-abcdef", "attempt": 1,
    });
    assert_eq!(output["own"], own);
    let child =
        RunId(output["child"]["execution_id"].as_str().expect("an id").parse().expect("an id"));
    let name = short_name(child, "child", 0);
    let mut expected = own;
    expected["execution_id"] = json!(child.to_string());
    expected["run_id"] = json!(name);
    assert_eq!(output["child"], expected);
    let row = house.store().run_detail(child).await.expect("a row").run;
    assert_eq!((row.run_id, row.project_id), (name, Some(project)));
    assert_eq!(row.workspace_dir.as_deref(), Some("/spaces/parent-abcdef"));
}

#[tokio::test]
async fn a_workflow_that_invokes_itself_without_end_fails_at_the_bound() {
    let again = Workflow::new("again", |ctx: Ctx, (): ()| async move {
        let below: u32 = ctx.invoke("again", ()).await?;
        Ok(below + 1)
    });
    let workflows = library([again]);
    let run = RunId(Uuid::from_u128(3));
    let start = workflows.start(run, "again", Value::Null).expect("it can start");
    let house = House::new(workflows);
    let life = house.live(|builder| builder);
    life.engine.create(start, Place::default()).await.expect("it is created");
    life.ends(run).await;
    life.engine.leave().await;
    let RunOutcome::Failed { failure } = house.outcome(run).await else {
        panic!("{:?}", house.outcome(run).await)
    };
    assert!(failure.message.contains("invoke one another"), "{failure:?}");
    let runs = house.store().query_runs(RunQuery { limit: 100, ..RunQuery::default() }).await;
    assert_eq!(runs.expect("a page").runs.len(), bounds::INVOKE_DEPTH as usize + 1);
}

#[tokio::test]
async fn an_input_that_does_not_fit_starts_no_run_and_fails_an_invocation() {
    let schema = json!({ "type": "object", "required": ["brief"] });
    let child = Workflow::new("child", |_: Ctx, _: Value| async { Ok(()) }).input(schema);
    let parent = Workflow::new("parent", |ctx: Ctx, (): ()| async move {
        let refused = ctx.invoke::<()>("child", json!({})).await;
        Ok(refused.map_err(|failure| failure.message).err())
    });
    let workflows = library([parent, child]);
    let run = RunId(Uuid::from_u128(3));
    let refused = workflows.start(run, "child", json!({})).expect_err("it is refused");
    let start = workflows.start(run, "parent", Value::Null).expect("it can start");
    let house = House::new(workflows);
    let life = house.live(|builder| builder);
    life.engine.create(start, Place::default()).await.expect("it is created");
    life.ends(run).await;
    life.engine.leave().await;
    let message = "the input is not what the workflow takes: `input.brief` is missing";
    assert_eq!(refused.message, message);
    assert_eq!(house.outcome(run).await, RunOutcome::Completed { output: json!(message) });
}

#[tokio::test]
async fn work_that_blocks_holds_nobody_up() {
    // It blocks until the other effect, on the same worker, has been performed.
    let (sender, receiver) = std::sync::mpsc::channel::<u32>();
    let (sender, receiver) = (Arc::new(Mutex::new(sender)), Arc::new(Mutex::new(receiver)));
    let workflow = Workflow::new("blocks", move |ctx: Ctx, (): ()| {
        let (sender, receiver) = (Arc::clone(&sender), Arc::clone(&receiver));
        async move {
            let waits = ctx.effect_blocking("waits", move || {
                let receiver = receiver.lock().map_err(|_| Error::new("poisoned"))?;
                Ok(receiver.recv_timeout(TIMEOUT)?)
            });
            let sends = ctx.effect("sends", move || async move {
                let sender = sender.lock().map_err(|_| Error::new("poisoned"))?;
                Ok(sender.send(7)?)
            });
            let panics = ctx.effect_blocking("panics", || -> Result<()> { panic!("no") });
            let (heard, sent, panicked) = join((waits, sends, panics)).await;
            sent?;
            Ok((heard?, panicked.is_err()))
        }
    });
    let workflows = library([workflow]);
    let run = RunId(Uuid::from_u128(3));
    let start = workflows.start(run, "blocks", Value::Null).expect("it can start");
    let house = House::new(workflows);
    let limits = Limits { workers: 1, ..Limits::default() };
    let life = house.live(|builder| builder.limits(limits));
    life.engine.create(start, Place::default()).await.expect("it is created");
    life.ends(run).await;
    life.engine.leave().await;
    assert_eq!(house.outcome(run).await, RunOutcome::Completed { output: json!([7, true]) });
}
