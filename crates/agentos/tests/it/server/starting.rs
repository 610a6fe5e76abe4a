//! Starting runs over REST: the document, what is wrong with an input, and once for each key.

use std::fs;

use serde_json::json;

use super::stage::{Server, id, template};
use crate::support::{Stand, lines, wait_until};

/// Each of its steps ends when there is a file of its number.
const STEPS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "steps", workspace: "none" }, async (ctx) => {
    const file = ctx.input.file as string;
    for (const number of [1, 2, 3, 4]) {
        const command = `echo ${number} >> ${file}; while [ -e ${file} ] && [ ! -e ${file}.${number} ]; do sleep 0.02; done`;
        await ctx.run(`count ${number}`, async (ctx) => { await ctx.shell(command); });
    }
});"#;

#[test]
fn a_run_is_started_by_id_or_name_and_its_current_step_moves() {
    let (stand, root) = Stand::with_repository();
    template(&root, "steps", STEPS);
    let server = Server::start(&stand, &root);
    let (workflow, project) = (id(&server.workflow("steps")), server.project());
    let file = stand.at("counted");
    let body = json!({ "projectId": project, "input": { "file": file } });
    let started = server.post(&format!("/api/workflows/{workflow}/execute"), &body).is(201);
    let run = started.json();
    assert_eq!(run["id"], run["execution_id"]);
    assert_eq!(started.header("location"), format!("/api/executions/{}", id(&run)));
    assert!(matches!(run["status"].as_str(), Some("PENDING" | "RUNNING")), "{run}");
    for number in 1..=4 {
        let step = format!("count {number}");
        wait_until(&format!("`{step}` is the current step"), || {
            let now = server.get(&format!("/api/executions/{}", id(&run))).is(200).json();
            now["current_step"]["name"] == step.as_str()
        });
        fs::write(stand.at(&format!("counted.{number}")), "").unwrap();
    }
    server.until_status(&id(&run), "COMPLETED");
    assert_eq!(lines(&file), ["1", "2", "3", "4"]);
    assert!(stand.executors().is_empty(), "the server drives it itself");
    let by_name = json!({ "project_id": project, "input": { "name": "Ada" } });
    server.post("/api/workflows/greet/execute", &by_name).is(201);
    server.stop();
}

#[test]
fn an_input_that_does_not_fit_is_refused_field_by_field() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let execute = |body: &serde_json::Value| server.post("/api/workflows/greet/execute", body);
    let wrong = execute(&json!({ "input": { "times": "often", "name": 1 } })).is(422).json();
    let mut pointers: Vec<&str> = wrong["errors"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["pointer"].as_str())
        .collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/input/name", "/input/times"], "{wrong}");
    let missing = execute(&json!({ "input": {} })).is(422).json();
    assert_eq!(missing["errors"][0]["pointer"], "/input/name", "{missing}");
    for (body, pointer) in [
        (json!({ "input": { "name": "Ada" }, "projectId": "x" }), "/projectId"),
        (json!({ "input": { "name": "Ada" }, "agents": { "claude": 1 } }), "/agents/claude"),
        (json!({ "input": { "name": "Ada" }, "nonsense": 1 }), "/nonsense"),
        (
            json!({ "input": { "name": "Ada" }, "projectId": "0190b6a4-0000-7000-8000-000000000000" }),
            "/projectId",
        ),
    ] {
        let problem = execute(&body).is(422).json();
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
    let path = "/api/workflows/greet/execute";
    let kind = ("content-type", "application/json");
    server.ask("POST", path, &[kind], b"{").is(400);
    server.ask("POST", path, &[("content-type", "text/plain")], b"{}").is(415);
    server.ask("POST", path, &[kind], br#"[{"name": "Ada"}]"#).is(422);
    server.post("/api/workflows/nothing/execute", &json!({})).is(404);
    let outside = json!({ "input": { "name": "Ada", "brief": "/etc/passwd" } });
    let refused = execute(&outside).is(422).json();
    assert!(refused["detail"].as_str().unwrap().contains("is not in the project"), "{refused}");
    execute(&json!({ "input": { "name": "Ada" }, "agents": { "claude": "scripted:/etc/passwd" } }))
        .is(422);
    execute(&json!({ "input": { "name": "Ada" }, "workspace": { "kind": "castle" } })).is(422);
    let too_long = format!("{{\"input\": {{\"name\": \"{}\"}}}}", "x".repeat(17 << 20));
    server.ask("POST", path, &[kind], too_long.as_bytes()).is(413);
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 0, "nothing was started");
    fs::write(root.join("brief.md"), "Be kind.").unwrap();
    let inside = json!({ "input": { "name": "Ada", "brief": "brief.md" } });
    let run = execute(&inside).is(201).json();
    let ended = server.until_status(&id(&run), "COMPLETED");
    assert_eq!(ended["output"]["brief"], "Be kind.");
    server.stop();
}

