//! What the documents of runs tell: which workflow a child is of, what a run asks, which files it was given, who answered.

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

const PARENT: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "parent", workspace: "none" }, async (ctx) => {
    await ctx.invoke("child", {});
    await ctx.invoke("child", {});
});"#;

const CHILD: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "child", workspace: "none" }, async (ctx) => ctx.log.info("here"));"#;

#[test]
fn a_child_run_is_one_of_its_workflow_and_counts_as_such() {
    let (stand, root) = Stand::with_repository();
    template(&root, "parent", PARENT);
    template(&root, "child", CHILD);
    // On the command line nobody has written down what is invoked.
    stand.run(&root, &["run", "parent"]).exits(0);
    let server = Server::start(&stand, &root);
    let workflow = id(&server.workflow("child"));
    server.until_status(&id(&server.execute("parent", &json!({}))), "COMPLETED");
    let children = server.get(&format!("/api/executions?workflowId={workflow}")).is(200).json();
    assert_eq!(children["total"], 4, "{children}");
    for child in children["items"].as_array().expect("a list") {
        assert_eq!(
            (child["workflow_def_id"].as_str(), child["definition_version"].as_u64()),
            (Some(workflow.as_str()), Some(1)),
            "{child}"
        );
    }
    let shown = server.get(&format!("/api/workflows/{workflow}")).is(200).json();
    assert_eq!(shown["statistics"]["by_status"], json!({ "COMPLETED": 4 }), "{shown}");
    assert_eq!(shown["file_path"], ".agent/workflows/templates/child.ts", "{shown}");
    server.stop();
}

#[test]
fn a_child_that_waits_goes_on_as_it_began_though_its_file_is_gone() {
    let (stand, root) = Stand::with_repository();
    template(&root, "parent", PARENT);
    let waits = CHILD.replace(r#"ctx.log.info("here")"#, r#"ctx.waitFor("go")"#);
    template(&root, "child", &waits);
    let run = stand.run(&root, &["run", "parent", "--detach", "--json"]).exits(0).document();
    let mut child = Value::Null;
    wait_until("the child waits", || {
        let found = stand.runs(&root).into_iter().find(|run| run["workflow"] == "child");
        child = found.unwrap_or_default();
        child["waiting"]["kind"] == "signal"
    });
    stand.kill_executors();
    let file = root.join(".agent/workflows/templates/child.ts");
    std::fs::write(&file, CHILD).expect("another template");
    let name = child["run_id"].as_str().expect("a name");
    stand.run(&root, &["signal", name, "go"]).exits(0);
    stand.until_status(&root, name, "COMPLETED");
    stand.until_status(&root, run["run_id"].as_str().expect("a name"), "COMPLETED");
}

const ASKS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "asks", workspace: "none" }, async (ctx) => {
    await ctx.approve("Deploy to\n  production? " + "Really. ".repeat(100));
    await ctx.waitFor("ready");
});"#;

#[test]
fn lists_tell_what_a_run_waits_for_in_a_line() {
    let (stand, root) = Stand::with_repository();
    template(&root, "asks", ASKS);
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("asks", &json!({})));
    let waits_for = |kind: &str| {
        let mut found = Value::Null;
        wait_until(&format!("it waits for {kind}"), || {
            found = server.get(&format!("/api/executions?waiting={kind}")).is(200).json();
            found["total"] == 1
        });
        found["items"][0]["waiting"]["about"].as_str().expect("what about").to_owned()
    };
    let asked = waits_for("approval");
    assert!(asked.starts_with("Deploy to production? Really. Really."), "{asked}");
    assert!(asked.chars().count() == 200 && asked.ends_with('…'), "{asked}");
    let shown = server.get(&format!("/api/executions/{run}")).is(200).json();
    let whole = shown["operations"][0]["question"]["text"].as_str().expect("the whole question");
    assert!(whole.starts_with("Deploy to\n  production?") && whole.len() > 800, "{shown}");
    let answer = json!({ "approved": true, "comment": "go on" });
    server.post(&format!("/api/executions/{run}/approve"), &answer).is(200);
    assert_eq!(waits_for("signal"), "ready");
    server.post(&format!("/api/executions/{run}/cancel"), &json!({})).is(200);
    server.stop();
}

