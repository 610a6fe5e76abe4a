//! What a workflow does outside of a step: named by what it does, kept with the run, and shown in every document.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::server::stage::{Server, id, template};
use crate::support::{Done, Stand, name, sqlite, wait_until};

const OUTSIDE: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "outside", workspace: "none" }, async (ctx) => {
  await ctx.shell("echo  one\necho two");
  await ctx.artifact("report.txt", { content: "first", type: "DOCUMENT" });
  await ctx.artifact("report.txt", { content: "second", type: "DOCUMENT" });
  await ctx.phase("build", async (ctx) => {
    await ctx.artifact("report.txt", { content: "third", type: "DOCUMENT" });
  });
  await ctx.run("inside", async (ctx) => {
    await ctx.artifact("report.txt", { content: "fourth", type: "DOCUMENT" });
  });
  await ctx.approve("Publish  it?");
});"#;

fn run(stand: &Stand, root: &Path, arguments: &[&str]) -> Done {
    let agentos = Path::new(env!("CARGO_BIN_EXE_agentos"));
    stand.call_program(agentos, root, arguments).done()
}

/// A run that waits for its question, and its document.
fn waiting(stand: &Stand, root: &Path) -> Value {
    template(root, "outside", OUTSIDE);
    let run = run(stand, root, &["run", "outside", "--detach", "--json"]).exits(0).document();
    let run = name(&run);
    let mut shown = Value::Null;
    wait_until("it asks", || {
        shown = stand.show(root, &run);
        shown["waiting"]["kind"] == "approval"
    });
    shown
}

const NAMES: [&str; 6] = [
    "shell: echo one echo two",
    "artifact: report.txt",
    "artifact: report.txt",
    "artifact: report.txt",
    "inside",
    "approve: Publish it?",
];

#[test]
fn operations_outside_of_a_step_are_named_in_json_and_sql_as_in_the_terminal() {
    let (stand, root) = Stand::with_repository();
    let shown = waiting(&stand, &root);
    let steps = shown["steps"].as_array().expect("steps");
    let names: Vec<&str> = steps.iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(names, NAMES);
    let text = run(&stand, &root, &["show", "outside"]).exits(0).out;
    assert!(NAMES.iter().all(|name| text.contains(name)), "{text}");
    let sql = include_str!("outside/names.sql");
    let rows = run(&stand, &root, &["query", sql, "--json"]).exits(0).document();
    let rows: Vec<&str> = rows["items"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(rows, NAMES);
    for step in steps {
        let log = root.join(step["log_file_path"].as_str().expect("a path"));
        assert!(step["step_number"] != 1 || log.exists(), "{} is not there", log.display());
    }
    let forked = ["fork", "outside", "--from-step", "approve: Publish it?"];
    let refused = run(&stand, &root, &forked).err;
    assert!(
        !refused.contains("has no step"),
        "a step is found by the name it is shown by: {refused}"
    );
    run(&stand, &root, &["cancel", "outside"]).exits(0);
    wait_until("no process is at work", || stand.processes().is_empty());
    // Rows that an earlier version wrote.
    let database = root.join(".agentos/issue_workflow.db");
    sqlite(&database, include_str!("outside/earlier_names.sql"));
    let shown = stand.show(&root, "outside");
    assert_eq!(shown["steps"][0]["name"], NAMES[0]);
    run(&stand, &root, &["db", "check"]).exits(0);
}

#[test]
fn documents_have_the_id_of_the_current_step() {
    let (stand, root) = Stand::with_repository();
    let shown = waiting(&stand, &root);
    let last = &shown["steps"].as_array().expect("steps")[5];
    assert_eq!(shown["current_workflow_step_id"], last["id"]);
    assert_eq!(shown["current_step"]["id"], last["id"]);
    assert_eq!(shown["current_step"]["name"], NAMES[5]);
    assert_eq!(shown["current_step"]["log_file_path"], last["log_file_path"]);
    let listed = stand.runs(&root);
    assert_eq!(listed[0]["current_workflow_step_id"], last["id"]);
    let sql = include_str!("outside/current_step.sql");
    let rows = run(&stand, &root, &["query", sql, "--json"]).exits(0).document();
    assert_eq!(rows["items"][0]["id"], last["id"]);
    let server = Server::start(&stand, &root);
    let path = format!("/api/executions/{}", id(&shown));
    assert_eq!(server.get(&path).is(200).json()["current_workflow_step_id"], last["id"]);
    let listed = server.get("/api/executions").is(200).json();
    assert_eq!(listed["items"][0]["current_workflow_step_id"], last["id"]);
    server.stop();
    let folder = root.join(".agent/workflows/executions").join(id(&shown));
    run(&stand, &root, &["cancel", "outside"]).exits(0);
    wait_until("its document is written", || {
        let metadata = fs::read(folder.join("metadata.json")).expect("a document");
        let metadata: Value = serde_json::from_slice(&metadata).expect("JSON");
        metadata["current_workflow_step_id"] == last["id"]
    });
}

#[test]
fn artifacts_outside_of_a_step_are_kept_with_the_run_itself() {
    let (stand, root) = Stand::with_repository();
    let shown = waiting(&stand, &root);
    let folder = format!(".agent/workflows/executions/{}/artifacts/", id(&shown));
    let artifacts = shown["artifacts"].as_array().expect("artifacts");
    let kept: Vec<(String, String)> = artifacts
        .iter()
        .map(|artifact| {
            let path = artifact["storage_path"].as_str().expect("a path");
            let text = fs::read_to_string(root.join(path)).expect("it is kept");
            (path.strip_prefix(&folder).expect("in the run's folder").to_owned(), text)
        })
        .collect();
    let path_of = |text: &str| {
        let found = kept.iter().find(|(_, kept)| kept == text).expect("it is listed");
        found.0.clone()
    };
    assert_eq!(path_of("first"), "execution/report.txt");
    for text in ["second", "third"] {
        let path = path_of(text);
        assert!(path.starts_with("execution-") && path.ends_with("/report.txt"), "{path}");
    }
    let inside = &shown["steps"].as_array().expect("steps")[4];
    assert_eq!(path_of("fourth"), format!("{}/report.txt", inside["id"].as_str().expect("an id")));
    let numbers: Vec<&Value> = artifacts.iter().map(|artifact| &artifact["step_id"]).collect();
    assert!(numbers.iter().all(|step| **step != json!(null)), "each has its row: {numbers:?}");
    run(&stand, &root, &["cancel", "outside"]).exits(0);
}
