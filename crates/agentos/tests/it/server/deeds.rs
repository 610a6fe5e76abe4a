//! What is done to runs over REST, and what is refused.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, Tally, lines, wait_until};

/// A workflow, `slow`, with a command that sleeps for a number of seconds that no other test sleeps for, also not one of
/// another checkout: processes are told by it.
pub(super) fn slow(root: &Path) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let seconds = format!("9{:07}{number:02}", std::process::id());
    let text = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"slow\", workspace: \"none\" }}, async (ctx) => {{\n\
         await ctx.run(\"wait\", async () => {{ await ctx.shell(\"sleep {seconds}\"); }});\n\
         }});\n"
    );
    template(root, "slow", &text);
    seconds
}

/// Whether a process with this in its command line lives.
pub(super) fn lives(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    processes
        .filter(|entry| {
            entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
        })
        .any(|entry| {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(mark)
        })
}

#[test]
fn cancelling_ends_a_run_with_its_processes_and_changes_nothing_afterwards() {
    let (stand, root) = Stand::with_repository();
    let seconds = slow(&root);
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("slow", &json!({})));
    wait_until("its command runs", || lives(&seconds));
    let shown = server.get(&format!("/api/executions/{run}")).is(200).json();
    assert_eq!(shown["operations"][0]["kind"], "shell", "{shown}");
    let path = format!("/api/executions/{run}/cancel");
    let ended = server.post(&path, &json!({ "reason": "enough" })).is(200).json();
    assert_eq!(ended["status"], "CANCELLED", "{ended}");
    assert!(!lives(&seconds), "no process is left");
    let again = server.post(&path, &json!({})).is(200).json();
    assert_eq!((&again["status"], &again["seq"]), (&ended["status"], &ended["seq"]));
    server.post("/api/executions/nothing/cancel", &json!({})).is(404);
    server.post(&path, &json!({ "why": 1 })).is(422);
    server.post(&format!("/api/executions/{run}/resume"), &json!({})).is(409);
    server.post(&format!("/api/executions/{run}/signal"), &json!({ "event": "go" })).is(409);
    server.post(&format!("/api/executions/{run}/approve"), &json!({ "approved": true })).is(409);
    server.stop();
}

#[test]
fn a_signal_answers_a_wait_and_counts_once_for_each_key() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("listen", &json!({})));
    wait_until("it waits", || {
        server.get(&format!("/api/executions/{run}")).json()["waiting"]["kind"] == "signal"
    });
    let path = format!("/api/executions/{run}/signal");
    server.post(&path, &json!({})).is(422);
    server.post(&path, &json!({ "event": "" })).is(422);
    let sent = json!({ "event": "go", "payload": { "to": "sea" }, "key": "one" });
    server.post(&path, &sent).is(200);
    let ended = server.until_status(&run, "COMPLETED");
    assert_eq!(ended["output"]["to"], "sea");
    server.stop();
}

#[test]
fn a_question_is_answered_once_and_who_answered_is_on_record() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start_with(&stand, &root, &[("USER", "grace")]);
    let run = id(&server.execute("ask", &json!({})));
    wait_until("it asks", || {
        server.get(&format!("/api/executions/{run}")).json()["operations"][0]["question"]["text"]
            == "Shall we?"
    });
    let path = format!("/api/executions/{run}/approve");
    // Nothing is approved by leaving something out.
    server.post(&path, &json!({})).is(422);
    server.ask("POST", &path, &[], b"").is(422);
    let why = json!({ "approved": true, "question": "Why?" });
    let other = server.post(&path, &why).is(422).json();
    assert!(other["hint"].as_str().unwrap().contains("Shall we?"), "{other}");
    server.post(&path, &json!({ "approved": "perhaps" })).is(422);
    server.post(&path, &json!({ "approved": true, "comment": "go ahead" })).is(200);
    let ended = server.until_status(&run, "COMPLETED");
    assert_eq!(ended["output"], json!({ "approved": true, "comment": "go ahead" }));
    let log = server.send("GET", &format!("/api/executions/{run}/events"), &[], b"").is(200);
    let log = String::from_utf8_lossy(&log.body).into_owned();
    assert!(log.contains("grace"), "{log}");
    server.stop();
}

#[test]
fn a_remark_is_kept_with_its_author_also_after_the_end() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start_with(&stand, &root, &[("USER", "grace")]);
    let run = id(&server.execute("greet", &json!({ "name": "Ada" })));
    server.until_status(&run, "COMPLETED");
    let path = format!("/api/executions/{run}/comments");
    let body = json!({ "message": "well done", "stepNumber": 1, "metadata": { "mood": "good" } });
    let shown = server.post(&path, &body).is(200).json();
    let remark = shown["comments"].as_array().unwrap().iter().find(|one| one["author"] == "grace");
    let remark = remark.unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(
        (remark["message"].as_str(), &remark["metadata"]["mood"]),
        (Some("well done"), &json!("good"))
    );
    assert_eq!(remark["step_id"], shown["steps"][0]["id"]);
    server.post(&path, &json!({ "message": " " })).is(422);
    server.post(&path, &json!({ "message": "x", "step_number": 99 })).is(422);
    server.post(&path, &json!({})).is(422);
    server.stop();
}

fn mend(stand: &Stand, server: &Server) -> Value {
    let (file, counted) = (stand.at("mended"), stand.at("prepared"));
    let run = server.execute("mend", &json!({ "file": file, "counted": counted }));
    server.until_status(&id(&run), "FAILED")
}

fn write(path: &Path) {
    std::fs::write(path, "").expect("a file");
}

