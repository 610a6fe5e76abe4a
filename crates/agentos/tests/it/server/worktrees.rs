//! Worktrees of a project that is served: their runs, workflows and workspaces are the project's.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

const WORKS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "works" }, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one\n"); });
});"#;

/// A second worktree of the repository, with a run that worked in a workspace.
fn worktree_with_a_run(stand: &Stand, root: &Path) -> (PathBuf, Value) {
    let other = stand.at("repo-wt");
    stand.git(root, &["worktree", "add", "-q", other.to_str().expect("a path")]);
    template(&other, "works", WORKS);
    let run = ["run", "works", "--workspace", "worktree", "--json"];
    let run = stand.run(&other, &run).exits(0).document();
    (other, run)
}

fn listed(server: &Server, query: &str) -> Vec<Value> {
    let all = server.get(&format!("/api/executions?{query}")).is(200).json();
    all["items"].as_array().expect("a list").clone()
}

#[test]
fn runs_of_another_worktree_are_told_as_the_projects_and_found_by_it() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let server = Server::start(&stand, &root);
    let project = server.project();
    let (other, run) = worktree_with_a_run(&stand, &root);
    assert_ne!(run["project_id"], project.as_str(), "what is written down is its own");
    let run = id(&run);
    wait_until("the run is seen", || !listed(&server, "workflowId=works").is_empty());
    let found = listed(&server, &format!("projectId={project}"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|run| run["project_id"] == project.as_str()), "{found:?}");
    let shown = server.get(&format!("/api/executions/{run}")).is(200).json();
    assert_eq!(shown["project_id"], project.as_str());
    let totals = server.get(&format!("/api/totals?projectId={project}")).is(200).json();
    assert_eq!(totals["runs"]["COMPLETED"], 2, "{totals}");

    let served = server.get(&format!("/api/projects/{project}")).is(200).json();
    let worktrees = served["worktrees"].as_array().expect("a list").clone();
    let paths: Vec<&Value> = worktrees.iter().map(|worktree| &worktree["path"]).collect();
    assert_eq!(paths, [&json!(root), &json!(other)], "workspaces are none of them: {served}");
    assert_eq!(worktrees[0]["id"], "main");
    for worktree in &worktrees {
        let worktree = worktree["id"].as_str().expect("an id");
        let found = listed(&server, &format!("projectId={project}&worktreeId={worktree}"));
        assert_eq!(found.len(), 1, "{worktree}: {found:?}");
    }
    server.stop();
}

#[test]
fn a_worktree_whose_database_could_not_be_read_is_seen_once_it_is_brought_back_in_place() {
    let (stand, root) = Stand::with_repository();
    let (other, run) = worktree_with_a_run(&stand, &root);
    let database = other.join(".agentos/issue_workflow.db");
    let whole = std::fs::read(&database).expect("the database");
    std::fs::write(&database, &whole[..50]).expect("a file that is cut off");
    let server = Server::start(&stand, &root);
    let all = server.get("/api/executions").is(200).json();
    let named = |all: &Value| all["unreadable"].as_array().map_or(0, Vec::len);
    assert_eq!((named(&all), all["total"].as_u64()), (1, Some(0)), "{all}");
    // The same file as before, as `cp` leaves it.
    std::fs::write(&database, whole).expect("the file");
    wait_until("the run is seen", || !listed(&server, "workflowId=works").is_empty());
    assert_eq!(id(&listed(&server, "workflowId=works")[0]), id(&run));
    assert_eq!(named(&server.get("/api/executions").is(200).json()), 0);
    server.stop();
}

