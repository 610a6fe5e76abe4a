//! Inputs: completed with defaults and checked alike, whichever way they come in.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::server::stage::{Server, id, template};
use crate::support::{Done, Stand, name, wait_until};

const RELEASE: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "release", workspace: "none", input: { type: "object", required: ["tag", "base"],
  properties: { tag: { type: "string" }, base: { type: "string", default: "main" }, rounds: { type: "integer", default: 3 } },
} }, async (ctx) => {
  await ctx.run("note", async () => await ctx.shell("true"));
  return ctx.input;
});"#;

/// Takes no input that it has no default for.
const NIGHTLY: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "nightly", workspace: "none", input: { type: "object",
  properties: { branch: { type: "string", default: "main" } },
} }, async (ctx) => ctx.input);"#;

/// Says more than its properties.
const OPEN: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "open", workspace: "none", input: { type: "object", additionalProperties: true,
  properties: { branch: { type: "string", default: "main" } },
} }, async (ctx) => ctx.input);"#;

const PARENT: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "umbrella", workspace: "none" }, async (ctx) => {
  const child = await ctx.invoke("release", { tag: "v3" });
  const none = await ctx.invoke("nightly");
  let refused = "";
  try { await ctx.invoke("release", { tag: "v3", bsae: "next" }); } catch (error) { refused = String(error); }
  return { child, none, refused };
});"#;

fn run(stand: &Stand, root: &Path, arguments: &[&str]) -> Done {
    let agentos = Path::new(env!("CARGO_BIN_EXE_agentos"));
    stand.call_program(agentos, root, arguments).done()
}

fn stand() -> (Stand, std::path::PathBuf) {
    let (stand, root) = Stand::with_repository();
    for (name, text) in
        [("release", RELEASE), ("nightly", NIGHTLY), ("open", OPEN), ("umbrella", PARENT)]
    {
        template(&root, name, text);
    }
    (stand, root)
}

fn completed(tag: &str) -> Value {
    json!({ "tag": tag, "base": "main", "rounds": 3 })
}

#[test]
fn the_command_line_applies_defaults_and_refuses_what_no_schema_lists() {
    let (stand, root) = stand();
    let refused = run(&stand, &root, &["run", "release", "--tag", "v1", "--input", "bsae=x"]);
    let refused = refused.exits(2).err;
    assert!(refused.contains("`input.bsae` is not known (did you mean `base`?)"), "{refused}");
    assert!(!root.join(".agentos").exists(), "a mistake creates nothing");
    let done = run(&stand, &root, &["run", "release", "--tag", "v1", "--json"]).exits(0).document();
    assert_eq!(done["output"], completed("v1"));
    assert_eq!(done["input"], completed("v1"), "the run says what it works with");
    let done = run(&stand, &root, &["run", "nightly", "--json"]).exits(0).document();
    assert_eq!(done["output"], json!({ "branch": "main" }));
    let done = run(&stand, &root, &["run", "open", "--input", "more=1", "--json"]).exits(0);
    assert_eq!(done.document()["output"], json!({ "branch": "main", "more": 1 }));
}

#[test]
fn the_api_applies_defaults_and_an_empty_body_is_an_empty_object() {
    let (stand, root) = stand();
    let server = Server::start(&stand, &root);
    let execute = |workflow: &str, body: &Value| {
        server.post(&format!("/api/workflows/{workflow}/execute"), body)
    };
    let started = execute("release", &json!({ "input": { "tag": "v1" } })).is(201).json();
    assert_eq!(server.until_status(&id(&started), "COMPLETED")["output"], completed("v1"));
    let refused = execute("release", &json!({ "input": { "tag": "v1", "bsae": "x" } })).is(422);
    assert_eq!(refused.json()["errors"][0]["pointer"], "/input/bsae");
    // The same answer for every way to say nothing.
    for body in ["", "{}", "null", r#"{"input": null}"#, r#"{"input": {}}"#] {
        let path = "/api/workflows/nightly/execute";
        let headers = [("content-type", "application/json")];
        let started = server.send("POST", path, &headers, body.as_bytes()).is(201).json();
        let done = server.until_status(&id(&started), "COMPLETED");
        assert_eq!(done["output"], json!({ "branch": "main" }), "{body}");
        let path = "/api/workflows/release/execute";
        let refused = server.send("POST", path, &headers, body.as_bytes()).is(422).json();
        assert_eq!(refused["errors"][0]["pointer"], "/input/tag", "{body}: {refused}");
    }
    let bare = server.send("POST", "/api/workflows/nightly/execute", &[], b"").is(201).json();
    server.until_status(&id(&bare), "COMPLETED");
    server.stop();
}

