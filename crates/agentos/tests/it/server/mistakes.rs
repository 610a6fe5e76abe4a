//! What the server says to whoever asks wrongly: which field, what it has to be, and what to do next, in the words of the API.

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

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
    let of_run = |deed: &str| format!("/api/executions/{run}/{deed}");
    let refused = |path: &str, body: Value, told: &[&str]| {
        let problem = server.post(path, &body).is(422).json();
        assert_eq!(fields(&problem), told, "{path} {body}");
    };
    refused("/api/projects", json!({}), &["/path is missing"]);
    refused("/api/projects", json!({ "path": 1 }), &["/path has to be a text that is not empty"]);
    refused("/api/projects", json!([]), &[" has to be an object"]);
    let approve = of_run("approve");
    refused(&approve, json!({}), &["/approved is missing"]);
    let wrong = ["/approved has to be `true` or `false`", "/why is not known"];
    refused(&approve, json!({ "approved": null, "why": 1 }), &wrong);
    let signal = of_run("signal");
    refused(&signal, json!({}), &["/event is missing"]);
    refused(&signal, json!({ "event": "" }), &["/event has to be a text that is not empty"]);
    let wrong = ["/stepNumber has to be a whole number from 1 to 4294967295"];
    for number in [json!(-1), json!(5_000_000_000u64), json!(1.0), json!("1")] {
        let body = json!({ "message": "x", "step_number": number });
        refused(&of_run("comments"), body, &wrong);
    }
    let fork = of_run("fork");
    let wrong =
        ["/fromStep has to be a whole number from 1 to 4294967295 or a text that is not empty"];
    refused(&fork, json!({ "fromStep": {} }), &wrong);
    refused(&fork, json!({ "fromStep": 1, "from_step": 1 }), &["/from_step is not known"]);
    let execute = "/api/workflows/listen/execute";
    refused(execute, json!({ "projectId": "x" }), &["/projectId has to be an id (UUID)"]);
    let wrong = [
        "/agents/claude has to be a text",
        "/workspace/kind has to be a text",
        "/workspace/path is not known",
    ];
    let body = json!({ "workspace": { "kind": 1, "path": "/" }, "agents": { "claude": 1 } });
    refused(execute, body, &wrong);
    let clean = "/api/workspaces/x/clean";
    refused(clean, json!({ "force": "yes" }), &["/force has to be `true` or `false`"]);
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
    wait_until("it asks", || server.get(&asking).json()["waiting"]["kind"] == "approval");
    let workspace = ended["workspace_id"].as_str().expect("a workspace");
    let workspace = format!("/api/workspaces/{workspace}");
    server.post(&format!("{workspace}/clean"), &json!({ "force": true })).is(200);
    let fork = format!("/api/executions/{run}/fork");
    let execute = "/api/workflows/named/execute";
    for (path, body, pointer) in [
        (execute, json!({ "workspace": { "kind": "castle" } }), "/workspace/kind"),
        (execute, json!({ "workspace": { "kind": "none", "base": "HEAD" } }), "/workspace/base"),
        // Nobody says a kind, and here it is `none`.
        (execute, json!({ "workspace": { "base": "HEAD" } }), "/workspace/base"),
        (execute, json!({ "workspace": { "kind": "none", "id": "x" } }), "/workspace/id"),
        (execute, json!({ "workspace": { "kind": "worktree", "base": "x" } }), "/workspace/base"),
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
