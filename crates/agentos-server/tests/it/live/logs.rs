//! What runs say: log files over HTTP, and as progress over the socket.

use std::path::Path;
use std::time::Duration;

use agentos_core::time::Timestamp;
use agentos_core::turn::LogLevel;
use agentos_store::folder::{Line, RunFolder, RunLogs, StepName, Stream};
use agentos_store::place::Place;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::client::Client;
use super::documents::requested;
use super::house::Server;
use super::http::{get, json as body, lines};
use super::writer::{Writer, open};

/// How long a client listens before another line is written, and how often.
const ROUND: Duration = Duration::from_millis(300);
const ROUNDS: u64 = 400;

fn line(number: u64, level: LogLevel, step: Option<StepName>, message: &str) -> Line {
    Line {
        ordinal: Some(number),
        at: Timestamp(1_000),
        level,
        step,
        stream: Stream::Log,
        message: message.to_owned(),
        piece: None,
    }
}

async fn with_logs(project: &Path, path: &Path) -> (Writer, RunLogs) {
    let place = Place { work_dir: Some(project.display().to_string()), ..Place::default() };
    let mut writer = Writer::start_at(&open(path), 1, place).await;
    writer.commit(vec![requested("/build#1", 1)]).await;
    let logs = RunFolder::new(project, writer.run).open_logs().unwrap();
    (writer, logs)
}

fn messages(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|line| line["msg"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn lines_are_read_by_page_by_step_and_by_loudness() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let (writer, mut logs) = with_logs(folder.path(), &path).await;
    let step = StepName::of(writer.run, agentos_core::id::StepNumber(1), "/build#1");
    let id = step.id;
    logs.append(&[
        line(1, LogLevel::Info, None, "one"),
        line(2, LogLevel::Debug, Some(step.clone()), "two"),
        line(3, LogLevel::Error, Some(step), "three"),
    ])
    .unwrap();
    let server = Server::over(&[path]).await;
    let address = format!("/api/executions/{}/logs", writer.run);
    let ask = async |query: &str| {
        body(get(server.address, &format!("{address}{query}"), &[]).await).await
    };
    let page = ask("?limit=2").await;
    assert_eq!(messages(&page), ["one", "two"]);
    let next = page["next"].as_str().unwrap();
    let page = ask(&format!("?limit=2&after={next}")).await;
    assert_eq!((messages(&page), &page["next"]), (vec!["three"], &Value::Null));
    assert_eq!(messages(&ask("?level=info").await), ["one", "three"]);
    assert_eq!(messages(&ask(&format!("?stepId={id}")).await), ["two", "three"]);
    assert_eq!(messages(&ask(&format!("?step_id={id}&level=WARN")).await), ["three"]);
    for (query, status) in [("?level=loud", 400), ("?stepId=1", 400), ("?follow=maybe", 400)] {
        assert_eq!(get(server.address, &format!("{address}{query}"), &[]).await.status(), status);
    }
    let nobody = format!("{address}?stepId={}", uuid::Uuid::from_u128(1));
    assert_eq!(get(server.address, &nobody, &[]).await.status(), 404);
}

#[tokio::test]
async fn whoever_follows_gets_every_line_until_the_run_has_ended() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let place = Place { work_dir: Some(folder.path().display().to_string()), ..Place::default() };
    let mut writer = Writer::start_at(&open(&path), 1, place).await;
    let server = Server::over(&[path]).await;
    let address = format!("/api/executions/{}/logs?follow=true&level=info", writer.run);
    // There is no file yet.
    let plain = get(server.address, &address, &[]).await;
    assert_eq!(plain.headers()["content-type"], "application/x-ndjson");
    let events = get(server.address, &address, &[("accept", "text/event-stream")]).await;
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let mut logs = RunFolder::new(folder.path(), writer.run).open_logs().unwrap();
    logs.append(&[line(1, LogLevel::Info, None, "one"), line(2, LogLevel::Trace, None, "quiet")])
        .unwrap();
    let mut plain = lines(plain);
    let first: Value = serde_json::from_str(&plain.next().await.unwrap()).unwrap();
    assert_eq!(first["msg"], "one");
    logs.append(&[line(3, LogLevel::Info, None, "two")]).unwrap();
    writer.end().await;
    let second: Value = serde_json::from_str(&plain.next().await.unwrap()).unwrap();
    assert_eq!((&second["msg"], plain.next().await), (&json!("two"), None));
    let mut events = lines(events);
    let mut heard = Vec::new();
    while let Some(said) = events.next().await {
        heard.extend(said.strip_prefix("data: ").map(|text| {
            serde_json::from_str::<Value>(text).unwrap()["msg"].as_str().unwrap().to_owned()
        }));
    }
    assert_eq!(heard, ["one", "two"]);
}

