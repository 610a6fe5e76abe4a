//! What a person is told of a run whose workflow has changed: by the names that the terminal shows, and with the run to retry.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::server::stage::{Server, template};
use crate::support::{Stand, lines, name, wait_until};

fn workflow(name: &str, body: &str) -> String {
    format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"{name}\", workspace: \"none\" }}, async (ctx) => {{\n{body}\n}});\n"
    )
}

#[test]
fn operations_outside_of_a_step_are_called_by_what_they_do() {
    let (stand, root) = Stand::with_repository();
    let body =
        |word: &str| format!("await ctx.shell(\"echo {word}\");\nawait ctx.waitFor(\"go\");");
    template(&root, "says", &workflow("says", &body("one")));
    stand.run(&root, &["run", "says", "--detach"]).exits(0);
    wait_until("it waits, and no process drives it", || {
        stand.show(&root, "says")["waiting"]["kind"] == "signal" && stand.executors().is_empty()
    });
    let log = stand.show(&root, "says")["steps"][0]["log_file_path"].clone();
    let log = log.as_str().expect("a path");
    assert!(log.ends_with("/logs/step-1-shell-echo-one.log"), "{log}");
    assert_eq!(lines(&root.join(log)).len(), 1);
    let told = stand.run(&root, &["logs", "says", "--step", "1"]).exits(0).out;
    assert!(told.contains("one"), "{told}");

    // A run of an earlier version has its file under a name that may be a hash.
    let file = root.join(log);
    let path = stand.show(&root, "says")["steps"][0]["path"].clone();
    let hash = path.as_str().and_then(|path| path.split([':', '#']).nth(1)).expect("a hash");
    let earlier = file.with_file_name(format!("step-1-{hash}.log"));
    std::fs::rename(&file, &earlier).expect("it is renamed");
    let shown = stand.show(&root, "says")["steps"][0]["log_file_path"].clone();
    assert_eq!(root.join(shown.as_str().expect("a path")), earlier);
    let told = stand.run(&root, &["logs", "says", "--step", "1"]).exits(0).out;
    assert!(told.contains("one"), "{told}");

    template(&root, "says", &workflow("says", &body("two")));
    let dry = ["resume", "says", "--latest", "--dry-run"];
    let told = stand.run(&root, &dry).exits(0).out;
    assert!(told.contains("not asked for yet    1  shell: echo one"), "{told}");
    assert!(told.contains("  shell: echo two") && !told.contains(hash), "{told}");
    let plan = stand.run(&root, &[&dry[..], &["--json"]].concat()).exits(0).document();
    assert_eq!(plan["not_asked_for_yet"][0]["name"], "shell: echo one");
    assert_eq!(plan["not_asked_for_yet"][1]["name"], "wait: go");
    assert_eq!(plan["added"][0]["name"], "shell: echo two");
}

/// A run that has failed with a run that it has invoked, whose workflow is mended afterwards.
struct FailedFamily {
    stand: Stand,
    root: PathBuf,
    parent: Value,
    child: Value,
}

impl FailedFamily {
    fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        let parent = "return await ctx.invoke(\"inner\", {});";
        template(&root, "outer", &workflow("outer", parent));
        template(&root, "inner", &workflow("inner", "throw new Error(\"a bug\");"));
        stand.run(&root, &["run", "outer"]).exits(1);
        let of = |workflow: &str| stand.show(&root, &name(&stand.only(&root, workflow)));
        let (parent, child) = (of("outer"), of("inner"));
        let unchanged = stand.run(&root, &["show", &name(&parent)]).exits(0).out;
        assert!(!unchanged.contains("has changed since"), "{unchanged}");
        template(&root, "inner", &workflow("inner", "return \"mended\";"));
        Self { stand, root, parent, child }
    }
}

#[test]
fn a_failure_in_a_child_run_names_the_run_to_retry() {
    let FailedFamily { stand, root, parent, child } = FailedFamily::new();
    let (outer, inner) = (name(&parent), name(&child));
    let command = format!("`agentos retry {outer}`");
    for run in [&outer, &inner] {
        let told = stand.run(&root, &["show", run]).exits(0).out;
        assert!(told.contains("`inner` has changed since"), "{told}");
        assert!(told.contains(&command), "{told}");
    }
    let changed = json!({ "workflow": "inner", "run_id": inner, "retry": outer, "latest": false });
    let server = Server::start(&stand, &root);
    for run in [&outer, &inner] {
        assert_eq!(stand.show(&root, run)["changed"], changed);
        wait_until("the server has seen the new template", || {
            let shown = server.get(&format!("/api/executions/{run}")).is(200).json();
            shown["changed"] == changed
        });
    }
    server.stop();
    let alone = stand.run(&root, &["retry", &inner, "--latest"]).exits(0).err;
    assert!(alone.contains(&command), "the other run is as failed as before: {alone}");
    let mended = stand.run(&root, &["retry", &outer, "--json"]).exits(0).document();
    assert_eq!((&mended["status"], &mended["output"]), (&json!("COMPLETED"), &json!("mended")));
}

#[test]
fn a_failed_run_whose_own_workflow_has_changed_says_so_over_rest() {
    let (stand, root) = Stand::with_repository();
    template(&root, "says", &workflow("says", "throw new Error(\"a bug\");"));
    stand.run(&root, &["run", "says"]).exits(1);
    let run = name(&stand.only(&root, "says"));
    let server = Server::start(&stand, &root);
    let shown = || server.get(&format!("/api/executions/{run}")).is(200).json();
    assert_eq!(shown()["changed"], Value::Null);
    template(&root, "says", &workflow("says", "return \"mended\";"));
    let changed = json!({ "workflow": "says", "run_id": run, "retry": run, "latest": true });
    wait_until("the server has seen the new template", || shown()["changed"] == changed);
    server.stop();
}
