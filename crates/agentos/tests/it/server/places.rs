//! Workspaces and differences over REST.

use serde_json::json;

use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

const WORKS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "works" }, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one\ntwo\n"); });
    await ctx.run("add", async () => { await ctx.files.write("other.txt", "three\n"); });
});"#;

fn started(server: &Server) -> serde_json::Value {
    let body = json!({ "workspace": { "kind": "worktree" } });
    server.post("/api/workflows/works/execute", &body).is(201).json()
}

#[test]
fn a_workspace_is_judged_removed_only_by_force_and_brought_back() {
    let (stand, root) = Stand::with_repository();
    template(&root, "works", WORKS);
    let server = Server::start(&stand, &root);
    let run = id(&started(&server));
    let run = server.until_status(&run, "COMPLETED");
    let workspace = run["workspace_id"].as_str().expect("a workspace of its own");
    let listed = server.get("/api/workspaces").is(200).json();
    assert_eq!(
        (listed["total"].as_u64(), listed["items"][0]["id"].as_str()),
        (Some(1), Some(workspace))
    );
    assert_eq!(
        server.get(&format!("/api/workspaces?projectId={}", server.project())).is(200).json()["total"],
        1
    );
    let path = format!("/api/workspaces/{workspace}");
    let shown = server.get(&path).is(200).json();
    assert_eq!(shown["verdict"]["is_free"], false, "{shown}");
    assert_eq!(shown["execution_id"], run["id"], "{shown}");
    assert!(shown["size_bytes"].as_u64().is_some_and(|size| size > 0), "{shown}");
    let refused = server.post(&format!("{path}/clean"), &json!({})).is(409).json();
    assert!(refused["hint"].as_str().unwrap().contains("force"), "{refused}");
    let cleaned = server.post(&format!("{path}/clean"), &json!({ "force": true })).is(200).json();
    assert_eq!(
        (cleaned["is_removed"].as_bool(), cleaned["backup"].is_object()),
        (Some(true), true),
        "{cleaned}"
    );
    let made_at = cleaned["backup"]["made_at"].as_str().unwrap();
    assert!(made_at.starts_with("20") && made_at.ends_with('Z'), "{cleaned}");
    assert_eq!(cleaned["verdict"]["is_free"], false);
    let folder = std::path::PathBuf::from(run["workspace_dir"].as_str().unwrap());
    assert!(!folder.exists());
    assert_eq!(server.get("/api/workspaces").is(200).json()["total"], 0);
    assert_eq!(server.get("/api/workspaces?all=true").is(200).json()["total"], 1);
    assert_eq!(server.get(&path).is(200).json()["size_bytes"], json!(null));
    server.post(&format!("{path}/clean"), &json!({})).is(409);
    server.post(&format!("{path}/restore"), &json!({})).is(200);
    assert!(folder.join("made.txt").exists(), "the work is back");
    let refused = server.post(&format!("{path}/restore"), &json!({})).is(409).json();
    assert!(refused["hint"].as_str().unwrap().contains("/clean"), "{refused}");
    server.post("/api/workspaces/nothing/clean", &json!({})).is(404);
    server.post("/api/workspaces/nothing/restore", &json!({})).is(404);
    server.get("/api/workspaces/..%2f..").is(404);
    server.get("/api/workspaces?all=perhaps").is(400);
    server.stop();
}

#[test]
fn what_a_run_or_a_step_has_done_to_the_files_is_shown() {
    let (stand, root) = Stand::with_repository();
    template(&root, "works", WORKS);
    let server = Server::start(&stand, &root);
    let run = id(&started(&server));
    server.until_status(&run, "COMPLETED");
    let path = format!("/api/executions/{run}/diff");
    let all = server.get(&path).is(200).json();
    assert_eq!(
        (all["files_changed"].as_u64(), all["insertions"].as_u64()),
        (Some(2), Some(3)),
        "{all}"
    );
    let step = server.get(&format!("{path}?step=2")).is(200).json();
    assert_eq!(step["files"][0]["path"], "other.txt", "{step}");
    assert!(step["text"].as_str().unwrap().contains("+three"));
    assert_eq!(server.get(&format!("{path}?step=write")).is(200).json()["files_changed"], 1);
    server.get(&format!("{path}?step=99")).is(404);
    server.get("/api/executions/nothing/diff").is(404);
    let body = json!({ "input": { "name": "Ada" } });
    let plain = id(&server.post("/api/workflows/greet/execute", &body).is(201).json());
    server.until_status(&plain, "COMPLETED");
    server.get(&format!("/api/executions/{plain}/diff")).is(409);
    server.stop();
}

