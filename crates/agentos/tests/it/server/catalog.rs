//! Projects and workflows over REST: found, registered, kept as long as something needs them.

use std::fs;

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

const PLAIN: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "plain", description: "Says hello", version: "1.2" }, async (ctx) => "hello");"#;

#[test]
fn a_project_is_registered_served_and_served_again_after_a_restart() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    template(&other, "plain", PLAIN);
    let server = Server::start(&stand, &root);
    assert!(server.said[0].starts_with("Discovered 14 workflows in "), "{:?}", server.said);
    let added = server.post("/api/projects", &json!({ "path": other })).is(201);
    let project = id(&added.json());
    assert_eq!(added.header("location"), format!("/api/projects/{project}"));
    assert_eq!(added.json()["workflows"], 15);
    let again = server.post("/api/projects", &json!({ "path": other })).is(200);
    assert_eq!(id(&again.json()), project);
    assert_eq!(server.get(&format!("/api/projects/{project}")).is(200).json(), again.json());
    let ambiguous =
        server.post("/api/workflows/greet/execute", &json!({ "input": { "name": "Ada" } })).is(422);
    assert_eq!(ambiguous.json()["errors"][0]["pointer"], "/projectId");
    let run = server
        .post("/api/workflows/plain/execute", &json!({ "workspace": { "kind": "none" } }))
        .is(201)
        .json();
    assert_eq!(run["project_id"], project.as_str());
    server.until_status(&id(&run), "COMPLETED");
    let of_project = server.get(&format!("/api/executions?projectId={project}")).is(200).json();
    assert_eq!(of_project["total"], 1);
    for (body, status) in [
        (json!({ "path": "relative" }), 422),
        (json!({ "path": "/nowhere/at/all" }), 422),
        (json!({ "path": stand.home() }), 422),
        (json!({}), 422),
    ] {
        server.post("/api/projects", &body).is(status);
    }
    server.get("/api/projects/nothing").is(404);
    server.get("/api/projects/0190b6a4-0000-7000-8000-000000000000").is(404);
    server.delete("/api/projects/0190b6a4-0000-7000-8000-000000000000").is(404);
    server.delete(&format!("/api/projects/{project}?purge=perhaps")).is(400);
    server.stop();
    let server = Server::start(&stand, &root);
    assert_eq!(server.get("/api/projects").is(200).json()["total"], 2, "{:?}", server.said);
    server.delete(&format!("/api/projects/{project}")).is(204);
    server.get(&format!("/api/projects/{project}")).is(404);
    server.get(&format!("/api/executions/{}", id(&run))).is(404);
    server.stop();
    let kept = stand.runs(&other);
    assert_eq!(kept.len(), 1, "its runs stay");
}

const ORDERED: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "ordered", input: { type: "object", additionalProperties: false, required: ["title"],
  properties: {
    title: { type: "string" }, brief: { type: "string" }, author: { type: "object", properties: { name: {}, email: {} } },
  } } }, async (ctx) => ctx.input.title);"#;

#[test]
fn inputs_are_told_in_the_order_in_which_their_author_wrote_them() {
    let (stand, root) = Stand::with_repository();
    template(&root, "ordered", ORDERED);
    let server = Server::start(&stand, &root);
    let path = format!("/api/workflows/{}", id(&server.workflow("ordered")));
    let shown = server.get(&path).is(200).json();
    let input = &shown["input"];
    assert_eq!(input["x-order"], json!(["title", "brief", "author"]));
    assert_eq!(input["properties"]["author"]["x-order"], json!(["name", "email"]));
    assert_eq!(&shown["config"]["input"], input);
    assert_eq!(&server.workflow("ordered")["input"], input, "the list says the same");
    // It is about the schema, and nothing that an input is checked against.
    let none = json!({ "kind": "none" });
    let execute = |input: Value| {
        server.post(&format!("{path}/execute"), &json!({ "input": input, "workspace": none }))
    };
    let author = json!({ "email": "ada@example.org", "name": "Ada" });
    let run = execute(json!({ "title": "First", "author": author })).is(201).json();
    assert_eq!(server.until_status(&id(&run), "COMPLETED")["output"], "First");
    let refused = execute(json!({ "title": "Second", "x-order": ["title"] })).is(422).json();
    assert_eq!(refused["errors"][0]["pointer"], "/input/x-order");
    server.stop();
}

