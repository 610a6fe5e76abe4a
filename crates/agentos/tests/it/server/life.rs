//! The server's own life: health, figures, its description, its end, and what becomes of runs when it is killed.

use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, Tally, wait_until, workshop};

#[test]
fn health_figures_and_the_description_are_told() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("greet", &json!({ "name": "Ada" })));
    server.until_status(&run, "COMPLETED");
    assert_eq!(server.get("/healthz").is(200).json()["status"], "ok");
    let ready = server.get("/readyz").is(200).json();
    assert_eq!((ready["status"].as_str(), ready["databases"].as_u64()), (Some("ok"), Some(1)));
    let figures = server.get("/metrics").is(200);
    let text = String::from_utf8_lossy(&figures.body).into_owned();
    assert!(figures.header("content-type").starts_with("text/plain; version=0.0.4"));
    for line in [
        "agentos_runs{status=\"COMPLETED\"} 1",
        "agentos_queue 0",
        "agentos_steps{status=\"COMPLETED\"} 1",
        "agentos_run_duration_seconds_count{workflow=\"greet\"} 1",
        "agentos_step_duration_seconds_count 1",
        "agentos_databases 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    let described = server.get("/api/openapi.json").is(200).json();
    let printed = stand.run(&root, &["serve", "--print-openapi"]).exits(0).document();
    assert_eq!(described, printed);
    let operations = described["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|item| item.as_object().unwrap().values());
    let mut names: Vec<&str> =
        operations.filter_map(|found| found["operationId"].as_str()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(all >= 30 && names.len() == all, "each operation has a name of its own: {names:?}");
    server.stop();
}

/// `cargo xtask openapi` writes it again.
#[test]
fn the_description_that_the_dashboard_is_made_from_is_the_one_of_this_server() {
    let (stand, root) = Stand::with_repository();
    let printed = stand.run(&root, &["serve", "--print-openapi"]).exits(0).document();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/openapi.json");
    let kept = std::fs::read_to_string(&kept)
        .unwrap_or_else(|error| panic!("{}: {error}", kept.display()));
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert!(kept == printed, "`cargo xtask openapi` writes ui/openapi.json again");
}

#[test]
fn every_other_address_is_a_page_and_none_of_it_runs_foreign_scripts() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    for path in ["/", "/executions/some-run", "/nothing"] {
        let page = server.send("GET", path, &[], b"").is(200);
        assert!(page.header("content-type").starts_with("text/html"), "{path}: {page:?}");
        let policy = page.header("content-security-policy");
        assert!(
            policy.contains("script-src 'self'") && policy.contains("default-src 'self'"),
            "{policy}"
        );
        assert_eq!(page.header("x-content-type-options"), "nosniff");
    }
    let missing = server.send("GET", "/assets/nothing.js", &[], b"").is(404);
    assert_eq!(missing.header("content-type"), "application/problem+json");
    let nothing = server.send("GET", "/api/nothing", &[], b"").is(404);
    assert_eq!(nothing.header("content-type"), "application/problem+json");
    server.stop();
}

#[test]
fn a_port_that_is_taken_is_told_of() {
    let (stand, root) = Stand::with_repository();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = stand.run(&root, &["serve", "--port", &port]).exits(1);
    assert!(
        refused.err.contains("can't be listened on") && refused.err.contains("--port"),
        "{refused:?}"
    );
}

#[test]
fn what_is_detached_while_a_server_is_there_is_driven_by_it() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    for _ in 0..3 {
        let run = stand.run(&root, &["run", "--detach", "greet", "--name", "Ada"]).exits(0);
        assert!(stand.executors().is_empty(), "no process is started");
        server.until_status(run.out.trim(), "COMPLETED");
    }
    server.stop();
}

#[test]
fn runs_go_on_after_the_server_was_killed_and_each_is_told_of() {
    let (stand, root) = Stand::with_repository();
    let tallies: Vec<Tally> =
        (0..4).map(|number| Tally::new(&stand, &root, &format!("counted-{number}"))).collect();
    let server = Server::start(&stand, &root);
    let begin = |tally: &Tally| id(&server.execute("tally", &json!({ "file": tally.file() })));
    let runs: Vec<String> = tallies.iter().map(begin).collect();
    let listening = id(&server.execute("listen", &json!({})));
    tallies.iter().for_each(Tally::wait_until_it_waits);
    wait_until("the other waits", || {
        server.get(&format!("/api/executions/{listening}")).json()["waiting"]["kind"] == "signal"
    });
    server.kill();
    let server = Server::start(&stand, &root);
    let told = server.said.join("\n");
    assert!(told.contains("waits for a signal"), "{told}");
    assert!(told.contains("was interrupted at step count"), "{told}");
    tallies.iter().for_each(Tally::go);
    for (run, tally) in runs.iter().zip(&tallies) {
        server.until_status(run, "COMPLETED");
        let mut counted = tally.counted();
        counted.dedup();
        assert_eq!(counted, ["1", "2", "3", "4"], "what was finished is not repeated");
    }
    server.post(&format!("/api/executions/{listening}/signal"), &json!({ "event": "go" })).is(200);
    server.until_status(&listening, "COMPLETED");
    server.stop();
}

#[test]
fn the_server_watches_and_drives_while_others_do_the_same() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    // Runs of the server, of the foreground and of the background, one after the other and at once, on one database.
    for round in 0..3 {
        let ours = id(&server.execute("nap", &json!({ "ms": 50 })));
        let mut theirs = stand.call(&root, &["run", "greet", "--name", "Ada"]).start();
        let detached = stand.run(&root, &["run", "--detach", "nap", "--input", "ms=50"]).exits(0);
        let doomed = id(&server.execute("listen", &json!({})));
        let cancelled =
            server.post(&format!("/api/executions/{doomed}/cancel"), &json!({})).is(200).json();
        assert_eq!(cancelled["status"], "CANCELLED", "round {round}");
        server.until_status(&ours, "COMPLETED");
        server.until_status(detached.out.trim(), "COMPLETED");
        wait_until("theirs ends", || theirs.has_ended().is_some());
        let seen = server.get("/api/executions").is(200).json()["total"].as_u64();
        assert_eq!(seen, Some(4 * (round + 1)), "everybody's runs are seen at once");
    }
    server.stop();
}

#[test]
fn the_server_has_as_many_files_open_as_it_may_and_commands_have_their_usual_limit() {
    let (stand, root) = Stand::with_repository();
    let tell = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "tell" }, async (ctx) => {
    return (await ctx.shell("ulimit -Sn; ulimit -Hn")).stdout;
});"#;
    template(&root, "tell", tell);
    let program = workshop();
    let words = "ulimit -Sn 200 && exec \"$0\" serve --port 0";
    let arguments = ["-c", words, program.to_str().expect("a path")];
    let mut server = Server::of(stand.call_program(Path::new("/bin/sh"), &root, &arguments));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).expect("Linux");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    let numbers: Vec<&str> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "{files}");
    assert_ne!(numbers[1], "200", "there is something to be raised");
    let run = id(&server.execute("tell", &json!({})));
    let ended = server.until_status(&run, "COMPLETED");
    assert_eq!(ended["output"], format!("200\n{}\n", numbers[1]));
    server.stop();
}
