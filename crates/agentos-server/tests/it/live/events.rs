//! The log over HTTP: pages, and Server-Sent Events.

use serde_json::{Value, json};
use tempfile::tempdir;

use super::house::Server;
use super::http::{get, lines};
use super::writer::{Writer, open};

/// The events that come until the stream ends, or so many.
async fn events(
    server: &Server,
    path: &str,
    headers: &[(&str, &str)],
    most: usize,
) -> Vec<(u64, Value)> {
    let mut headers = headers.to_vec();
    headers.push(("accept", "text/event-stream"));
    let response = get(server.address, path, &headers).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut found, mut id, mut lines) = (Vec::new(), 0, lines(response));
    while found.len() < most
        && let Some(line) = lines.next().await
    {
        if let Some(text) = line.strip_prefix("id: ") {
            id = text.parse().unwrap();
        } else if let Some(text) = line.strip_prefix("data: ") {
            found.push((id, serde_json::from_str(text).unwrap()));
        }
    }
    found
}

#[tokio::test]
async fn the_log_is_read_page_by_page() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    writer.note(&["a", "b", "c"]).await;
    writer.note(&["d"]).await;
    writer.end().await;
    let server = Server::over(&[path]).await;
    let (mut after, mut all) = ("0".to_owned(), Vec::new());
    loop {
        let address = format!("/api/executions/{}/events?limit=2&after={after}", writer.run);
        let page: Value = super::http::json(get(server.address, &address, &[]).await).await;
        assert_eq!((&page["total"], &page["limit"]), (&json!(6), &json!(2)));
        for item in page["items"].as_array().unwrap() {
            assert_eq!(item["kind"], item["entry"]["kind"]);
            all.push((item["seq"].as_u64().unwrap(), item["kind"].as_str().unwrap().to_owned()));
        }
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(all, writer.log().await);
    let wrong =
        get(server.address, &format!("/api/executions/{}/events?after=x", writer.run), &[]).await;
    assert_eq!(wrong.status(), 400);
    assert_eq!(get(server.address, "/api/executions/nobody/events", &[]).await.status(), 404);
}

#[tokio::test]
async fn a_stream_does_not_begin_behind_the_end_of_the_log() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let address = format!("/api/executions/{}/events", writer.run);
    let stream = ("accept", "text/event-stream");
    let behind = get(server.address, &address, &[stream, ("last-event-id", "2")]).await;
    assert_eq!(behind.status(), 400);
    let behind = get(server.address, &format!("{address}?after=500"), &[stream]).await;
    assert_eq!(behind.status(), 400);
    let mut at_the_end =
        lines(get(server.address, &address, &[stream, ("last-event-id", "1")]).await);
    writer.end().await;
    assert_eq!(at_the_end.next().await.unwrap(), "id: 2");
    while at_the_end.next().await.is_some() {}
}

#[tokio::test]
async fn a_stream_has_every_entry_goes_on_where_it_was_and_ends_with_the_run() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    writer.note(&["a", "b"]).await;
    let server = Server::over(&[path]).await;
    let address = format!("/api/executions/{}/events", writer.run);
    let mut all = events(&server, &address, &[], 2).await;
    let driving = tokio::spawn(async move {
        for number in 0..30 {
            writer.note(&[&format!("{number}"), "and"]).await;
        }
        writer.end().await;
        writer
    });
    for number in [7, 20, usize::MAX] {
        let last = all.last().unwrap().0.to_string();
        all.extend(events(&server, &address, &[("last-event-id", &last)], number).await);
    }
    let writer = driving.await.unwrap();
    let heard: Vec<(u64, String)> =
        all.iter().map(|(id, event)| (*id, event["kind"].as_str().unwrap().to_owned())).collect();
    assert_eq!(heard, writer.log().await);
    assert!(all.iter().all(|(id, event)| event["seq"] == json!(id)));
    let last = all.last().unwrap().0.to_string();
    let over =
        get(server.address, &address, &[("accept", "text/event-stream"), ("last-event-id", &last)])
            .await;
    assert_eq!(over.status(), 204, "an EventSource stops there");
}
