//! What workflows do with the files of their workspace, in Rust and in TypeScript.

use std::collections::BTreeSet;
use std::fs;

use agentos_core::entry::{Home, RunOutcome, RunStarted};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use agentos_core::operation::OperationKind;
use agentos_engine::artifact::ArtifactPerformer;
use agentos_engine::clock::SystemClock;
use agentos_engine::files::FilesPerformer;
use agentos_engine::library::RustLibrary;
use agentos_engine::performer::Performers;
use agentos_engine::shell::Workspaces;
use agentos_sdk::{Ctx, Workflow, Workflows};
use agentos_store::place::Place;
use agentos_store::records::Records as _;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::crashes::{DiesAt, ended};
use crate::support::{House, Life};

/// Performs calls and keeps artifacts where runs work.
fn performers() -> Performers {
    Performers::new()
        .with(OperationKind::Files, FilesPerformer::new(Workspaces))
        .with(OperationKind::Artifact, ArtifactPerformer::new(Workspaces))
}

fn library(workflow: Workflow) -> RustLibrary {
    RustLibrary::new(Workflows::new().with(workflow).expect("a name"), SystemClock)
}

/// The one run of these tests.
pub(crate) fn run() -> RunId {
    RunId(Uuid::from_u128(1))
}

/// A house with a workspace and an input file.
pub(crate) fn house(workflow: Workflow) -> House {
    let house = House::new(library(workflow));
    for folder in ["ground", "context", "project"] {
        fs::create_dir_all(house.folder().join(folder)).expect("a folder");
    }
    fs::write(house.folder().join("context/notes"), "from outside").expect("an input");
    house
}

/// Executes the workflow in its house, and says how it ended.
pub(crate) async fn execute(house: &House, workflow: Workflow) -> RunOutcome {
    let life = begin(house, workflow, u64::MAX).await;
    life.ends(run()).await;
    life.engine.leave().await;
    house.outcome(run()).await
}

/// Begins a life that ends at one of its points, and creates the run if there is none.
pub(crate) async fn begin(house: &House, workflow: Workflow, death: u64) -> Life {
    let points = DiesAt::new(death);
    let life = house.live(|builder| builder.performers(performers()).points(points));
    let path = |name: &str| house.folder().join(name).display().to_string();
    let name = workflow.name().to_owned();
    let start = library(workflow).start(run(), &name, json!(path("context/notes")));
    let home = Home {
        project_path: path("project"),
        workspace_path: path("ground"),
        context_path: path("context"),
        ..Home::default()
    };
    let start = RunStarted { home: home.into(), ..start.expect("it can start") };
    // Whoever comes later finds it.
    let _created = life.engine.create(start, Place::default()).await;
    life
}

async fn output(make: fn() -> Workflow) -> Value {
    match execute(&house(make()), make()).await {
        RunOutcome::Completed { output } => output,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_workflow_works_with_files() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, notes: String| async move {
            let files = ctx.files();
            files.write("docs/plan.md", "# Plan").await?;
            files.write("raw", [0, 255]).executable().await?;
            files.copy(notes.as_str(), "docs/notes.md").await?;
            let text = files.read("docs/notes.md").await?;
            let raw = files.read_bytes("raw").await?.0;
            let listed = files.list("**/*.md").await?;
            let deleted = (files.delete("raw").await?, files.delete("raw").await?);
            let exists = (files.exists("raw").await?, files.exists("docs").await?);
            Ok(json!([text, raw, listed, deleted, exists]))
        })
    };
    let expected = json!([
        "from outside",
        [0, 255],
        ["docs/notes.md", "docs/plan.md"],
        [true, false],
        [false, true]
    ]);
    assert_eq!(output(make).await, expected);
}

#[tokio::test]
async fn a_call_that_is_wrong_in_itself_is_not_tried_again_and_one_that_is_early_is() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, notes: String| async move {
            let said = |failure: Failure| (failure.kind, failure.message, failure.detail);
            let files = ctx.files();
            let outside = files.read("../context/notes").await.map(drop).map_err(said);
            let missing = files.read("none").await.map(drop).map_err(said);
            let input = files.write(notes.as_str(), "mine").await.map_err(said);
            let mode = files.write("a", "mine").mode(0o107_777).await.map_err(said);
            let set = files.write("a", "mine").mode(0o4755).await.map_err(said);
            Ok(json!([outside, missing, input, mode, set].map(Result::unwrap_err)))
        })
    };
    let said = output(make).await;
    let kind = |kind: FailureKind| json!(kind);
    assert_eq!(said[0][0], kind(FailureKind::NonRetryable));
    let words = "`../context/notes` leads out of the workspace; name something inside of it, relative to it";
    assert_eq!(said[0][1], json!(words));
    assert_eq!(said[0][2], json!({ "reason": "outside" }));
    assert_eq!(said[1][0], kind(FailureKind::Error));
    assert_eq!(said[1][1], json!("there is no `none` in the workspace"));
    assert_eq!(said[2][2], json!({ "reason": "read_only" }));
    let words =
        "ctx.files.write: the mode 0o107777 is more than permissions; take one from 0 to 0o777";
    assert_eq!(said[3][1], json!(words));
    assert_eq!(said[4][0], kind(FailureKind::NonRetryable));
}

/// Does everything once, in steps and outside of them.
fn everything() -> Workflow {
    Workflow::new("main", |ctx: Ctx, notes: String| async move {
        let body = move |ctx: Ctx| {
            let notes = notes.clone();
            async move {
                let files = ctx.files();
                files.write("a/plan", "plan").await?;
                files.copy(notes.as_str(), "a/notes").await?;
                files.delete("old").await?;
                ctx.artifact("both").file("a").await?;
                ctx.artifact("both").content("text").await?;
                Ok(())
            }
        };
        ctx.run("work", body).await?;
        ctx.artifact("plan").file("a/plan").await?;
        Ok(ctx.files().list("**").await?)
    })
}

#[tokio::test]
async fn wherever_a_process_dies_the_files_are_the_same_and_each_artifact_has_one_row() {
    let mut pictures = BTreeSet::new();
    for death in 0.. {
        let house = house(everything());
        fs::write(house.folder().join("ground/old"), "").expect("a file");
        let life = begin(&house, everything(), death).await;
        let has_died = tokio::select! {
            () = life.engine.died() => true,
            () = ended(&house, run()) => false,
        };
        drop(life.owner);
        let outcome = execute(&house, everything()).await;
        assert!(matches!(outcome, RunOutcome::Completed { .. }), "{death}: {outcome:?}");
        let detail = house.store().run_detail(run()).await.expect("the run");
        let rows = detail.artifacts.iter().map(|row| {
            let text = fs::read_to_string(house.folder().join("project").join(&row.storage_path));
            (row.id, row.name.clone(), text.expect("a file"))
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 4, "after a death at {death}");
        pictures.insert(format!("{:?} {rows:?}", detail.run.output));
        if !has_died {
            assert!(death > 20, "it passes {death} points");
            break;
        }
    }
    assert_eq!(pictures.len(), 1, "{pictures:#?}");
}