#[test]
fn whoever_answers_is_on_record_by_name_also_where_no_variable_tells_it() {
    let (stand, root) = Stand::with_repository();
    template(&root, "asks", ASKS);
    let server =
        Server::of(stand.call(&root, &["serve", "--port", "0"]).without("USER").without("LOGNAME"));
    let run = id(&server.execute("asks", &json!({})));
    let path = format!("/api/executions/{run}");
    wait_until("it asks", || server.get(&path).is(200).json()["waiting"]["kind"] == "approval");
    server.post(&format!("{path}/approve"), &json!({ "approved": true })).is(200);
    let mut by = Value::Null;
    wait_until("it is answered", || {
        let shown = server.get(&path).is(200).json();
        by = shown["steps"][0]["output"]["by"].clone();
        !by.is_null()
    });
    let user = uzers::get_user_by_uid(uzers::get_current_uid()).expect("somebody runs the tests");
    assert_eq!(by, user.name().to_str().expect("a name"));
    server.post(&format!("{path}/cancel"), &json!({})).is(200);
    server.stop();
}

const READS: &str = r#"import { createWorkflow } from "agentos";
const input = {
    type: "object",
    properties: { spec: { type: "string", format: "file" }, more: { type: "string" } },
};
export default createWorkflow({ name: "reads", input }, async (ctx) => {
    return { path: ctx.input.spec, text: await ctx.files.read(ctx.input.spec) };
});"#;

#[test]
fn the_input_names_files_as_they_were_given_and_the_run_reads_its_copy() {
    let (stand, root) = Stand::with_repository();
    template(&root, "reads", READS);
    std::fs::create_dir_all(root.join("docs")).expect("a folder");
    std::fs::write(root.join("docs/spec.md"), "as it was").expect("a file");
    let outside = stand.folder("elsewhere").join("notes.md");
    std::fs::write(&outside, "from elsewhere").expect("a file");
    let server = Server::start(&stand, &root);
    let order = json!({ "input": { "spec": "docs/spec.md" }, "workspace": { "kind": "worktree" } });
    let first = server.post("/api/workflows/reads/execute", &order).is(201).json();
    let first = server.until_status(&id(&first), "COMPLETED");
    assert_eq!(first["input"], json!({ "spec": "docs/spec.md" }), "{first}");
    assert_eq!(first["output"]["text"], "as it was");
    let context = first["context_dir"].as_str().expect("a folder");
    assert!(first["output"]["path"].as_str().expect("a path").starts_with(context), "{first}");

    // What a fork does not name again is what the first run had, whatever became of the file.
    std::fs::write(root.join("docs/spec.md"), "as it is now").expect("a file");
    let fork = json!({ "fromStep": 1, "input": { "more": "yes" } });
    let path = format!("/api/executions/{}/fork", id(&first));
    let fork = server.post(&path, &fork).is(201).json();
    let fork = server.until_status(&id(&fork), "COMPLETED");
    assert_eq!(fork["input"], json!({ "spec": "docs/spec.md", "more": "yes" }), "{fork}");
    assert_eq!(fork["output"]["text"], "as it was", "{fork}");

    let inside = root.join("docs");
    let run = stand.run(&inside, &["run", "reads", "--spec", "spec.md", "--json"]).exits(0);
    let run = run.document();
    assert_eq!(run["input"]["spec"], "docs/spec.md", "as seen from the project: {run}");
    assert_eq!(run["output"]["text"], "as it is now");
    let spec = outside.to_str().expect("a path");
    let run = stand.run(&root, &["run", "reads", "--spec", spec, "--json"]).exits(0).document();
    assert_eq!(run["input"]["spec"], json!(outside.canonicalize().expect("a file")), "{run}");
    server.stop();
}
