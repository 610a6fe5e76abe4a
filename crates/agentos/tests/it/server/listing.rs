//! Runs over REST: lists that stay stable, filters that complain, one run with everything about it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stage::{Server, id};
use crate::support::Stand;

fn names(listing: &Value) -> Vec<String> {
    let items = listing["items"].as_array().expect("a list");
    items.iter().map(|run| run["run_id"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn runs_are_listed_page_by_page_and_new_ones_shift_no_cursor() {
    let (stand, root) = Stand::with_repository();
    for _ in 0..5 {
        stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    }
    let server = Server::start(&stand, &root);
    let all = server.get("/api/executions").is(200).json();
    assert_eq!(
        (all["total"].as_u64(), all["page"].as_u64(), all["limit"].as_u64()),
        (Some(5), Some(1), Some(50))
    );
    let told = stand.run(&root, &["status", "--json", "--all"]).exits(0).document();
    assert_eq!(all["items"], told["items"], "the same documents as on the command line");
    let first = server.get("/api/executions?limit=2").is(200).json();
    let run = server.execute("greet", &json!({ "name": "Eve" }));
    server.until_status(&id(&run), "COMPLETED");
    let (mut seen, mut next) = (names(&first), first["next"].clone());
    while let Some(after) = next.as_str() {
        let page = server.get(&format!("/api/executions?limit=2&after={after}")).is(200).json();
        seen.extend(names(&page));
        next = page["next"].clone();
    }
    assert_eq!(seen, names(&all), "a run that was added meanwhile shifts nothing");
    let last = server.get("/api/executions?limit=4&page=2").is(200).json();
    assert_eq!((names(&last).len(), last["total"].as_u64()), (2, Some(6)));
    let mut oldest = names(&server.get("/api/executions?sort=started_at").is(200).json());
    let latest = names(&server.get("/api/executions?sort=-started_at").is(200).json());
    oldest.reverse();
    assert_eq!(oldest, latest);
    server.stop();
}

#[test]
fn runs_are_filtered_and_a_wrong_filter_is_named() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let counted = format!("counted={}", stand.at("counted").display());
    stand.run(&root, &["run", "mend", "--input", "file=/nowhere", "--input", &counted]).exits(1);
    let server = Server::start(&stand, &root);
    let workflow = id(&server.workflow("mend"));
    let project = server.project();
    let count =
        |query: &str| names(&server.get(&format!("/api/executions?{query}")).is(200).json()).len();
    for (query, expected) in [
        ("status=FAILED", 1),
        ("status=FAILED&status=COMPLETED", 2),
        ("status=failed,completed", 2),
        ("status=RUNNING", 0),
        ("workflowId=mend", 1),
        ("workflow_id=greet", 1),
        ("worktreeId=main", 2),
        ("worktreeId=elsewhere", 0),
        ("since=1h", 2),
        ("since=2999-01-01", 0),
        ("q=gree", 1),
        ("q=%25", 0),
    ] {
        assert_eq!(count(query), expected, "{query}");
    }
    assert_eq!(count(&format!("workflowId={workflow}&projectId={project}")), 1);
    assert_eq!(count("projectId=0190b6a4-0000-7000-8000-000000000000"), 0);
    for (query, name) in [
        ("status=DONE", "status"),
        ("projectId=x", "projectId"),
        ("since=yesterday", "since"),
        ("sort=name", "sort"),
        ("page=0", "page"),
        ("page=x", "page"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("after=nonsense", "after"),
        ("after=x&page=2", "after"),
        ("page=1&page=2", "page"),
        ("statuss=FAILED", "statuss"),
    ] {
        let problem = server.get(&format!("/api/executions?{query}")).is(400);
        assert_eq!(problem.header("content-type"), "application/problem+json", "{query}");
        assert_eq!(problem.json()["errors"][0]["parameter"], name, "{query}");
    }
    server.stop();
}

#[test]
fn a_run_is_shown_by_id_or_short_name_with_everything_about_it() {
    let (stand, root) = Stand::with_repository();
    let file = format!("file={}", stand.at("counted").display());
    let run = ["run", "--json", "count", "--input", "steps=3", "--input", &file];
    let run = stand.run(&root, &run).exits(0).document();
    let server = Server::start(&stand, &root);
    let (id, name) = (id(&run), run["run_id"].as_str().unwrap());
    let shown = server.get(&format!("/api/executions/{id}")).is(200);
    assert_eq!(shown.json(), stand.show(&root, name), "the document that `show --json` prints");
    assert_eq!(shown.json(), server.get(&format!("/api/executions/{name}")).is(200).json());
    assert!(!shown.json()["steps"].as_array().unwrap().is_empty());
    let tag = shown.header("etag").to_owned();
    let again = server.ask("GET", &format!("/api/executions/{id}"), &[], b"").is(200);
    assert_eq!(again.header("etag"), tag);
    let path = format!("/api/executions/{id}");
    let known = server.send("GET", &path, &[("if-none-match", &tag)], b"").is(304);
    assert!(known.body.is_empty());
    let small = server.send("GET", &path, &[("accept-encoding", "gzip")], b"").is(200);
    assert_eq!(small.header("content-encoding"), "gzip");
    let ids: BTreeSet<String> =
        (0..3).map(|_| server.get(&path).header("x-request-id").to_owned()).collect();
    assert!(ids.len() == 3 && !ids.contains(""), "{ids:?}");
    for none in ["nothing", &id[..8], &name[..5], "..%2f..%2fetc", "%00", "a%20b", "%ff"] {
        let problem = server.get(&format!("/api/executions/{none}"));
        assert!(matches!(problem.status, 400 | 404), "{none}: {problem:?}");
    }
    server.get("/api/nothing").is(404);
    let wrong = server.send("PUT", &path, &[], b"").is(405);
    assert_eq!(wrong.header("content-type"), "application/problem+json");
    assert!(wrong.header("allow").contains("GET"), "{wrong:?}");
    server.stop();
}

#[test]
fn runs_of_other_worktrees_and_processes_are_seen_and_dealt_with() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 0);
    let other = stand.at("other");
    stand.git(&root, &["worktree", "add", "-q", other.to_str().unwrap()]);
    let run = stand.run(&other, &["run", "--detach", "listen"]).exits(0).out.trim().to_owned();
    crate::support::wait_until("the other worktree's run is seen", || {
        let listing = server.get("/api/executions").is(200).json();
        listing["items"].as_array().unwrap().iter().any(|found| found["run_id"] == run.as_str())
    });
    let listing = server.get("/api/executions").is(200).json();
    assert_eq!(listing["items"][0]["worktree"], "other");
    crate::support::wait_until("it waits", || {
        server.get(&format!("/api/executions/{run}")).json()["waiting"]["kind"] == "signal"
    });
    server
        .post(
            &format!("/api/executions/{run}/signal"),
            &json!({ "event": "go", "payload": { "to": "sea" } }),
        )
        .is(200);
    let ended = server.until_status(&run, "COMPLETED");
    assert_eq!(ended["output"]["to"], "sea");
    server.stop();
}
