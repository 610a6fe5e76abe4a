//! What people tell a run at the same time, or again: only one of them is heard, and the others know it.

use std::fs;
use std::path::Path;
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Process, Stand, name, wait_until};

const TWICE: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "twice", workspace: "none" }, async (ctx) => {
    const first = await ctx.waitFor("go");
    await ctx.waitFor("on");
    return first;
});"#;

const FILED: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({
    name: "filed",
    workspace: "none",
    input: { type: "object", properties: { "a/b~c": { type: "string", format: "file" } } },
}, async () => "done");"#;

const WRITES: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "writes" }, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one\n"); });
});"#;

/// A run that has got as far as it can alone, and whoever drives it: a process that stands still, so that nothing it is
/// told is taken before the test says so.
fn standing_still(
    stand: &Stand,
    root: &Path,
    workflow: &str,
    waits_for: &str,
) -> (String, Process) {
    let mut driver = stand.call(root, &["run", workflow]).start();
    wait_until("it waits", || {
        let runs = stand.runs(root);
        runs.iter().any(|run| {
            run["workflow"] == workflow
                && stand.show(root, &name(run))["waiting"]["kind"] == waits_for
        })
    });
    driver.stand_still(&root.join(".agentos/issue_workflow.db"));
    (id(&stand.only(root, workflow)), driver)
}

#[test]
fn of_those_who_answer_differently_only_the_first_is_told_that_it_counts() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start_with(&stand, &root, &[("USER", "grace")]);
    let (run, mut driver) = standing_still(&stand, &root, "ask", "approval");
    let path = format!("/api/executions/{run}/approve");
    let answers = thread::scope(|scope| {
        let asked = [true, false, true, false].map(|approved| {
            let (server, path) = (&server, &path);
            scope.spawn(move || (approved, server.post(path, &json!({ "approved": approved }))))
        });
        asked.map(|asked| asked.join().expect("an answer"))
    });
    let heard: Vec<bool> =
        answers.iter().filter(|(_, answer)| answer.status == 200).map(|(said, _)| *said).collect();
    let &[said, again] = &heard[..] else { panic!("two say the same: {heard:?}") };
    assert_eq!(said, again, "nobody is heard who says something else");
    for (_, answer) in answers.into_iter().filter(|(_, answer)| answer.status != 200) {
        let refused = answer.refuses("already-answered");
        let detail = refused["detail"].as_str().expect("words");
        let word = if said { "said yes" } else { "said no" };
        assert!(detail.contains("grace") && detail.contains(word), "{refused}");
    }
    server.post(&path, &json!({ "approved": said })).is(200);
    let comment = json!({ "approved": said, "comment": "but with care" });
    server.post(&path, &comment).refuses("already-answered");
    let (same, other): (&[&str], &[&str]) =
        if said { (&[], &["--deny"]) } else { (&["--deny"], &[]) };
    let approve = |words: &[&str]| stand.run(&root, &[&["approve", &run], words].concat());
    approve(same).exits(0);
    let refused = approve(other).exits(4);
    assert!(refused.err.contains("has answered this already"), "{refused:#?}");
    driver.send(Signal::CONT);
    let ended = server.until_status(&run, "COMPLETED");
    assert_eq!(ended["output"]["approved"], said);
    driver.done();
    server.stop();
}

#[test]
fn a_key_is_good_for_one_event_whether_it_waits_or_was_taken() {
    let (stand, root) = Stand::with_repository();
    template(&root, "twice", TWICE);
    let server = Server::start(&stand, &root);
    let (run, mut driver) = standing_still(&stand, &root, "twice", "signal");
    let send = |event: &str, payload: Value| {
        let body = json!({ "event": event, "payload": payload, "key": "one" });
        server.post(&format!("/api/executions/{run}/signal"), &body)
    };
    let one_key = || {
        send("go", json!({ "to": "sea" })).is(200);
        let other = send("go", json!({ "to": "land" })).refuses("key-used-otherwise");
        assert_eq!(other["errors"][0]["pointer"], "/key", "{other}");
        send("on", json!({ "to": "sea" })).refuses("key-used-otherwise");
    };
    one_key();
    driver.send(Signal::CONT);
    wait_until("it has taken the first", || {
        let log = server.send("GET", &format!("/api/executions/{run}/events"), &[], b"").is(200);
        String::from_utf8_lossy(&log.body).contains("signal.consumed")
    });
    one_key();
    let said = ["signal", &run, "go", r#"{"to":"land"}"#, "--key", "one"];
    let refused = stand.run(&root, &said).exits(4);
    assert!(refused.err.contains("something else under this key"), "{refused:#?}");
    server.post(&format!("/api/executions/{run}/signal"), &json!({ "event": "on" })).is(200);
    assert_eq!(server.until_status(&run, "COMPLETED")["output"]["to"], "sea");
    driver.done();
    server.stop();
}

#[test]
fn a_checkout_that_git_can_t_use_is_the_project_s_fault_and_not_the_server_s() {
    let (stand, root) = Stand::with_repository();
    template(&root, "writes", WRITES);
    let server = Server::start(&stand, &root);
    let in_workspace = json!({ "workspace": { "kind": "auto" } });
    let execute = || server.post("/api/workflows/writes/execute", &in_workspace);
    let run = id(&execute().is(201).json());
    server.until_status(&run, "COMPLETED");
    let diff = format!("/api/executions/{run}/diff");
    server.get(&diff).is(200);
    fs::rename(root.join(".git"), stand.at("moved")).expect("it moves");
    execute().refuses("project-unusable");
    server.get(&diff).refuses("project-unusable");
    fs::create_dir_all(root.join(".git")).expect("a folder that is no repository");
    execute().refuses("project-unusable");
    server.get(&diff).refuses("project-unusable");
    let retry = server.post(&format!("/api/executions/{run}/retry"), &json!({}));
    retry.refuses("project-unusable");
    server.stop();
}

#[test]
fn what_has_ended_well_is_not_said_to_be_mended_by_a_retry() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("greet", &json!({ "name": "Ada" })));
    server.until_status(&run, "COMPLETED");
    let resume = |run: &str| server.post(&format!("/api/executions/{run}/resume"), &json!({}));
    let refused = resume(&run).refuses("run-has-ended");
    assert!(!refused["hint"].as_str().expect("a hint").contains("/retry"), "{refused}");
    let cancelled = id(&server.execute("listen", &json!({})));
    server.post(&format!("/api/executions/{cancelled}/cancel"), &json!({})).is(200);
    server.until_status(&cancelled, "CANCELLED");
    let refused = resume(&cancelled).refuses("run-has-ended");
    assert!(refused["hint"].as_str().expect("a hint").contains("/retry"), "{refused}");
    server.post(&format!("/api/executions/{cancelled}/retry"), &json!({})).is(201);
    server.stop();
}

#[test]
fn a_file_that_is_missing_is_pointed_to_whatever_its_property_is_called() {
    let (stand, root) = Stand::with_repository();
    template(&root, "filed", FILED);
    let server = Server::start(&stand, &root);
    let body = json!({ "input": { "a/b~c": "nowhere.txt" } });
    let refused = server.post("/api/workflows/filed/execute", &body).refuses("wrong-input");
    assert_eq!(refused["errors"][0]["pointer"], "/input/a~1b~0c", "{refused}");
    server.stop();
}
