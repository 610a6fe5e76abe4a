//! Many clients that come and go while runs progress, and clients that do not read.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_testing::chance::Chance;
use serde_json::json;
use tempfile::tempdir;
use tokio::time::timeout;

use super::child::drive;
use super::client::{Client, Known, PATIENCE};
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_come_and_go_end_with_exactly_the_log() {
    let folder = tempdir().unwrap();
    let paths: [PathBuf; 2] = [folder.path().join("x.db"), folder.path().join("y.db")];
    let stores = paths.each_ref().map(|path| open(path));
    let server = Arc::new(Server::over(&paths).await);
    let mut runs = Vec::new();
    for number in 0..6_u128 {
        let writer = Writer::start(&stores[usize::from(number % 2 == 0)], number).await;
        runs.push(writer.run);
        tokio::spawn(async move {
            let mut writer = writer;
            for commit in 0..60 {
                let texts = [format!("{commit}a"), format!("{commit}b"), format!("{commit}c")];
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                writer.note(&texts[..1 + commit % 3]).await;
            }
            writer.end().await;
        });
    }
    let child = drive(&paths[0], 100, 60);
    // Of a run that does not exist yet nobody can hear.
    while agentos_store::store::Store::head(&stores[0], run_id(100)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    runs.push(run_id(100));
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..8 {
        let some = runs.iter().skip(number % 3).copied().collect();
        clients.spawn(follow(Arc::clone(&server), some, format!("client {number}")));
    }
    let all = timeout(PATIENCE * 3, clients.join_all()).await.expect("all runs end");
    assert!(child.wait_with_output().unwrap().status.success());
    for known in all {
        assert!(known.0.len() >= 5);
        for run in &runs {
            if let Some(heard) = known.0.get(&run.to_string()) {
                let is_in = |store| agentos_store::store::Store::head(store, *run);
                let store = if is_in(&stores[0]).await.is_ok() { &stores[0] } else { &stores[1] };
                assert_eq!(*heard, log(store, *run).await);
            }
        }
    }
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
