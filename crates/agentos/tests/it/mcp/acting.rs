//! What a client may do: nothing but comment, until a person allows more.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, Setup};
use crate::support::{Stand, name, wait_until};

#[test]
fn nothing_is_started_or_signalled_unless_a_person_allows_it() {
    let (stand, root) = Stand::with_repository();
    let run = name(&stand.run(&root, &["run", "listen", "--detach", "--json"]).exits(0).document());
    let mut client = Client::allowed(&stand, &root, "signal");
    let refusal = client.refusal("start_workflow", json!({ "workflow": "listen" }));
    assert!(refusal.contains("`start_workflow` is not allowed here"), "{refusal}");
    assert!(refusal.contains("agentos mcp --allow run"), "{refusal}");
    let mut reader = Client::reader(&stand, &root);
    let refusal = reader.refusal("signal", json!({ "run": run, "event": "go" }));
    assert!(refusal.contains("agentos mcp --allow signal"), "{refusal}");
    assert_eq!(stand.runs(&root).len(), 1);
    let payload = json!({ "by": "a client" });
    let sent = json!({ "run": run, "event": "go", "payload": payload, "key": "once" });
    assert_eq!(client.document("signal", sent)["run_id"], run.as_str());
    assert_eq!(stand.until_status(&root, &run, "COMPLETED")["output"], payload);
    client.close();
    reader.close();
}

#[test]
fn what_is_started_goes_on_without_the_client() {
    let (stand, root) = Stand::with_repository();
    // What the configuration allows is allowed, as of when the server starts.
    fs::create_dir_all(root.join(".agent")).expect("a folder");
    let config = root.join(".agent/config.toml");
    fs::write(&config, "[mcp]\nallow = [\"run\"]\n").expect("a file");
    let mut client = Client::reader(&stand, &root);
    fs::write(&config, "[mcp]\nallow = [\"run\", \"signal\"]\n").expect("a file");
    let wrong = json!({ "workflow": "greet", "input": { "name": 3 } });
    assert!(client.refusal("start_workflow", wrong).contains("name"), "the field is named");
    let secret = stand.home().join("secret");
    fs::write(&secret, "not for agents").expect("a file");
    let outside = json!({ "workflow": "greet", "input": { "name": "Ada", "brief": secret } });
    let refusal = client.refusal("start_workflow", outside);
    assert!(refusal.contains("is not in the project"), "{refusal}");
    assert_eq!(stand.runs(&root).len(), 0);
    fs::write(root.join("brief.md"), "briefly").expect("a file");
    let inside = json!({ "workflow": "greet", "input": { "name": "Ada", "brief": "brief.md" } });
    let greeted = name(&client.document("start_workflow", inside));
    let nap = json!({ "workflow": "nap", "input": { "ms": 500 } });
    let nap = name(&client.document("start_workflow", nap));
    let refusal = client.refusal("signal", json!({ "run": nap, "event": "go" }));
    assert!(refusal.contains("not allowed"), "an agent gains nothing by an edit: {refusal}");
    client.close();
    let output = &stand.until_status(&root, &greeted, "COMPLETED")["output"];
    assert_eq!(output["brief"], "briefly");
    stand.until_status(&root, &nap, "COMPLETED");
    wait_until("the executor leaves", || stand.executors().is_empty());
}

/// A workflow with a step that works and one with this body.
fn broken(root: &std::path::Path, body: &str) {
    let folder = root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    let text = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"broken\" }}, async (ctx) => {{\n\
         await ctx.run(\"prepare\", async () => 1);\n\
         return await ctx.run(\"build\", async () => {{ {body} }}, {{ retry: {{ maxAttempts: 1 }} }});\n}});\n"
    );
    fs::write(folder.join("broken.ts"), text).expect("a template");
}

#[test]
fn a_fixed_workflow_mends_a_failed_run_and_forks_it() {
    let (stand, root) = Stand::with_repository();
    stand.git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    broken(&root, "throw new Error(\"a bug\");");
    let failed = stand.run(&root, &["run", "broken", "--workspace", "worktree", "--json"]);
    let run = name(&failed.exits(1).document());
    let mut reader = Client::reader(&stand, &root);
    let refusal = reader.refusal("retry_run", json!({ "run": run, "latest": true }));
    assert!(refusal.contains("agentos mcp --allow run"), "{refusal}");
    reader.close();
    let mut client = Client::allowed(&stand, &root, "run");
    let refusal = client.refusal("retry_run", json!({ "run": run }));
    assert!(refusal.contains("a bug") && refusal.contains("--latest"), "{refusal}");
    broken(&root, "return \"fixed\";");
    let forked = json!({ "run": run, "from_step": "build", "latest": true });
    let forked = client.document("fork_run", forked);
    let ended = stand.until_status(&root, &name(&forked), "COMPLETED");
    assert_eq!((&ended["output"], &ended["definition_version"]), (&json!("fixed"), &json!(2)));
    let retried = client.document("retry_run", json!({ "run": run, "latest": true }));
    assert_ne!(ended["workspace_dir"], retried["workspace_dir"]);
    let ended = stand.until_status(&root, &name(&retried), "COMPLETED");
    assert_eq!(ended["output"], "fixed");
    let refusal = client.refusal("fork_run", json!({ "run": run, "from_step": "nothing" }));
    assert!(refusal.contains("has no step"), "{refusal}");
    client.close();
}