#[tokio::test]
async fn whoever_comes_back_to_a_stream_of_lines_goes_on_behind_the_last() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let (mut writer, mut logs) = with_logs(folder.path(), &path).await;
    logs.append(&[
        line(1, LogLevel::Info, None, "one"),
        line(2, LogLevel::Trace, None, "quiet"),
        line(3, LogLevel::Info, None, "two"),
        line(4, LogLevel::Info, None, "three"),
    ])
    .unwrap();
    writer.end().await;
    let server = Server::over(&[path]).await;
    let address = format!("/api/executions/{}/logs?follow=true&level=info", writer.run);
    let ask = async |last: &str| {
        let headers = [("accept", "text/event-stream"), ("last-event-id", last)];
        get(server.address, &address, &headers).await
    };
    let mut last = String::new();
    for left in [&["one", "two", "three"][..], &["two", "three"], &["three"], &[]] {
        let mut stream = lines(ask(&last).await);
        let (mut ids, mut heard) = (Vec::new(), Vec::new());
        while let Some(said) = stream.next().await {
            ids.extend(said.strip_prefix("id: ").map(str::to_owned));
            heard.extend(said.strip_prefix("data: ").map(|text| {
                serde_json::from_str::<Value>(text).unwrap()["msg"].as_str().unwrap().to_owned()
            }));
        }
        assert_eq!(heard, left);
        last = ids.into_iter().next().unwrap_or_default();
    }
    for wrong in ["x", "-1", "9223372036854775808"] {
        assert_eq!(ask(wrong).await.status(), 400, "{wrong}");
    }
}

#[tokio::test]
async fn lines_are_progress_on_the_socket_for_whoever_wants_them() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let (mut writer, mut logs) = with_logs(folder.path(), &path).await;
    logs.append(&[line(1, LogLevel::Info, None, "before")]).unwrap();
    let server = Server::over(&[path]).await;
    let mut quiet = server.connect().await;
    quiet.subscribe(writer.run, None).await;
    let mut client = server.connect().await;
    client
        .say(json!({ "type": "workflow:subscribe", "data": { "executionId": writer.run } }))
        .await;
    client.until(|said| said["type"] == "workflow:subscribed").await;
    // Until somebody reads the file its end is not known; what is said then is heard.
    let mut number = 1;
    let said = loop {
        number += 1;
        logs.append(&[line(number, LogLevel::Info, None, &number.to_string())]).unwrap();
        if let Ok(said) = tokio::time::timeout(ROUND, client.next()).await {
            break said.unwrap();
        }
        assert!(number < ROUNDS, "lines are heard");
    };
    assert_eq!(
        (&said["type"], &said["ephemeral"]),
        (&json!("workflow:log:appended"), &json!(true))
    );
    assert_eq!((said.get("seq"), &said["data"]["skipped"]), (None, &json!(0)));
    assert_ne!(said["data"]["lines"][0]["msg"], "before");
    writer.end().await;
    assert_eq!(
        quiet.next().await.unwrap()["type"],
        "workflow:execution:completed",
        "it hears no lines"
    );
}

#[tokio::test]
async fn whoever_comes_and_goes_hears_every_line_once() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let (writer, mut logs) = with_logs(folder.path(), &path).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    let data = json!({ "executionId": writer.run });
    for _ in 0..20 {
        client.say(json!({ "type": "workflow:subscribe", "data": data })).await;
        client.say(json!({ "type": "workflow:unsubscribe", "data": data })).await;
        client.until(|said| said["type"] == "workflow:unsubscribed").await;
    }
    client.say(json!({ "type": "workflow:subscribe", "data": data })).await;
    client.until(|said| said["type"] == "workflow:subscribed").await;
    // Whoever reads looks a few times a second. So many looks are enough for a second reader to be heard, too.
    let (mut number, mut looks, mut heard) = (0, 0, Vec::new());
    while looks < 5 {
        number += 1;
        assert!(number < ROUNDS, "lines are heard");
        logs.append(&[line(number, LogLevel::Info, None, &number.to_string())]).unwrap();
        if let Ok(said) = tokio::time::timeout(ROUND, client.next()).await {
            let lines = said.unwrap()["data"]["lines"].take();
            heard.extend(lines.as_array().unwrap().iter().map(|line| line["n"].as_u64().unwrap()));
            looks += 1;
        }
    }
    let first = heard[0];
    assert_eq!(heard, (first..first + heard.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn whoever_subscribes_again_without_lines_gets_no_more_of_them() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let (mut writer, mut logs) = with_logs(folder.path(), &path).await;
    let server = Server::over(&[path]).await;
    let (mut client, mut witness) = (server.connect().await, server.connect().await);
    let is_confirmed = |said: &Value| said["type"] == "workflow:subscribed";
    let is_line = |said: &Value| said["type"] == "workflow:log:appended";
    for listener in [&mut client, &mut witness] {
        let data = json!({ "executionId": writer.run });
        listener.say(json!({ "type": "workflow:subscribe", "data": data })).await;
        listener.until(is_confirmed).await;
    }
    let mut number = 0;
    let mut say_until_heard = async |listener: &mut Client| {
        loop {
            number += 1;
            logs.append(&[line(number, LogLevel::Info, None, &number.to_string())]).unwrap();
            if let Ok(said) = tokio::time::timeout(ROUND, listener.next()).await {
                assert!(is_line(&said.unwrap()));
                return;
            }
            assert!(number < ROUNDS, "lines are heard");
        }
    };
    say_until_heard(&mut client).await;
    let data = json!({ "executionId": writer.run, "progress": false });
    client.say(json!({ "type": "workflow:subscribe", "data": data })).await;
    client.until(is_confirmed).await;
    for _ in 0..3 {
        say_until_heard(&mut witness).await;
    }
    writer.end().await;
    let next = client.next().await.unwrap();
    assert_eq!(
        next["type"], "workflow:execution:completed",
        "the witness hears lines, it does not"
    );
}
