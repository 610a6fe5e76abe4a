//! Many clients that come and go while runs progress, and clients that do not read.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_store::store::Store as _;
use agentos_testing::chance::Chance;
use agentos_testing::wait::until;
use serde_json::json;
use tempfile::tempdir;
use tokio::time::timeout;

use super::child::drive;
use super::client::{Client, Known, TIMEOUT};
use super::house::Server;
use super::writer::{Writer, log, note, open, run_id};

/// Follows runs to their ends, and loses its connection again and again.
async fn follow(server: Arc<Server>, runs: Vec<RunId>, seed: String) -> Known {
    let mut chance = Chance::new(seed);
    let (mut known, mut open) = (Known::default(), HashSet::<RunId>::from_iter(runs));
    while !open.is_empty() {
        let mut client = server.connect().await;
        for run in &open {
            let data = json!({ "executionId": run, "after": known.after(*run), "progress": false });
            client.say(json!({ "type": "workflow:subscribe", "data": data })).await;
        }
        let mut left = 1 + chance.below(60);
        while left > 0 && !open.is_empty() {
            let said = client.next().await.expect("the server closes nothing");
            assert_ne!(said["type"], "workflow:error", "{said}");
            if known.keep(&said) {
                open.retain(|run| said["execution_id"] != json!(run));
            }
            left -= 1;
        }
        // It is gone without a word.
        drop(client);
    }
    known
}

/// How much of everything there is.
struct Size {
    runs: u128,
    driven_elsewhere: u128,
    commits: usize,
    clients: usize,
    subscriptions: usize,
}

impl Size {
    fn asked_for() -> Self {
        match std::env::var_os("AGENTOS_SOAK") {
            None => {
                Self { runs: 6, driven_elsewhere: 1, commits: 60, clients: 8, subscriptions: 5 }
            }
            Some(_) => Self {
                runs: 190,
                driven_elsewhere: 10,
                commits: 100,
                clients: 1_000,
                subscriptions: 20,
            },
        }
    }
}

async fn drive_here(mut writer: Writer, commits: usize) {
    for commit in 0..commits {
        let texts = [format!("{commit}a"), format!("{commit}b"), format!("{commit}c")];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        writer.note(&texts[..1 + commit % 3]).await;
    }
    writer.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "the soak keeps the summary")]
async fn clients_that_come_and_go_end_with_exactly_the_log() {
    let size = Size::asked_for();
    let folder = tempdir().unwrap();
    let paths: [PathBuf; 2] = [folder.path().join("x.db"), folder.path().join("y.db")];
    let stores = paths.each_ref().map(|path| open(path));
    let server = Arc::new(Server::over(&paths).await);
    let (mut runs, mut children) = (Vec::new(), Vec::new());
    for number in 0..size.runs {
        let store = &stores[usize::from(number % 2 == 1)];
        let writer = Writer::start(store, number).await;
        runs.push((writer.run, store.clone()));
        tokio::spawn(drive_here(writer, size.commits));
    }
    for number in size.runs..size.runs + size.driven_elsewhere {
        children.push(drive(&paths[0], number, size.commits));
        // Of a run that does not exist yet nobody can hear.
        let exists = async || stores[0].head(run_id(number)).await.is_ok();
        until("the run exists", exists).await;
        runs.push((run_id(number), stores[0].clone()));
    }
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..size.clients {
        let mut chance = Chance::new(format!("wishes of {number}"));
        let some = (0..size.subscriptions).map(|_| chance.pick(&runs).0).collect();
        clients.spawn(follow(Arc::clone(&server), some, format!("client {number}")));
    }
    let all = timeout(TIMEOUT * 10, clients.join_all()).await.expect("all runs end");
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let mut heard = 0;
    for (run, store) in &runs {
        let log = log(store, *run).await;
        for known in all.iter().filter_map(|known| known.0.get(&run.to_string())) {
            assert_eq!(*known, log);
            heard += log.len();
        }
    }
    assert!(heard > 0, "somebody has heard something");
    let Size { clients, subscriptions, .. } = size;
    println!(
        "summary: {} runs, {clients} clients with {subscriptions} subscriptions each: {heard} entries, every log exact",
        runs.len()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_holds_up_nobody_and_is_told_to_catch_up() {
    const COMMITS: usize = 400;
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut stalled = server.connect().await;
    stalled.subscribe(writer.run, Some(0)).await;
    let mut reading = server.connect().await;
    reading.subscribe(writer.run, Some(0)).await;
    for commit in 0..COMMITS {
        // More than any buffer between here and there takes.
        let step = format!("/step{commit}#1");
        writer
            .commit(vec![
                super::documents::requested(&step, commit as u32 + 1),
                super::documents::ended(&step, json!("x".repeat(50_000))),
            ])
            .await;
    }
    writer.end().await;
    let mut known = Known::default();
    while !known.keep(&reading.next().await.unwrap()) {}
    assert_eq!(known.0[&writer.run.to_string()], writer.log().await);
    let (mut known, mut was_told) = (Known::default(), false);
    loop {
        let said = stalled.next().await.unwrap();
        if said["type"] == "workflow:catchup" {
            assert_eq!(said["data"]["after"].as_u64().unwrap(), known.after(writer.run));
            was_told = true;
        }
        if known.keep(&said) {
            break;
        }
    }
    assert!(was_told, "it was behind and knows it");
    assert_eq!(known.0[&writer.run.to_string()], writer.log().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_and_comes_back_leaves_no_gap() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let mut known = Known::default();
    for round in 0..4 {
        let server = Server::over(std::slice::from_ref(&path)).await;
        let mut client = server.connect().await;
        client.subscribe(writer.run, Some(known.after(writer.run))).await;
        for number in 0..10 {
            writer.commit(vec![note(&format!("{round} {number}"))]).await;
        }
        for said in client.entries(5).await {
            known.keep(&said);
        }
    }
    writer.end().await;
    let server = Server::over(&[path]).await;
    let mut client: Client = server.connect().await;
    client.subscribe(writer.run, Some(known.after(writer.run))).await;
    while !known.keep(&client.next().await.unwrap()) {}
    assert_eq!(known.0[&writer.run.to_string()], writer.log().await);
}