#[test]
fn the_workflow_of_a_run_in_another_worktree_is_found_by_its_id_and_not_offered() {
    let (stand, root) = Stand::with_repository();
    let (_, run) = worktree_with_a_run(&stand, &root);
    let server = Server::start(&stand, &root);
    let workflow = run["workflow_def_id"].as_str().expect("a workflow").to_owned();
    let path = format!("/api/workflows/{workflow}");
    let shown = server.get(&path).is(200).json();
    assert_eq!(
        (&shown["name"], &shown["project_id"], &shown["is_active"]),
        (&json!("works"), &json!(server.project()), &json!(false)),
        "{shown}"
    );
    assert_eq!(shown["statistics"]["runs"], 1, "{shown}");
    assert!(shown["source"].to_string().contains("made.txt"), "{shown}");
    server.get("/api/workflows/works").is(404);
    server.post(&format!("{path}/execute"), &json!({})).is(404);
    let offered = server.get("/api/workflows").is(200).json();
    let offered = offered["items"].as_array().expect("a list");
    assert!(offered.iter().all(|workflow| workflow["name"] != "works"), "{offered:?}");
    server.stop();
}

#[test]
fn workspaces_of_another_worktree_are_listed_judged_removed_and_brought_back() {
    let (stand, root) = Stand::with_repository();
    let (_, run) = worktree_with_a_run(&stand, &root);
    let server = Server::start(&stand, &root);
    let project = server.project();
    let workspace = run["workspace_id"].as_str().expect("a workspace").to_owned();
    for query in ["", &format!("?projectId={project}")] {
        let found = server.get(&format!("/api/workspaces{query}")).is(200).json();
        assert_eq!(found["total"], 1, "{found}");
        assert_eq!(
            (&found["items"][0]["id"], &found["items"][0]["project_id"]),
            (&json!(workspace), &json!(project))
        );
    }
    let path = format!("/api/workspaces/{workspace}");
    let shown = server.get(&path).is(200).json();
    assert_eq!(shown["verdict"]["is_free"], false, "{shown}");
    server.post(&format!("{path}/clean"), &json!({})).is(409);
    server.post(&format!("{path}/clean"), &json!({ "force": true })).is(200);
    let folder = PathBuf::from(run["workspace_dir"].as_str().expect("a folder"));
    assert!(!folder.exists());
    assert_eq!(server.get("/api/workspaces").is(200).json()["total"], 0);
    server.post(&format!("{path}/restore"), &json!({})).is(200);
    assert!(folder.join("made.txt").exists(), "the work is back");
    server.stop();
}

#[test]
fn a_worktree_that_is_served_is_a_project_of_its_own() {
    let (stand, root) = Stand::with_repository();
    let (other, run) = worktree_with_a_run(&stand, &root);
    let server = Server::start(&stand, &root);
    let host = server.project();
    let path = format!("/api/executions/{}", id(&run));
    assert_eq!(server.get(&path).is(200).json()["project_id"], host.as_str());
    let project = server.post("/api/projects", &json!({ "path": other })).is(201).json();
    assert_eq!(project["id"], run["project_id"], "its id was made once");
    assert_eq!(project["worktrees"].as_array().map(Vec::len), Some(1), "{project}");
    assert_eq!(server.get(&path).is(200).json()["project_id"], project["id"]);
    assert!(listed(&server, &format!("projectId={host}")).is_empty());
    assert_eq!(listed(&server, &format!("projectId={}", id(&project))).len(), 1);
    server.stop();
}

#[test]
fn the_main_checkouts_of_two_projects_are_told_apart() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    for folder in [&root, &other] {
        stand.run(folder, &["run", "greet", "--name", "Ada"]).exits(0);
    }
    let server = Server::start(&stand, &root);
    server.post("/api/projects", &json!({ "path": other })).is(201);
    let projects = server.get("/api/projects").is(200).json();
    for project in projects["items"].as_array().expect("a list") {
        let worktree = &project["worktrees"][0];
        let (name, path) = (worktree["name"].as_str(), worktree["path"].as_str());
        for meant in [name.expect("a name"), path.expect("a path")] {
            let meant = meant.replace(' ', "%20");
            let found = listed(&server, &format!("worktreeId={meant}"));
            assert_eq!(found.len(), 1, "{meant}: {found:?}");
            assert_eq!(found[0]["project_id"], project["id"]);
            assert_eq!(found[0]["worktree"], worktree["name"]);
        }
    }
    assert_eq!(listed(&server, "worktreeId=main").len(), 2, "by its id every one is meant");
    server.stop();
}
