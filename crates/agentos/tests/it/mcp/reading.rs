//! What runs where, asked by a client: the same as the command line tells.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, Setup};
use crate::support::{Stand, name};

#[test]
fn a_client_is_told_what_the_command_line_tells() {
    let (stand, root) = Stand::with_repository();
    let greet = ["run", "greet", "--name", "Ada", "--json"];
    let run = name(&stand.run(&root, &greet).exits(0).document());
    let mut client = Client::reader(&stand, &root);
    assert_eq!(client.greeting["server"]["name"], "agentos");
    assert!(client.greeting["instructions"].as_str().is_some_and(|text| text.len() > 100));
    let document = |words: &[&str]| stand.run(&root, words).exits(0).document();
    let status = document(&["status", "--json"]);
    assert_eq!(status["total"], 1);
    assert_eq!(client.document("list_runs", json!({})), status);
    let shown = client.document("show_run", json!({ "run": run[..8] }));
    assert_eq!(shown, document(&["show", &run, "--json"]));
    let workflows = document(&["workflows", "--json"]);
    assert_eq!(client.document("list_workflows", json!({})), workflows);
    let workspaces = document(&["workspace", "list", "--json"]);
    assert_eq!(client.document("list_workspaces", json!({})), workspaces);
    let artifacts = document(&["artifacts", &run, "--json"]);
    assert_eq!(client.document("list_artifacts", json!({ "run": run })), artifacts);
    let logs = stand.run(&root, &["logs", &run]).exits(0).out;
    assert_eq!(client.told("read_logs", json!({ "run": run })).0, logs.trim_end());
    let (nothing, _) = client.told("read_logs", json!({ "run": run, "level": "fatal" }));
    assert_eq!(nothing, "(no lines)");
    let failed = json!({ "status": ["failed", "TIMED_OUT"], "workflow": "greet" });
    assert_eq!(client.document("list_runs", failed)["total"], 0);
    client.close();
}

#[test]
fn the_newest_way_to_introduce_oneself_works_too() {
    let (stand, root) = Stand::with_repository();
    let mut client = Client::start(&stand, &root, &Setup { mode: "auto", ..Setup::default() });
    let names: Vec<String> =
        client.tools().iter().map(|tool| tool["name"].as_str().unwrap_or("").to_owned()).collect();
    let expected = [
        "list_runs",
        "show_run",
        "read_logs",
        "list_artifacts",
        "read_artifact",
        "list_workflows",
        "list_workspaces",
        "comment",
        "start_workflow",
        "retry_run",
        "fork_run",
        "signal",
        "approve",
    ];
    assert_eq!(names, expected);
    for tool in client.tools() {
        let reads = tool["annotations"]["readOnlyHint"] == true;
        let name = tool["name"].as_str().expect("a name");
        assert_eq!(
            reads,
            name.starts_with("list_") || name.starts_with("read_") || name == "show_run"
        );
    }
    assert_eq!(client.document("list_runs", json!({}))["total"], 0);
    // Looking makes nothing.
    assert!(!root.join(".agentos").exists());
    client.close();
}

const KEEPS: &str = r##"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "keep" }, async (ctx) => {
  await ctx.run("write", async () => {
    for (let line = 1; line <= 300; line++) ctx.log.info(`line ${line} ${"x".repeat(300)}`);
    await ctx.files.write("dot.png", new Uint8Array([137, 80, 78, 71]));
    await ctx.artifact("dot.png", { file: "dot.png", type: "SCREENSHOT" });
  });
  await ctx.artifact("long.txt", { content: "äöü ".repeat(20000), type: "DOCUMENT" });
  return "y".repeat(100000);
});
"##;

#[test]
fn long_answers_are_cut_and_say_so() {
    let (stand, root) = Stand::with_repository();
    let folder = root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("keep.ts"), KEEPS).expect("a template");
    fs::write(folder.join("broken.ts"), "export default 3 +;\n").expect("a template");
    let run = name(&stand.run(&root, &["run", "keep", "--json"]).exits(0).document());
    let mut client = Client::reader(&stand, &root);
    let (text, beside) = client.told("show_run", json!({ "run": run }));
    let document: Value = serde_json::from_str(&text).expect("it stays a document");
    assert_eq!(document["output"].as_str().map(|text| text.chars().count()), Some(4_001));
    assert!(beside.contains("cut: `output` has 100000 letters"), "{beside}");
    let (lines, beside) = client.told("read_logs", json!({ "run": run, "step": 1, "tail": 2000 }));
    assert!(
        lines.len() <= 40_000
            && lines.lines().last().is_some_and(|line| line.contains("line 300 "))
    );
    assert!(beside.contains("lines before these are left out"), "{beside}");
    let (lines, _) = client.told("read_logs", json!({ "run": run, "step": 1, "tail": 2 }));
    let tail = stand.run(&root, &["logs", &run, "--step", "1", "--tail", "2"]).exits(0).out;
    assert_eq!((lines.lines().count(), lines.as_str()), (2, tail.trim_end()));
    let picture = client.told("read_artifact", json!({ "run": run, "artifact": "dot.png" })).0;
    assert!(picture.contains("is no text (image/png, 4 bytes)"), "{picture}");
    let (mut read, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let part = json!({ "run": run, "artifact": "long.txt", "offset": at });
        let (text, beside) = client.told("read_artifact", part);
        read.push_str(&text);
        let next = beside.rsplit_once("`offset`: ").map(|(_, next)| next.trim().parse());
        offset = next.map(|next: Result<u64, _>| next.expect("a number"));
    }
    assert_eq!(read, "äöü ".repeat(20_000));
    let of_step = json!({ "run": run, "step": 1, "type": "screenshot" });
    assert_eq!(client.document("list_artifacts", of_step)["total"], 1);
    let (_, beside) = client.told("list_workflows", json!({}));
    assert!(beside.contains("broken.ts"), "{beside}");
    client.close();
}

#[test]
fn a_run_of_another_worktree_is_seen_and_reached() {
    let (stand, root) = Stand::with_repository();
    let other = stand.at("other");
    stand.git(&root, &["worktree", "add", "-q", other.to_str().expect("text")]);
    let listen = ["run", "listen", "--detach", "--json"];
    let run = name(&stand.run(&other, &listen).exits(0).document());
    let mut client = Client::allowed(&stand, &root, "signal");
    let listing = client.document("list_runs", json!({ "since": "1h", "worktree": "other" }));
    assert_eq!((&listing["total"], &listing["items"][0]["run_id"]), (&json!(1), &json!(run)));
    assert_eq!(client.document("show_run", json!({ "run": run }))["run_id"], json!(run));
    client.document("comment", json!({ "run": run, "message": "from the main checkout" }));
    client.document("signal", json!({ "run": run, "event": "go", "payload": 7 }));
    let done = stand.until_status(&other, &run, "COMPLETED");
    assert_eq!(
        (&done["output"], &done["comments"][0]["author"]),
        (&json!(7), &json!("test-client"))
    );
    assert!(!root.join(".agentos").exists(), "it was dealt with where it is");
    client.close();
}