#[test]
fn agents_that_start_runs_get_the_same_defaults() {
    let (stand, root) = stand();
    let mut client = Client::allowed(&stand, &root, "run");
    let wrong = json!({ "workflow": "release", "input": { "tag": "v1", "bsae": "x" } });
    let refusal = client.refusal("start_workflow", wrong);
    assert!(refusal.contains("`input.bsae` is not known"), "{refusal}");
    let given = json!({ "workflow": "release", "input": { "tag": "v1" } });
    let started = name(&client.document("start_workflow", given));
    assert_eq!(stand.until_status(&root, &started, "COMPLETED")["output"], completed("v1"));
    let started = name(&client.document("start_workflow", json!({ "workflow": "nightly" })));
    let output = &stand.until_status(&root, &started, "COMPLETED")["output"];
    assert_eq!(*output, json!({ "branch": "main" }));
    client.close();
}

#[test]
fn an_input_of_up_to_the_limit_is_taken_in_every_way() {
    let (stand, root) = stand();
    let server = Server::start(&stand, &root);
    // Each letter is written as six.
    let escaped = "\\u0439".repeat(1 << 20);
    let body = format!(r#"{{"input": {{"tag": "v1", "base": "{escaped}"}}}}"#);
    let path = "/api/workflows/release/execute";
    let headers = [("content-type", "application/json")];
    let started = server.send("POST", path, &headers, body.as_bytes()).is(201).json();
    server.until_status(&id(&started), "COMPLETED");
    let large = |bytes: usize| json!({ "input": { "tag": "v1", "base": "x".repeat(bytes) } });
    let refused = server.post(path, &large(4 << 20)).is(422).json();
    assert_eq!(refused["errors"][0]["pointer"], "/input/base", "{refused}");
    assert!(refused["detail"].to_string().contains("4194304 bytes (4 MB)"), "{refused}");
    server.stop();
    let mut client = Client::allowed(&stand, &root, "run");
    let with = |bytes: usize| json!({ "workflow": "release", "input": { "tag": "v1", "base": "x".repeat(bytes) } });
    let started = name(&client.document("start_workflow", with(3 << 20)));
    stand.until_status(&root, &started, "COMPLETED");
    let refusal = client.refusal("start_workflow", with(4 << 20));
    assert!(refusal.contains("`input.base` is too large"), "{refusal}");
    client.close();
}

#[test]
fn a_default_that_does_not_fit_is_found_by_check_and_blamed_on_the_workflow() {
    let (stand, root) = stand();
    let text = NIGHTLY.replace(
        r#"branch: { type: "string", default: "main" }"#,
        "count: { default: 1 }, n: {\n  type: \"integer\",\n  default: \"seven\" }",
    );
    template(&root, "nightly", &text);
    let refused = run(&stand, &root, &["run", "nightly"]).exits(2).err;
    let words = r#"`input.n` is wrong: "seven" is not of type "integer" (the default in the workflow's schema is wrong)"#;
    assert!(refused.contains(words), "{refused}");
    let found = run(&stand, &root, &["check", "--json"]).exits(1).document();
    let found = &found["diagnostics"][0];
    assert_eq!(found["file"], "templates/nightly.ts", "{found}");
    assert_eq!((&found["line"], &found["column"]), (&json!(5), &json!(3)), "{found}");
    let words = r#"`default` is wrong: "seven" is not of type "integer""#;
    assert!(found["message"].to_string().contains(&words.replace('"', "\\\"")), "{found}");
    run(&stand, &root, &["run", "nightly", "--input", "n=7"]).exits(0);
}

#[test]
fn child_runs_and_forks_get_the_same_defaults() {
    let (stand, root) = stand();
    let done = run(&stand, &root, &["run", "umbrella", "--json"]).exits(0).document();
    assert_eq!(done["output"]["child"], completed("v3"));
    assert_eq!(done["output"]["none"], json!({ "branch": "main" }));
    let refused = done["output"]["refused"].as_str().expect("a text").to_owned();
    assert!(refused.contains("`input.bsae` is not known"), "{refused}");
    let first = ["run", "release", "--tag", "v1", "--workspace", "worktree", "--json"];
    let first = name(&run(&stand, &root, &first).exits(0).document());
    let fork = ["fork", &first, "--from-step", "note", "--json", "--input"];
    let wrong = run(&stand, &root, &[&fork[..], &["bsae=x"]].concat()).exits(2).err;
    assert!(wrong.contains("`input.bsae` is not known"), "{wrong}");
    let forked = run(&stand, &root, &[&fork[..], &["tag=v2"]].concat()).exits(0).document();
    assert_eq!(forked["output"], completed("v2"));
}

#[test]
fn an_input_over_the_limit_leaves_nothing_behind() {
    let (stand, root) = stand();
    let large = json!({ "tag": "v1", "base": "x".repeat(5 << 20) }).to_string();
    fs::write(root.join("large.json"), &large).expect("a file");
    for workflow in ["release", "open"] {
        let arguments = ["run", workflow, "--input-file", "large.json", "--workspace", "worktree"];
        let refused = run(&stand, &root, &arguments).exits(2).err;
        assert!(refused.contains("`input.base` is too large"), "{refused}");
        assert!(refused.contains("4 MB") && refused.len() < 1_000, "{refused}");
    }
    assert!(!root.join(".agentos").exists(), "no database");
    assert!(!root.join(".agent/workflows/executions").exists(), "no folder of a run");
    assert_eq!(stand.git(&root, &["worktree", "list"]).lines().count(), 1, "no workspace");
    assert_eq!(stand.git(&root, &["branch", "--list", "agentos/*"]), "", "no branch");
}

const FORGETFUL: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "forgetful", workspace: "none" }, async (ctx) => {
  await ctx.run("race", async () => {
    await Promise.race([ctx.sleep(1), ctx.waitFor("never", { timeout: 86_400_000 })]);
  });
  await ctx.run("build", async () => {
    ctx.shell("sleep 600");
    await ctx.shell("true");
  });
  ctx.waitFor("go", { timeout: 86_400_000 });
  return "done";
});"#;

