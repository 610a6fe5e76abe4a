//! What programs tell refusals apart by: each cause has a type of its own, with one status. That the type is among those
//! that the description lists for the address is checked with every answer.

use std::fs;

use serde_json::{Value, json};

use super::http::Answer;
use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

const NAMED: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({
    name: "named",
    input: { type: "object", properties: {
        name: { type: "string" }, times: { type: "integer" }, brief: { type: "string", format: "file" },
    } },
}, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one\n"); });
    await ctx.run("twice", async () => {});
    await ctx.run("twice", async () => {});
    return ctx.input.name;
});"#;

const ASKS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "asks" }, async (ctx) => {
    await Promise.all([ctx.approve("May I come in?"), ctx.approve("May I stay?")]);
});"#;

const WAITS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "waits" }, async (ctx) => {
    await ctx.run("first", async () => { await ctx.files.write("made.txt", "one\n"); });
    await ctx.waitFor("go", { timeout: 3600000 });
});"#;

fn execute(server: &Server, workflow: &str, body: &Value) -> Answer {
    server.post(&format!("/api/workflows/{workflow}/execute"), body)
}

fn pointers(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().expect("fields");
    errors.iter().filter_map(|one| one["pointer"].as_str()).collect()
}

#[test]
fn a_run_that_is_not_started_says_by_its_type_why() {
    let (stand, root) = Stand::with_repository();
    template(&root, "named", NAMED);
    let server = Server::start(&stand, &root);
    let refused = |body: Value, kind: &str| execute(&server, "named", &body).refuses(kind);
    execute(&server, "nothing", &json!({})).refuses("unknown-workflow");
    let nowhere = "0190b6a4-0000-7000-8000-000000000000";
    refused(json!({ "projectId": nowhere }), "wrong-project");
    refused(json!({ "nonsense": 1 }), "wrong-fields");
    refused(json!({ "input": { "times": "often" } }), "wrong-input");
    refused(json!({ "input": { "brief": "nothing.md" } }), "wrong-input");
    refused(json!({ "input": { "brief": "/etc/passwd" } }), "outside-project");
    refused(json!({ "agents": { "claude": "scripted:/etc/passwd" } }), "outside-project");
    refused(json!({ "agents": { "claude": "nobody" } }), "wrong-agents");
    refused(json!({ "workspace": { "kind": "castle" } }), "wrong-workspace");
    refused(json!({ "workspace": { "kind": "worktree", "base": "x" } }), "wrong-workspace");
    let path = "/api/workflows/named/execute";
    let kind = ("content-type", "application/json");
    server.ask("POST", path, &[kind], b"{").refuses("no-json");
    server.ask("POST", path, &[("content-type", "text/plain")], b"{}").refuses("other-media-type");
    server.ask("POST", path, &[kind, ("idempotency-key", "")], b"{}").refuses("wrong-parameter");
    server.ask("POST", &format!("{path}?x=1"), &[kind], b"{}").refuses("wrong-parameter");
    let long = format!("{{\"input\": {{\"name\": \"{}\"}}}}", "x".repeat(17 << 20));
    server.ask("POST", path, &[kind], long.as_bytes()).refuses("body-too-large");
    let key = [kind, ("idempotency-key", "order 7")];
    server.ask("POST", path, &key, br#"{"input": {"name": "Ada"}}"#).is(201);
    let other = server.ask("POST", path, &key, br#"{"input": {"name": "Eve"}}"#);
    other.refuses("key-used-otherwise");
    let another = stand.repository("another");
    template(&another, "named", NAMED);
    server.post("/api/projects", &json!({ "path": another })).is(201);
    let needed = refused(json!({}), "project-needed");
    assert_eq!(pointers(&needed), ["/projectId"]);
    server.get("/api/workflows/named").refuses("ambiguous-workflow");
    server.stop();
}

#[test]
fn everything_that_is_wrong_with_a_request_is_told_at_once() {
    let (stand, root) = Stand::with_repository();
    template(&root, "named", NAMED);
    let server = Server::start(&stand, &root);
    let body = json!({
        "input": { "times": "often", "name": 1 },
        "workspace": { "kind": "castle" },
        "agents": { "claude": "nobody" },
    });
    let told = execute(&server, "named", &body).refuses("wrong-fields");
    let all = ["/input/name", "/input/times", "/workspace/kind", "/agents/claude"];
    let mut pointers = pointers(&told);
    pointers.sort_unstable_by_key(|pointer| all.iter().position(|known| known == pointer));
    assert_eq!(pointers, all, "{told}");
    let run = execute(&server, "named", &json!({ "workspace": { "kind": "worktree" } }));
    let run = server.until_status(&id(&run.is(201).json()), "COMPLETED");
    let path = format!("/api/executions/{}/retry", id(&run));
    let unknown = server.post(&path, &json!({ "from": 1 })).refuses("wrong-fields");
    assert_eq!(unknown["detail"], "`/from` is not known");
    server.post(&path, &json!([])).refuses("wrong-fields");
    server.ask("POST", &path, &[("content-type", "application/json")], b"{").refuses("no-json");
    // Nothing has to be sent.
    server.ask("POST", &path, &[], b"").refuses("not-retryable");
    server.stop();
}

#[test]
fn how_a_project_stands_is_told_by_types_of_its_own() {
    let (stand, root) = Stand::with_repository();
    template(&root, "named", NAMED);
    template(&root, "waits", WAITS);
    let server = Server::start(&stand, &root);
    let in_box = json!({ "workspace": { "kind": "worktree", "id": "box" } });
    let waits = execute(&server, "waits", &in_box).is(201).json();
    let waits = format!("/api/executions/{}", id(&waits));
    wait_until("it waits", || server.get(&waits).json()["waiting"]["kind"] == "signal");
    execute(&server, "named", &in_box).refuses("workspace-in-use");
    server.post("/api/workspaces/box/clean", &json!({})).refuses("workspace-in-use");
    let project = server.project();
    server.delete(&format!("/api/projects/{project}?purge=true")).refuses("project-in-use");
    stand.git(&root, &["branch", "agentos/taken"]);
    let taken = json!({ "workspace": { "kind": "worktree", "id": "taken" } });
    execute(&server, "named", &taken).refuses("workspace-unusable");
    let (named, greet) = (id(&server.workflow("named")), id(&server.workflow("greet")));
    server.delete(&format!("/api/workflows/{named}")).refuses("workflow-has-file");
    server.delete(&format!("/api/workflows/{greet}")).refuses("workflow-built-in");
    let waiting = id(&server.workflow("waits"));
    fs::remove_file(root.join(".agent/workflows/templates/waits.ts")).expect("a template");
    execute(&server, &waiting, &json!({})).refuses("workflow-not-startable");
    let latest = server.post(&format!("{waits}/resume"), &json!({ "latest": true }));
    latest.refuses("workflow-not-startable");
    server.delete(&format!("/api/workflows/{waiting}")).refuses("workflow-has-runs");
    let nothing = "0190b6a4-0000-7000-8000-000000000000";
    server.delete(&format!("/api/workflows/{nothing}")).refuses("unknown-workflow");
    server.delete(&format!("/api/projects/{nothing}")).refuses("unknown-project");
    server.get(&format!("/api/artifacts/{nothing}/download")).refuses("unknown-artifact");
    server.get(&format!("{waits}/logs?stepId={nothing}")).refuses("unknown-step");
    server.post("/api/projects", &json!({ "path": stand.home() })).refuses("wrong-path");
    server.get("/api/nothing").refuses("not-found");
    fs::write(root.join(".agent/config.toml"), "[workspace\n").expect("a file");
    execute(&server, "named", &json!({})).refuses("project-unusable");
    server.stop();
}

#[test]
fn what_is_not_done_to_a_run_says_by_its_type_why() {
    let (stand, root) = Stand::with_repository();
    template(&root, "named", NAMED);
    template(&root, "asks", ASKS);
    template(&root, "waits", WAITS);
    let server = Server::start(&stand, &root);
    let post = |run: &str, deed: &str, body: Value| {
        server.post(&format!("/api/executions/{run}/{deed}"), &body)
    };
    post("nothing", "cancel", json!({})).refuses("unknown-run");
    let worktree = json!({ "workspace": { "kind": "worktree" } });
    let ended = id(&execute(&server, "named", &worktree).is(201).json());
    server.until_status(&ended, "COMPLETED");
    for (deed, body) in [
        ("resume", json!({})),
        ("signal", json!({ "event": "go" })),
        ("approve", json!({ "approved": true })),
    ] {
        post(&ended, deed, body).refuses("run-has-ended");
    }
    post(&ended, "retry", json!({})).refuses("not-retryable");
    post(&ended, "comments", json!({ "message": " " })).refuses("wrong-message");
    post(&ended, "comments", json!({ "message": "x", "stepNumber": 99 })).refuses("wrong-step");
    let fork = |body: Value, kind: &str| post(&ended, "fork", body).refuses(kind);
    fork(json!({ "fromStep": 99 }), "wrong-step");
    let twice = fork(json!({ "fromStep": "twice" }), "wrong-step");
    assert_eq!(pointers(&twice), ["/fromStep"]);
    fork(json!({ "fromStep": 1, "input": { "times": "often" } }), "wrong-input");
    fork(json!({ "fromStep": 1, "input": { "brief": "/etc/passwd" } }), "outside-project");
    let scenario = json!({ "claude": "scripted:/etc/passwd" });
    fork(json!({ "fromStep": 1, "agents": scenario }), "outside-project");
    fork(json!({ "fromStep": 1, "agents": { "nobody": "codex" } }), "wrong-agents");
    fork(json!({ "fromStep": 1, "workspace": "none" }), "wrong-workspace");
    let diff = |run: &str, step: &str| server.get(&format!("/api/executions/{run}/diff{step}"));
    diff(&ended, "?step=99").refuses("unknown-step");
    diff(&ended, "?step=twice").refuses("ambiguous-step");
    let plain = id(&execute(&server, "named", &json!({})).is(201).json());
    server.until_status(&plain, "COMPLETED");
    diff(&plain, "").refuses("files-not-kept");
    post(&plain, "fork", json!({ "fromStep": 1 })).refuses("files-not-kept");
    let asks = id(&server.execute("asks", &json!({})));
    wait_until("it asks", || {
        let run = server.get(&format!("/api/executions/{asks}")).json();
        run["operations"].as_array().is_some_and(|all| all.len() == 2)
    });
    post(&asks, "approve", json!({ "approved": true })).refuses("question-needed");
    let other = json!({ "approved": true, "question": "Why?" });
    post(&asks, "approve", other).refuses("wrong-question");
    let waits = id(&server.execute("waits", &json!({})));
    wait_until("it waits", || {
        let run = server.get(&format!("/api/executions/{waits}")).json();
        run["waiting"]["kind"] == "signal"
    });
    post(&waits, "approve", json!({ "approved": true })).refuses("nothing-to-answer");
    post(&waits, "signal", json!({ "event": "e".repeat(2_000) })).refuses("wrong-event");
    server.stop();
}

#[test]
fn a_run_that_somebody_has_or_that_does_not_fit_its_workflow_any_more_does_not_go_on() {
    let (stand, root) = Stand::with_repository();
    template(&root, "waits", WAITS);
    let mut foreground = stand.call(&root, &["run", "waits"]).start();
    let run = id(&stand.only(&root, "waits"));
    let server = Server::start(&stand, &root);
    let path = format!("/api/executions/{run}");
    wait_until("it waits", || server.get(&path).is(200).json()["waiting"]["kind"] == "signal");
    server.post(&format!("{path}/resume"), &json!({})).refuses("run-is-driven");
    foreground.send(rustix::process::Signal::INT);
    assert_eq!(foreground.done().code, Some(130));
    let (before, after) = WAITS.split_once("    await ctx.run").expect("a step");
    let (_, rest) = after.split_once('\n').expect("a line");
    let command = "    await ctx.shell(\"true\", { name: \"first\" });";
    template(&root, "waits", &format!("{before}{command}\n{rest}"));
    let latest = server.post(&format!("{path}/resume"), &json!({ "latest": true }));
    let latest = latest.refuses("latest-does-not-fit");
    assert!(latest["hint"].to_string().contains("`latest`"), "{latest}");
    server.post(&format!("{path}/resume"), &json!({})).is(200);
    server.stop();
}

#[test]
fn what_is_not_done_to_a_workspace_says_by_its_type_why() {
    let (stand, root) = Stand::with_repository();
    template(&root, "named", NAMED);
    let server = Server::start(&stand, &root);
    let worktree = json!({ "workspace": { "kind": "worktree", "id": "box" } });
    let run = id(&execute(&server, "named", &worktree).is(201).json());
    let run = server.until_status(&run, "COMPLETED");
    let post = |deed: &str, body: Value| server.post(&format!("/api/workspaces/box/{deed}"), &body);
    server.get("/api/workspaces/nothing").refuses("unknown-workspace");
    server.post("/api/workspaces/nothing/clean", &json!({})).refuses("unknown-workspace");
    server.post("/api/workspaces/nothing/restore", &json!({})).refuses("unknown-workspace");
    post("clean", json!({})).refuses("work-would-be-lost");
    post("restore", json!({})).refuses("no-backup");
    post("clean", json!({ "force": true })).is(200);
    post("clean", json!({})).refuses("workspace-gone");
    post("restore", json!({ "backup": 99 })).refuses("wrong-backup");
    let folder = run["workspace_dir"].as_str().expect("a folder");
    fs::create_dir_all(folder).expect("something in its place");
    fs::write(format!("{folder}/mine.txt"), "mine").expect("a file");
    post("restore", json!({})).refuses("backup-unusable");
    fs::remove_dir_all(folder).expect("it is gone again");
    post("restore", json!({})).is(200);
    post("restore", json!({})).refuses("workspace-there");
    server.stop();
}

#[test]
fn a_key_that_can_not_be_written_down_starts_nothing_and_that_is_our_fault() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let path = "/api/workflows/greet/execute";
    let key = [("content-type", "application/json"), ("idempotency-key", "once")];
    let body = br#"{"input": {"name": "Ada"}}"#;
    // Nothing can be made in there, whoever asks.
    let keys = root.join(".agentos/issue_workflow.db.keys");
    fs::write(&keys, "").expect("a file in the place of the folder");
    server.ask("POST", path, &key, body).refuses("failed");
    fs::remove_file(&keys).expect("the file");
    let run = server.ask("POST", path, &key, body).is(201).json();
    server.until_status(&id(&run), "COMPLETED");
    server.stop();
}
