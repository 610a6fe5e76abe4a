//! What is counted over all runs, and which of them wait for what.

use std::collections::BTreeMap;
use std::fs;

use prometheus_parse::{HistogramCount, Sample, Scrape, Value as Prometheus};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message};

use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

const WORKS: &str = r#"import { createWorkflow, claude } from "agentos";
export default createWorkflow({ name: "works" }, async (ctx) => {
    await ctx.runCli("build", claude, "Build it");
});"#;
const SCENARIO: &str = "[[session]]\nplay = [{ say = \"done\" }, \
    { tokens = { input = 100, output = 10, cached = 40, cost_usd = 0.25 } }]\n";

fn until_it_waits(server: &Server, run: &str, kind: &str) {
    wait_until(&format!("{run} waits for {kind}"), || {
        server.get(&format!("/api/executions/{run}")).json()["waiting"]["kind"] == kind
    });
}

fn ids(listing: &Value) -> Vec<String> {
    let items = listing["items"].as_array().expect("a list");
    let mut ids: Vec<String> = items.iter().map(id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn runs_are_listed_by_what_they_wait_for() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let done = id(&server.execute("greet", &json!({ "name": "Ada" })));
    let listens = id(&server.execute("listen", &json!({})));
    let asks = id(&server.execute("ask", &json!({})));
    let naps = id(&server.execute("nap", &json!({ "ms": 3_600_000 })));
    server.until_status(&done, "COMPLETED");
    for (run, kind) in [(&listens, "signal"), (&asks, "approval"), (&naps, "timer")] {
        until_it_waits(&server, run, kind);
    }
    let mut two = [asks.clone(), listens.clone()];
    two.sort_unstable();
    let list = |query: &str| server.get(&format!("/api/executions?{query}")).is(200).json();
    for (query, expected) in [
        ("waiting=approval", std::slice::from_ref(&asks)),
        ("waiting=approval,signal", &two),
        ("waiting=approval&waiting=SIGNAL", &two),
        ("waiting=timer&status=RUNNING", std::slice::from_ref(&naps)),
        ("waiting=signal&workflowId=listen", std::slice::from_ref(&listens)),
        ("waiting=signal&status=COMPLETED", &[]),
        ("waiting=child", &[]),
    ] {
        let listing = list(query);
        assert_eq!(ids(&listing), expected, "{query}");
        assert_eq!(listing["total"], expected.len(), "{query}");
    }
    let first = list("waiting=approval,signal&limit=1");
    let after = first["next"].as_str().expect("another page");
    let second = list(&format!("waiting=approval,signal&limit=1&after={after}"));
    assert_eq!((first["total"].as_u64(), &second["next"]), (Some(2), &Value::Null));
    assert_ne!(ids(&first), ids(&second));
    let wrong = server.get("/api/executions?waiting=approval,godot").is(400).json();
    let error = &wrong["errors"][0];
    assert_eq!(error["parameter"], "waiting");
    let detail = error["detail"].as_str().expect("words");
    assert!(detail.contains("approval, signal, child") && detail.contains("`godot`"), "{detail}");
    server.post(&format!("/api/executions/{listens}/signal"), &json!({ "event": "go" })).is(200);
    server.until_status(&listens, "COMPLETED");
    assert_eq!(list("waiting=signal")["total"], 0, "it does not wait any more");
    server.stop();
}

const TWO: &str = r#"import { createWorkflow, claude } from "agentos";
export default createWorkflow({ name: "works", workspace: "none" }, async (ctx) => {
    await ctx.run("plan", async (ctx) => ctx.runCli("plan", claude, "Plan it"));
    await ctx.run("build", async (ctx) => {
        await ctx.runCli("build", claude, "Build it");
        await ctx.shell("test -e built");
    }, { retry: { maxAttempts: 1 } });
});"#;

#[test]
fn a_session_counts_once_however_often_its_run_is_retried() {
    let (stand, root) = Stand::with_repository();
    template(&root, "works", TWO);
    fs::write(root.join("scenario.toml"), SCENARIO).expect("a scenario");
    let server = Server::start(&stand, &root);
    let body = json!({ "agents": { "claude": "scripted:scenario.toml" } });
    let run = id(&server.post("/api/workflows/works/execute", &body).is(201).json());
    let failed = server.until_status(&run, "FAILED");
    assert_eq!((&failed["cost_usd"], &failed["inherited_cost_usd"]), (&json!(0.5), &Value::Null));
    fs::write(root.join("built"), "").expect("a file");
    let path = format!("/api/executions/{run}/retry");
    let retried = id(&server.post(&path, &json!({})).is(201).json());
    let mended = server.until_status(&retried, "COMPLETED");
    assert_eq!((&mended["cost_usd"], &mended["inherited_cost_usd"]), (&json!(0.25), &json!(0.25)));
    let sessions = mended["agent_sessions"].as_array().expect("a list");
    let inherited: Vec<(&Value, &Value)> =
        sessions.iter().map(|session| (&session["name"], &session["inherited"])).collect();
    assert_eq!(inherited, [(&json!("plan"), &json!(true)), (&json!("build"), &json!(false))]);
    let moment =
        |document: &Value, field: &str| document[field].as_str().expect("a moment").to_owned();
    let redone = moment(&sessions[1], "started_at");
    assert!(redone >= moment(&mended, "created_at"), "it has a start of its own: {mended:#}");
    let totals = server.get("/api/totals").is(200).json();
    assert_eq!(totals["cost_usd"], json!(0.75), "three sessions were paid for: {totals}");
    assert_eq!(totals["tokens"], json!({ "input": 300, "output": 30, "cached": 120 }));
    let told = server.get("/metrics").is(200);
    let told = String::from_utf8_lossy(&told.body).into_owned();
    assert!(told.contains("agentos_agent_cost_usd_total 0.75"), "{told}");
    server.stop();
}

#[test]
fn totals_are_those_of_all_databases_and_of_whatever_is_asked_for() {
    let (stand, root) = Stand::with_repository();
    template(&root, "works", WORKS);
    fs::write(root.join("scenario.toml"), SCENARIO).expect("a scenario");
    let other = stand.at("other");
    stand.git(&root, &["worktree", "add", "-q", other.to_str().expect("a path")]);
    stand.run(&other, &["run", "greet", "--name", "Ada"]).exits(0);
    let server = Server::start(&stand, &root);
    let body = json!({ "agents": { "claude": "scripted:scenario.toml" } });
    for _ in 0..2 {
        let run = server.post("/api/workflows/works/execute", &body).is(201).json();
        server.until_status(&id(&run), "COMPLETED");
    }
    let asks = id(&server.execute("ask", &json!({})));
    until_it_waits(&server, &asks, "approval");
    let totals = |query: &str| server.get(&format!("/api/totals{query}")).is(200).json();
    let nothing = json!({
        "runs": { "PENDING": 0, "RUNNING": 0, "COMPLETED": 0, "FAILED": 0, "CANCELLED": 0, "TIMED_OUT": 0 },
        "waiting": { "approval": 0, "signal": 0, "child": 0, "slot": 0, "disk": 0, "retry": 0, "timer": 0 },
        "tokens": { "input": 0, "output": 0, "cached": 0 },
        "cost_usd": 0.0,
    });
    let mut works = nothing.clone();
    works["runs"]["COMPLETED"] = 2.into();
    works["tokens"] = json!({ "input": 200, "output": 20, "cached": 80 });
    works["cost_usd"] = 0.5.into();
    let mut all = works.clone();
    all["runs"]["COMPLETED"] = 3.into();
    all["runs"]["RUNNING"] = 1.into();
    all["waiting"]["approval"] = 1.into();
    assert_eq!(totals(""), all);
    assert_eq!(totals("?since=1h"), all);
    assert_eq!(totals("?workflowId=works"), works);
    assert_eq!(totals("?q=works"), works);
    assert_eq!(totals("?since=2999-01-01"), nothing);
    let mut elsewhere = nothing.clone();
    elsewhere["runs"]["COMPLETED"] = 1.into();
    assert_eq!(totals("?worktreeId=other"), elsewhere);
    let mut here = all.clone();
    here["runs"]["COMPLETED"] = 2.into();
    assert_eq!(totals("?worktreeId=main"), here);
    let project = server.project();
    assert_eq!(totals(&format!("?projectId={project}")), all, "its worktrees are the project's");
    assert_eq!(totals("?projectId=0190b6a4-0000-7000-8000-000000000000"), nothing);
    for (query, name) in [
        ("projectId=x", "projectId"),
        ("since=yesterday", "since"),
        ("status=RUNNING", "status"),
        ("q=a&q=b", "q"),
    ] {
        let problem = server.get(&format!("/api/totals?{query}")).is(400).json();
        assert_eq!(problem["errors"][0]["parameter"], name, "{query}");
    }
    server.stop();
}

#[test]
fn a_run_that_was_copied_counts_once() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let other = stand.at("other");
    stand.git(&root, &["worktree", "add", "-q", other.to_str().expect("a path")]);
    let from = root.join(".agentos/issue_workflow.db");
    let copy = ["db", "migrate", "--from", from.to_str().expect("a path")];
    stand.run(&other, &copy).exits(0);
    let server = Server::start(&stand, &root);
    assert_eq!(server.get("/readyz").is(200).json()["databases"], 2, "it is in both");
    assert_eq!(server.get("/api/totals").is(200).json()["runs"]["COMPLETED"], 1);
    server.stop();
}