#[test]
fn what_was_not_awaited_is_a_warning_on_the_run_with_its_line() {
    let (stand, root) = Stand::with_repository();
    template(&root, "forgetful", FORGETFUL);
    let done = run(&stand, &root, &["run", "forgetful"]).exits(0);
    assert!(done.out.contains("templates/forgetful.ts:7:"), "{done:#?}");
    let shown = run(&stand, &root, &["show", "forgetful", "--json"]).exits(0).document();
    let comments = shown["comments"].as_array().expect("comments").iter();
    let warnings: Vec<&str> = comments
        .filter(|comment| comment["metadata"]["level"] == "warning")
        .filter_map(|comment| comment["message"].as_str())
        .collect();
    assert_eq!(warnings.len(), 2, "the loser of a race was awaited: {warnings:?}");
    assert!(warnings[0].starts_with("templates/forgetful.ts:7:"), "{warnings:?}");
    assert!(
        warnings[0].contains("`ctx.shell` (or the function around it) was not awaited"),
        "{warnings:?}"
    );
    assert!(warnings[1].starts_with("templates/forgetful.ts:10:"), "{warnings:?}");
    assert!(
        warnings[1].contains("`ctx.waitFor` (or the function around it) was not awaited"),
        "{warnings:?}"
    );
    let text = run(&stand, &root, &["show", "forgetful"]).exits(0).out;
    assert!(text.contains("was not awaited"), "{text}");
    let logs = run(&stand, &root, &["logs", "forgetful"]).exits(0).out;
    assert_eq!(logs.matches("was not awaited").count(), 2, "{logs}");
}

const KILLED: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "killed", workspace: "none" }, async (ctx) => {
  await ctx.run("build", async () => {
    ctx.waitFor("never");
    await ctx.shell("true");
  });
  await ctx.shell("echo begun > begun; while [ ! -e go ]; do sleep 0.02; done");
  return "done";
});"#;

#[test]
fn a_warning_is_told_once_however_often_the_run_is_executed_again() {
    let (stand, root) = Stand::with_repository();
    template(&root, "killed", KILLED);
    let agentos = Path::new(env!("CARGO_BIN_EXE_agentos"));
    let process = stand.call_program(agentos, &root, &["run", "killed"]).start();
    wait_until("it is at its command", || root.join("begun").exists());
    process.kill();
    fs::write(root.join("go"), "").expect("a file");
    let done = run(&stand, &root, &["resume", "killed", "--json"]).exits(0).document();
    assert_eq!(done["output"], "done");
    let comments = done["comments"].as_array().expect("comments");
    assert_eq!(comments.len(), 1, "{comments:?}");
    assert!(comments[0]["message"].to_string().contains("templates/killed.ts:4:"), "{comments:?}");
    let logs = run(&stand, &root, &["logs", "killed"]).exits(0).out;
    assert_eq!(logs.matches("was not awaited").count(), 1, "{logs}");
}
