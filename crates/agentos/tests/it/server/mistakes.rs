//! What the server says to whoever asks wrongly: which field, what it has to be, and what to do next, in the words of the API.

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, until};

const NAMED: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({
    name: "named",
    input: { type: "object", properties: { name: { type: "string" }, times: { type: "integer" } } },
}, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one\n"); });
    return ctx.input.name;
});"#;

/// What a problem says about fields: `/path is missing`.
fn fields(problem: &Value) -> Vec<String> {
    let errors = problem["errors"].as_array().unwrap_or_else(|| panic!("no field: {problem}"));
    let told = |one: &Value| {
        let field = one["pointer"].as_str().or(one["parameter"].as_str()).expect("a field");
        format!("{field} {}", one["detail"].as_str().expect("words"))
    };
    errors.iter().map(told).collect()
}

/// A run that has ended, with a workspace of its own.
fn named(server: &Server) -> Value {
    let body = json!({ "input": { "name": "Ada" }, "workspace": { "kind": "worktree" } });
    let run = server.post("/api/workflows/named/execute", &body).is(201).json();
    server.until_status(&id(&run), "COMPLETED")
}

#[test]
fn a_body_that_is_wrong_is_told_of_field_by_field_in_words_of_json() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("listen", &json!({})));
    let run = format!("/api/executions/{run}");
    let number = "has to be a whole number from 1 to 4294967295";
    for (path, body, told) in [
        ("/api/projects", json!({}), vec!["/path is missing".to_owned()]),
        (
            "/api/projects",
            json!({ "path": 1 }),
            vec!["/path has to be a text that is not empty".to_owned()],
        ),
        ("/api/projects", json!([]), vec![" has to be an object".to_owned()]),
        (&*format!("{run}/approve"), json!({}), vec!["/approved is missing".to_owned()]),
        (
            &*format!("{run}/approve"),
            json!({ "approved": null, "why": 1 }),
            vec![
                "/approved has to be `true` or `false`".to_owned(),
                "/why is not known".to_owned(),
            ],
        ),
        (&*format!("{run}/signal"), json!({}), vec!["/event is missing".to_owned()]),
        (
            &*format!("{run}/signal"),
            json!({ "event": "" }),
            vec!["/event has to be a text that is not empty".to_owned()],
        ),
        (
            &*format!("{run}/comments"),
            json!({ "message": "x", "step_number": -1 }),
            vec![format!("/stepNumber {number}")],
        ),
        (
            &*format!("{run}/comments"),
            json!({ "message": "x", "stepNumber": 5_000_000_000u64 }),
            vec![format!("/stepNumber {number}")],
        ),
        (
            &*format!("{run}/comments"),
            json!({ "message": "x", "stepNumber": 1.0 }),
            vec![format!("/stepNumber {number}")],
        ),
        (
            &*format!("{run}/fork"),
            json!({ "fromStep": {} }),
            vec![format!("/fromStep {number} or a text that is not empty")],
        ),
        (
            &*format!("{run}/fork"),
            json!({ "fromStep": 1, "from_step": 1 }),
            vec!["/from_step is not known".to_owned()],
        ),
        (
            "/api/workflows/listen/execute",
            json!({ "projectId": "x" }),
            vec!["/projectId has to be an id (UUID)".to_owned()],
        ),
        (
            "/api/workflows/listen/execute",
            json!({ "workspace": { "kind": 1, "path": "/" }, "agents": { "claude": 1 } }),
            vec![
                "/agents/claude has to be a text".to_owned(),
                "/workspace/kind has to be a text".to_owned(),
                "/workspace/path is not known".to_owned(),
            ],
        ),
        (
            "/api/workspaces/x/clean",
            json!({ "force": "yes" }),
            vec!["/force has to be `true` or `false`".to_owned()],
        ),
    ] {
        let problem = server.post(path, &body).is(422).json();
        assert_eq!(fields(&problem), told, "{path} {body}");
    }
    let problem = server.post("/api/projects", &json!({})).is(422).json();
    assert_eq!(problem["detail"], "`/path` is missing");
    server.stop();
}