#[test]
fn a_run_is_forked_from_a_step_with_the_files_as_they_were() {
    let (stand, root) = Stand::with_repository();
    template(&root, "works", WORKS);
    let server = Server::start(&stand, &root);
    let run = id(&started(&server));
    server.until_status(&run, "COMPLETED");
    let path = format!("/api/executions/{run}/fork");
    server.post(&path, &json!({})).is(422);
    server.post(&path, &json!({ "fromStep": 99 })).is(422);
    server.post(&path, &json!({ "fromStep": "write", "agents": { "nobody": "codex" } })).is(422);
    let forked = server.post(&path, &json!({ "fromStep": 2 })).is(201).json();
    assert_eq!(forked["forked_from"], run.as_str());
    let ended = server.until_status(&id(&forked), "COMPLETED");
    let folder = std::path::PathBuf::from(ended["workspace_dir"].as_str().unwrap());
    assert!(folder.join("made.txt").exists() && folder.join("other.txt").exists());
    server.stop();
}

#[test]
fn a_project_that_was_purged_finds_its_workspaces_when_it_is_served_again() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    template(&other, "works", WORKS);
    let server = Server::start(&stand, &root);
    let project = id(&server.post("/api/projects", &json!({ "path": other })).is(201).json());
    let run = server.until_status(&id(&started(&server)), "COMPLETED");
    let workspaces = |project: &str| {
        let all = server.get(&format!("/api/workspaces?projectId={project}")).is(200).json();
        all["items"].as_array().expect("a list").clone()
    };
    let before = workspaces(&project);
    assert_eq!((before.len(), &before[0]["id"]), (1, &run["workspace_id"]));
    server.delete(&format!("/api/projects/{project}?purge=true")).is(204);
    let folder = std::path::PathBuf::from(run["workspace_dir"].as_str().expect("a folder"));
    assert!(folder.join("made.txt").exists(), "it is not touched");
    let again = id(&server.post("/api/projects", &json!({ "path": other })).is(201).json());
    let after = workspaces(&again);
    assert_eq!((after.len(), &after[0]["id"]), (1, &run["workspace_id"]), "{after:?}");
    assert_eq!(after[0]["project_id"], again.as_str());
    let others = server.project();
    assert_ne!(others, again);
    assert!(workspaces(&others).is_empty(), "it is nobody else's");
    server.stop();
}

const PAUSES: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "pauses" }, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one\n"); });
    await ctx.approve("Go on?");
});"#;

#[test]
fn a_workspace_that_a_run_needs_says_so_and_its_files_are_told_to_be_in_the_backup() {
    let (stand, root) = Stand::with_repository();
    template(&root, "pauses", PAUSES);
    let server = Server::start(&stand, &root);
    let order = json!({ "workspace": { "kind": "worktree" } });
    let run = id(&server.post("/api/workflows/pauses/execute", &order).is(201).json());
    wait_until("it asks", || {
        let shown = server.get(&format!("/api/executions/{run}")).is(200).json();
        shown["waiting"]["kind"] == "approval"
    });
    let shown = server.get(&format!("/api/executions/{run}")).is(200).json();
    let path = format!("/api/workspaces/{}", shown["workspace_id"].as_str().expect("a workspace"));
    let diff = format!("/api/executions/{run}/diff");
    assert_eq!(server.get(&diff).is(200).json()["files_changed"], 1);
    let needed = server.get(&path).is(200).json();
    assert_eq!(
        (&needed["needed_by"], &needed["status"], &needed["execution_id"]),
        (&shown["run_id"], &json!("in_use"), &shown["id"]),
        "{needed}"
    );
    let refused = server.post(&format!("{path}/clean"), &json!({})).is(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("has not ended"), "{refused}");
    server.post(&format!("{path}/clean"), &json!({ "force": true })).is(200);
    assert_eq!(server.get(&path).is(200).json()["needed_by"], json!(null));
    let kept = server.get(&diff).is(409).json();
    assert!(kept["detail"].as_str().unwrap().contains("are in a backup"), "{kept}");
    assert!(kept["hint"].as_str().unwrap().contains(&format!("{path}/restore")), "{kept}");
    server.post(&format!("{path}/restore"), &json!({})).is(200);
    assert_eq!(server.get(&diff).is(200).json()["files_changed"], 1);
    server.post(&format!("/api/executions/{run}/cancel"), &json!({})).is(200);
    assert_eq!(server.get(&path).is(200).json()["needed_by"], json!(null), "it has ended");
    server.stop();
}