#[test]
fn under_one_key_a_run_is_started_once_also_after_a_restart() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let path = "/api/workflows/greet/execute";
    let headers = [("content-type", "application/json"), ("idempotency-key", "order 7/ü")];
    let key = [("content-type", "application/json"), ("idempotency-key", "order 7")];
    server.ask("POST", path, &headers, b"{}");
    let body = br#"{"input": {"name": "Ada"}}"#;
    let first = server.ask("POST", path, &key, body).is(201);
    assert_eq!(first.header("idempotent-replayed"), "");
    let again = server.ask("POST", path, &key, body).is(201);
    assert_eq!(
        (id(&again.json()), again.header("idempotent-replayed")),
        (id(&first.json()), "true")
    );
    server.ask("POST", path, &key, br#"{"input": {"name": "Eve"}}"#).is(409);
    server.kill();
    let server = Server::start(&stand, &root);
    let later = server.ask("POST", path, &key, body).is(201);
    assert_eq!(id(&later.json()), id(&first.json()));
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 1);
    let long = "k".repeat(300);
    let long = [("content-type", "application/json"), ("idempotency-key", long.as_str())];
    server.ask("POST", path, &long, body).is(400);
    let wrong = [("content-type", "application/json"), ("idempotency-key", "another")];
    server.ask("POST", path, &wrong, br#"{"input": {}}"#).is(422);
    server.ask("POST", path, &wrong, body).is(201);
    server.stop();
}

#[test]
fn under_one_key_the_same_run_is_answered_also_if_it_could_not_be_started_any_more() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let path = "/api/workflows/greet/execute";
    let key = [("content-type", "application/json"), ("idempotency-key", "once")];
    fs::write(root.join("brief.md"), "Be kind.").unwrap();
    let body = br#"{"input": {"name": "Ada", "brief": "brief.md"}}"#;
    let first = server.ask("POST", path, &key, body).is(201);
    fs::remove_file(root.join("brief.md")).unwrap();
    let again = server.ask("POST", path, &key, body).is(201);
    assert_eq!(
        (id(&again.json()), again.header("idempotent-replayed")),
        (id(&first.json()), "true")
    );
    server.stop();
}

#[test]
fn a_template_that_was_just_written_can_be_started_and_one_that_is_broken_is_told_of() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    template(
        &root,
        "fresh",
        r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "fresh" }, async (ctx) => { ctx.log.info("hello"); return 1; });"#,
    );
    let run = server.post("/api/workflows/fresh/execute", &json!({})).is(201).json();
    assert_eq!(server.until_status(&id(&run), "COMPLETED")["output"], 1);
    assert_eq!(server.workflow("fresh")["is_active"], true);
    template(&root, "broken", "export default (");
    wait_until("the broken template is told of", || {
        let projects = server.get("/api/projects").is(200).json();
        projects["items"][0]["problems"].to_string().contains("broken.ts")
    });
    server.stop();
}