#[test]
fn a_failed_run_is_mended_by_a_new_one_that_keeps_finished_work() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let failed = mend(&stand, &server);
    write(&stand.at("mended"));
    let path = format!("/api/executions/{}/retry", id(&failed));
    let retried = server.post(&path, &json!({})).is(201);
    let run = retried.json();
    assert_eq!(run["forked_from"], failed["id"]);
    assert_eq!(retried.header("location"), format!("/api/executions/{}", id(&run)));
    let ended = server.until_status(&id(&run), "COMPLETED");
    assert_eq!(ended["output"], "mended");
    assert_eq!(lines(&stand.at("prepared")), ["prepared"], "what was finished is not repeated");
    let refused =
        server.post(&format!("/api/executions/{}/retry", id(&ended)), &json!({})).is(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("can't be retried"), "{refused}");
    server.stop();
}

/// A workflow with a step that works and one with this body.
fn broken(body: &str) -> String {
    format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"broken\" }}, async (ctx) => {{\n\
         await ctx.run(\"prepare\", async () => 1);\n\
         return await ctx.run(\"build\", async () => {{ {body} }}, {{ retry: {{ maxAttempts: 1 }} }});\n}});\n"
    )
}

#[test]
fn a_failed_run_is_mended_by_a_fixed_workflow() {
    let (stand, root) = Stand::with_repository();
    stand.git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    template(&root, "broken", &broken("throw new Error(\"a bug\");"));
    let server = Server::start_with(&stand, &root, &[("AGENTOS_WORKSPACE_KIND", "worktree")]);
    let run = id(&server.execute("broken", &json!({})));
    let failed = server.until_status(&run, "FAILED");
    let path = format!("/api/executions/{run}/retry");
    let refused = server.post(&path, &json!({})).is(409).json();
    assert!(refused["hint"].as_str().unwrap().contains("\"latest\": true"), "{refused}");
    let refused = server.post(&path, &json!({ "latest": true })).is(409).json();
    assert_eq!(refused["type"], "urn:agentos:problem:latest-does-not-fit");
    assert!(refused["detail"].as_str().unwrap().contains("a bug"), "{refused}");
    let fixed = broken("return \"fixed\";");
    let fixed = fixed.replace("name: \"broken\"", "name: \"broken\", timeout: 123_456");
    template(&root, "broken", &fixed);
    let forked = json!({ "fromStep": "build", "latest": true });
    let forked = server.post(&format!("/api/executions/{run}/fork"), &forked).is(201).json();
    assert_eq!(server.until_status(&id(&forked), "COMPLETED")["output"], "fixed");
    let mended = id(&server.post(&path, &json!({ "latest": true })).is(201).json());
    let mended = server.until_status(&mended, "COMPLETED");
    assert_eq!((&mended["output"], &mended["forked_from"]), (&json!("fixed"), &failed["id"]));
    assert_eq!(mended["definition_version"], 2);
    let log = server.get(&format!("/api/executions/{}/events", id(&mended))).is(200).json();
    assert_eq!(log["items"][0]["entry"]["timeout_ms"], 123_456, "its limits are the new ones");
    let resumed = server.post(&format!("/api/executions/{run}/resume"), &json!({ "latest": true }));
    let hint = resumed.is(409).json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("/retry") && hint.contains("latest"), "{hint}");
    server.stop();
}

#[test]
fn a_run_is_not_moved_to_a_workflow_that_fails() {
    let (stand, root) = Stand::with_repository();
    let waits = "await ctx.waitFor(\"go\");\nreturn 1;";
    let text = |body: &str| {
        format!(
            "import {{ createWorkflow }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"waits\" }}, async (ctx) => {{\n{body}\n}});\n"
        )
    };
    template(&root, "waits", &text(waits));
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("waits", &json!({})));
    let shown = || server.get(&format!("/api/executions/{run}")).is(200).json();
    wait_until("it waits", || shown()["waiting"]["kind"] == "signal");
    let before = shown();
    template(&root, "waits", &text("throw new Error(\"boom\");"));
    let path = format!("/api/executions/{run}/resume");
    let refused = server.post(&path, &json!({ "latest": true })).is(409).json();
    assert_eq!(refused["type"], "urn:agentos:problem:latest-does-not-fit");
    assert!(refused["detail"].as_str().unwrap().contains("boom"), "{refused}");
    assert_eq!(shown(), before, "nothing has changed");
    template(&root, "waits", &text(&format!("await ctx.run(\"new\", async () => 1);\n{waits}")));
    server.post(&path, &json!({ "latest": true })).is(200);
    wait_until("it waits again", || shown()["waiting"]["kind"] == "signal");
    let steps = shown()["steps"].as_array().expect("a list").clone();
    let steps: Vec<(&Value, &Value)> =
        steps.iter().map(|step| (&step["step_number"], &step["name"])).collect();
    assert_eq!(steps, [(&json!(1), &json!("wait: go")), (&json!(2), &json!("new"))]);
    server.stop();
}

#[test]
fn a_run_is_resumed_where_it_was_stopped_and_not_while_somebody_has_it() {
    let (stand, root) = Stand::with_repository();
    let (mut foreground, tally) = Tally::start(&stand, &root);
    let server = Server::start(&stand, &root);
    let run = id(&stand.only(&root, "tally"));
    let path = format!("/api/executions/{run}/resume");
    let refused = server.post(&path, &json!({})).is(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("is being run by process"), "{refused}");
    foreground.send(rustix::process::Signal::INT);
    assert_eq!(foreground.done().code, Some(130));
    let stopped = server.get(&format!("/api/executions/{run}")).is(200).json();
    assert_eq!(stopped["interrupted"], true, "what was stopped rests: {stopped}");
    tally.go();
    server.post(&path, &json!({})).is(200);
    server.until_status(&run, "COMPLETED");
    server.stop();
}