#[test]
fn a_comment_tells_who_wrote_it() {
    let (stand, root) = Stand::with_repository();
    let greet = ["run", "greet", "--name", "Ada", "--json"];
    let run = name(&stand.run(&root, &greet).exits(0).document());
    let variables = [("CLAUDE_CODE_SESSION_ID", "session-7"), ("USER", "ada")];
    let setup = Setup { of_server: &variables, ..Setup::default() };
    let mut client = Client::start(&stand, &root, &setup);
    let written =
        client.document("comment", json!({ "run": run, "message": " looks fine \n", "step": 1 }));
    let comment = &written["comment"];
    assert_eq!(
        (&comment["message"], &comment["author"]),
        (&json!("looks fine"), &json!("test-client"))
    );
    let facts = json!({ "via": "mcp", "agent": "test-client", "version": "1.2.3", "session": "session-7",
        "workspace": null, "user": "ada" });
    assert_eq!(comment["metadata"], facts, "{comment:#}");
    let shown = stand.show(&root, &run);
    let comments = shown["comments"].as_array().expect("a list");
    assert!(comments.contains(comment), "{shown:#}");
    assert_eq!(comment["step_id"], shown["steps"][0]["id"]);
    for message in [String::new(), "x".repeat(20_000)] {
        let refusal = client.refusal("comment", json!({ "run": run, "message": message }));
        assert!(refusal.contains("between 1 and"), "{refusal}");
    }
    client.close();
}

#[test]
fn mistakes_are_answers_and_faults_are_errors() {
    let (stand, root) = Stand::with_repository();
    let mut client = Client::allowed(&stand, &root, "run,signal,approve");
    let refusals = [
        ("show_run", json!({ "run": "nobody" }), "there is no run `nobody`"),
        ("comment", json!({ "run": "nobody", "message": "hi" }), "there is no run `nobody`"),
        ("approve", json!({ "run": "nobody", "approved": true }), "there is no run `nobody`"),
        ("start_workflow", json!({ "workflow": "gret" }), "did you mean `greet`?"),
        ("show_run", json!({}), "missing field `run`"),
        ("list_runs", json!({ "limit": 0 }), "`limit` has to be"),
        ("list_runs", json!({ "status": ["BROKEN"] }), "there is no status `BROKEN`"),
        ("list_runs", json!({ "status": "BROKEN" }), "there is no status `BROKEN`"),
        ("list_runs", json!({ "status": 3 }), "a status, or a list of them"),
        ("list_runs", json!({ "statuses": [] }), "unknown field `statuses`"),
        ("read_logs", json!({ "run": "x", "level": "loud" }), "there is no level `loud`"),
        ("comment", json!({ "run": "x", "message": "m".repeat(2 << 20) }), "at most 1024 KiB"),
    ];
    for (tool, arguments, expected) in refusals {
        let refusal = client.refusal(tool, arguments);
        assert!(refusal.contains(expected), "{tool}: {refusal}");
    }
    let fault = client.call("drop_database", json!({}));
    assert_eq!(fault["protocol_error"]["code"], -32602, "{fault}");
    assert!(!root.join(".agentos").exists(), "none of that has made anything");
    // Many at once, each with its own answer.
    let mut calls: Vec<(&str, Value)> = Vec::new();
    for _ in 0..10 {
        calls.push(("list_runs", json!({})));
        calls.push(("start_workflow", json!({ "workflow": "greet", "input": { "name": "Ada" } })));
        calls.push(("show_run", json!({ "run": "nobody" })));
    }
    let answers = client.calls(&calls);
    assert_eq!(answers.len(), 30);
    for (answer, (tool, _)) in answers.iter().zip(&calls) {
        assert_eq!(answer["isError"] == true, *tool == "show_run", "{answer:#}");
    }
    let listing = client.document("list_runs", json!({ "limit": 100 }));
    assert_eq!(listing["total"], 10, "{listing:#}");
    client.close();
    wait_until("all have ended", || {
        stand.runs(&root).iter().all(|run| run["status"] == "COMPLETED")
    });
}