#[test]
fn purging_deletes_runs_with_their_files_and_waits_for_none_that_is_active() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let project = server.project();
    let run = id(&server.execute("listen", &json!({})));
    wait_until("it waits", || {
        server.get(&format!("/api/executions/{run}")).json()["waiting"]["kind"] == "signal"
    });
    let purge = format!("/api/projects/{project}?purge=true");
    let refused = server.delete(&purge).is(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("still needed"), "{refused}");
    server.post(&format!("/api/executions/{run}/cancel"), &json!({})).is(200);
    let folder = root.join(".agent/workflows/executions").join(&run);
    assert!(folder.exists());
    server.delete(&purge).is(204);
    assert!(!folder.exists(), "its files are gone");
    assert!(root.join(".git").exists(), "and the checkout is not touched");
    server.get(&format!("/api/executions/{run}")).is(404);
    server.stop();
    assert!(stand.runs(&root).is_empty());
}

#[test]
fn workflows_are_found_when_they_come_change_and_go() {
    let (stand, root) = Stand::with_repository();
    template(&root, "plain", PLAIN);
    let server = Server::start(&stand, &root);
    let found = server.workflow("plain");
    assert_eq!((found["version"].as_u64(), found["is_active"].as_bool()), (Some(1), Some(true)));
    assert_eq!(found["file_path"], ".agent/workflows/templates/plain.ts");
    assert_eq!(server.workflow("greet")["input"]["required"], json!(["name"]));
    let path = format!("/api/workflows/{}", id(&found));
    let shown = server.get(&path).is(200).json();
    assert!(shown["source"].to_string().contains("Says hello"), "{shown}");
    assert_eq!(shown["versions"][0]["author_version"], "1.2");
    assert_eq!(shown["statistics"]["runs"], 0);
    template(&root, "plain", &PLAIN.replace("\"hello\"", "\"good day\""));
    wait_until("the new version is found", || server.get(&path).is(200).json()["version"] == 2);
    let run = server
        .post(&format!("{path}/execute"), &json!({ "workspace": { "kind": "none" } }))
        .is(201)
        .json();
    server.until_status(&id(&run), "COMPLETED");
    let shown = server.get(&path).is(200).json();
    assert_eq!(shown["statistics"]["by_status"], json!({ "COMPLETED": 1 }), "{shown}");
    assert!(shown["statistics"]["average_duration"].is_number());
    let refused = server.delete(&path).is(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("plain.ts exists"), "{refused}");
    fs::remove_file(root.join(".agent/workflows/templates/plain.ts")).unwrap();
    wait_until("it can't be started any more", || {
        server.get(&path).is(200).json()["is_active"] == false
    });
    assert_eq!(server.get("/api/workflows?isActive=false").is(200).json()["total"], 1);
    server.post(&format!("{path}/execute"), &json!({})).is(409);
    server.delete(&path).is(409);
    server.delete(&format!("/api/projects/{}?purge=true", server.project())).is(204);
    server.stop();
}

#[test]
fn a_workflow_without_a_file_and_without_runs_can_be_removed_and_nothing_else() {
    let (stand, root) = Stand::with_repository();
    template(&root, "plain", PLAIN);
    let server = Server::start(&stand, &root);
    let path = format!("/api/workflows/{}", id(&server.workflow("plain")));
    fs::remove_file(root.join(".agent/workflows/templates/plain.ts")).unwrap();
    server.delete(&path).is(204);
    server.get(&path).is(404);
    server.delete(&path).is(404);
    let built_in = format!("/api/workflows/{}", id(&server.workflow("greet")));
    server.delete(&built_in).is(409);
    server.delete("/api/workflows/..%2f..").is(404);
    server.get("/api/workflows?isActive=perhaps").is(400);
    server.get("/api/workflows?projectId=x").is(400);
    server.stop();
}