#[test]
fn what_a_field_says_is_refused_under_its_name() {
    let (stand, root) = Stand::with_repository();
    template(&root, "named", NAMED);
    let server = Server::start(&stand, &root);
    let ended = named(&server);
    let run = id(&ended);
    let asking = id(&server.execute("ask", &json!({})));
    let asking = format!("/api/executions/{asking}");
    until("it asks", || server.get(&asking).json()["waiting"]["kind"] == "approval");
    let workspace = ended["workspace_id"].as_str().expect("a workspace");
    let workspace = format!("/api/workspaces/{workspace}");
    server.post(&format!("{workspace}/clean"), &json!({ "force": true })).is(200);
    let fork = format!("/api/executions/{run}/fork");
    let execute = "/api/workflows/named/execute";
    for (path, body, pointer) in [
        (execute, json!({ "workspace": { "kind": "castle" } }), "/workspace/kind"),
        (execute, json!({ "workspace": { "kind": "none", "base": "HEAD" } }), "/workspace/kind"),
        (execute, json!({ "workspace": { "base": "nowhere" } }), "/workspace/base"),
        (execute, json!({ "workspace": { "id": "../up" } }), "/workspace/id"),
        (execute, json!({ "agents": { "nobody": "codex" } }), "/agents/nobody"),
        (execute, json!({ "agents": { "claude": "" } }), "/agents/claude"),
        (execute, json!({ "agents": { "claude": "nobody" } }), "/agents/claude"),
        (execute, json!({ "agents": { "claude": "scripted:nothing.json" } }), "/agents/claude"),
        ("/api/projects", json!({ "path": "/nowhere/at/all" }), "/path"),
        ("/api/projects", json!({ "path": stand.home() }), "/path"),
        ("/api/projects", json!({ "path": root.join("README.md") }), "/path"),
        (&*format!("{asking}/comments"), json!({ "message": "  " }), "/message"),
        (
            &*format!("{asking}/comments"),
            json!({ "message": "x", "stepNumber": 99 }),
            "/stepNumber",
        ),
        (&*format!("{asking}/signal"), json!({ "event": "e".repeat(2_000) }), "/event"),
        (
            &*format!("{asking}/approve"),
            json!({ "approved": true, "question": "Why?" }),
            "/question",
        ),
        (&*fork, json!({ "fromStep": 99 }), "/fromStep"),
        (&*fork, json!({ "fromStep": "nothing" }), "/fromStep"),
        (&*fork, json!({ "fromStep": 1, "agents": { "nobody": "codex" } }), "/agents/nobody"),
        (&*fork, json!({ "fromStep": 1, "input": { "times": "often" } }), "/input/times"),
        (&*fork, json!({ "fromStep": 1, "workspace": "none" }), "/workspace"),
        (&*format!("{workspace}/restore"), json!({ "backup": 99 }), "/backup"),
    ] {
        let problem = server.post(path, &body).is(422).json();
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{path} {body}: {problem}");
    }
    for key in ["", "ü", &"k".repeat(256)] {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        let problem = server.ask("POST", execute, &headers, b"{}").is(400).json();
        assert_eq!(problem["errors"][0]["parameter"], "Idempotency-Key", "{key}: {problem}");
    }
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 2, "nothing was started");
    server.stop();
}

#[test]
fn a_fork_takes_inputs_as_they_are() {
    let (stand, root) = Stand::with_repository();
    template(&root, "named", NAMED);
    let server = Server::start(&stand, &root);
    let run = id(&named(&server));
    let body = json!({ "fromStep": "write", "input": { "name": "a=\"b\"" } });
    let forked = server.post(&format!("/api/executions/{run}/fork"), &body).is(201).json();
    let ended = server.until_status(&id(&forked), "COMPLETED");
    assert_eq!(ended["output"], "a=\"b\"");
    server.stop();
}

#[test]
fn a_workflow_is_shown_by_its_name_if_one_project_has_it() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let greet = server.workflow("greet");
    assert_eq!(server.get("/api/workflows/greet").is(200).json()["id"], greet["id"]);
    server.get("/api/workflows/nothing").is(404);
    let other = stand.repository("another");
    server.post("/api/projects", &json!({ "path": other })).is(201);
    let several = server.get("/api/workflows/greet").is(409).json();
    let all = server.get("/api/workflows").is(200).json();
    let all = all["items"].as_array().expect("a list").iter().filter(|one| one["name"] == "greet");
    let ids: Vec<String> = all.map(id).collect();
    assert_eq!(ids.len(), 2);
    let hint = several["hint"].as_str().expect("a hint");
    assert!(ids.iter().all(|id| hint.contains(id)), "{several}");
    server.get(&format!("/api/workflows/{}", id(&greet))).is(200);
    server.delete("/api/workflows/greet").is(404);
    server.stop();
}

#[test]
fn addresses_that_are_no_text_and_sockets_that_are_no_sockets_get_problem_documents() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    for path in ["/api/executions/%ff", "/api/workspaces/%c3%28", "/api/executions/%ff/events"] {
        let problem = server.ask("GET", path, &[], b"").is(400).json();
        assert!(problem["detail"].as_str().unwrap().contains("no UTF-8"), "{problem}");
    }
    server.ask("POST", "/api/executions/%ff/cancel", &[], b"").is(400);
    let plain = server.send("GET", "/ws", &[], b"").is(426);
    assert_eq!(plain.header("upgrade"), "websocket");
    let kind = plain.header("content-type").to_owned();
    assert_eq!((kind.as_str(), &plain.json()["status"]), ("application/problem+json", &json!(426)));
    let old = [
        ("upgrade", "websocket"),
        ("sec-websocket-version", "7"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let old = server.send("GET", "/ws", &old, b"").is(426);
    assert_eq!(old.header("sec-websocket-version"), "13");
    server.stop();
}