/// The figures; every line has to be one.
fn figures(server: &Server) -> Vec<Sample> {
    let text = String::from_utf8(server.get("/metrics").is(200).body).expect("a text");
    let scrape =
        Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("it is understood");
    let told: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let families = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), families, "each is told of once");
    let understood: usize = scrape
        .samples
        .iter()
        .map(|sample| match &sample.value {
            Prometheus::Histogram(buckets) => buckets.len(),
            Prometheus::Untyped(_) => {
                let name = sample.metric.as_str();
                let is_part = name.ends_with("_sum") || name.ends_with("_count");
                assert!(is_part, "{name} has no type");
                1
            }
            _ => 1,
        })
        .sum();
    assert_eq!(understood, told.len(), "{text}");
    scrape.samples
}

fn value(figures: &[Sample], name: &str, label: Option<(&str, &str)>) -> f64 {
    let is_it = |found: &&Sample| {
        found.metric == name && label.is_none_or(|(label, is)| found.labels.get(label) == Some(is))
    };
    let found = figures.iter().find(is_it).unwrap_or_else(|| panic!("{name} {label:?}"));
    match found.value {
        Prometheus::Counter(value) | Prometheus::Gauge(value) | Prometheus::Untyped(value) => value,
        _ => panic!("{name} is no number"),
    }
}