#[test]
fn a_configuration_that_has_changed_is_gone_by_without_a_restart() {
    let (stand, root) = Stand::with_repository();
    let works = r#"import { createWorkflow, agent } from "agentos";
export default createWorkflow({ name: "works", agents: { planner: "nobody" } }, async (ctx) => {
    await ctx.runCli("plan", agent("planner"), "Make a plan");
});"#;
    template(&root, "works", works);
    let scenario = stand.at("scenario.toml");
    fs::write(&scenario, "[[session]]\nplay = [{ say = \"a plan\" }]\n").unwrap();
    let server = Server::start(&stand, &root);
    // The engine is there, with the configuration as it was.
    let first = id(&server.execute("greet", &json!({ "name": "Ada" })));
    server.until_status(&first, "COMPLETED");
    let waits = id(&server.execute("listen", &json!({})));
    let execute = || server.post("/api/workflows/works/execute", &json!({}));
    assert_eq!(execute().status, 422, "nobody is no agent");
    let config = format!(
        "[agents.mine]\nkind = \"scripted\"\nscenario = \"{}\"\n[roles]\nplanner = \"mine\"\n",
        scenario.display()
    );
    fs::write(root.join(".agent/config.toml"), config).unwrap();
    // Whoever starts a run goes by it at once; the engine as soon as nothing is at work.
    wait_until("the engine goes by it, too", || {
        let run = id(&execute().is(201).json());
        let mut document = Value::Null;
        wait_until("it has ended", || {
            document = server.get(&format!("/api/executions/{run}")).is(200).json();
            document["completed_at"].is_string()
        });
        document["status"] == "COMPLETED"
    });
    server.post(&format!("/api/executions/{waits}/signal"), &json!({ "event": "go" })).is(200);
    server.until_status(&waits, "COMPLETED");
    server.stop();
}

#[test]
fn short_lists_have_pages_too() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let all = server.get("/api/workflows").is(200).json();
    let count = all["total"].as_u64().expect("a number");
    assert_eq!((all["page"].as_u64(), all["limit"].as_u64()), (Some(1), Some(1_000)));
    assert_eq!(
        (all["items"].as_array().expect("a list").len() as u64, &all["next"]),
        (count, &json!(null))
    );
    let (mut seen, mut address) = (Vec::new(), "/api/workflows?limit=5".to_owned());
    loop {
        let page = server.get(&address).is(200).json();
        assert_eq!((page["total"].as_u64(), page["limit"].as_u64()), (Some(count), Some(5)));
        seen.extend(page["items"].as_array().expect("a list").clone());
        let Some(next) = page["next"].as_str() else { break };
        address = format!("/api/workflows?limit=5&after={next}");
    }
    assert_eq!(json!(seen), all["items"], "each once, in the same order");
    let second = server.get("/api/workflows?limit=5&page=2").is(200).json();
    assert_eq!((second["page"].as_u64(), &second["items"][0]), (Some(2), &all["items"][5]));
    let beyond = server.get("/api/workflows?limit=5&page=99").is(200).json();
    assert_eq!((&beyond["items"], beyond["total"].as_u64()), (&json!([]), Some(count)));
    for list in ["projects", "workflows", "workspaces"] {
        assert_eq!(server.get(&format!("/api/{list}?limit=1")).is(200).json()["limit"], 1);
        for wrong in ["limit=0", "limit=1001", "page=0", "after=nothing", "after=x&page=1"] {
            let problem = server.get(&format!("/api/{list}?{wrong}")).is(400).json();
            let name = wrong.split('=').next();
            assert_eq!(problem["errors"][0]["parameter"].as_str(), name, "{list} {wrong}");
        }
    }
    server.stop();
}