#[test]
fn figures_are_in_the_format_of_prometheus_and_count_what_happens() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let greeted = id(&server.execute("greet", &json!({ "name": "Ada" })));
    server.until_status(&greeted, "COMPLETED");
    server.get("/api/executions/nothing").is(404);
    let listens = id(&server.execute("listen", &json!({})));
    let stream = std::net::TcpStream::connect(&server.address).expect("somebody listens");
    let url = format!("ws://{}/ws", server.address);
    let (mut socket, _) = tungstenite::client(url, stream).expect("it speaks WebSocket");
    let wish = json!({ "type": "workflow:subscribe", "data": { "executionId": listens } });
    socket.send(Message::Text(wish.to_string().into())).expect("it listens");
    // A heartbeat may come first.
    let said = loop {
        if let Message::Text(text) = socket.read().expect("it answers") {
            break text;
        }
    };
    assert!(said.contains("workflow:subscribed"), "{said}");
    let all = figures(&server);
    let number = |name: &str, label| value(&all, name, label);
    assert_eq!(number("agentos_websockets", None), 1.0);
    assert_eq!(number("agentos_subscriptions", Some(("to", "run"))), 1.0);
    assert_eq!(number("agentos_subscriptions", Some(("to", "project"))), 0.0);
    assert!(number("agentos_http_requests_total", Some(("status", "2xx"))) >= 3.0);
    assert_eq!(number("agentos_http_requests_total", Some(("status", "4xx"))), 1.0);
    assert_eq!(number("agentos_http_requests_total", Some(("status", "1xx"))), 1.0);
    assert!(number("agentos_commit_group_size_sum", None) >= 2.0);
    let histograms: BTreeMap<&str, &Vec<HistogramCount>> = all
        .iter()
        .filter_map(|found| match &found.value {
            Prometheus::Histogram(buckets) => Some((found.metric.as_str(), buckets)),
            _ => None,
        })
        .collect();
    for name in [
        "agentos_run_duration_seconds",
        "agentos_step_duration_seconds",
        "agentos_http_request_duration_seconds",
        "agentos_commit_group_size",
    ] {
        let buckets = histograms[name];
        let grows = |two: &[HistogramCount]| {
            two[0].less_than < two[1].less_than && two[0].count <= two[1].count
        };
        assert!(buckets.windows(2).all(grows), "{name}: {buckets:?}");
        let last = buckets.last().expect("a bucket");
        assert!(last.less_than.is_infinite(), "{name}");
        assert_eq!(last.count, number(&format!("{name}_count"), None), "{name}");
    }
    server.stop();
}
