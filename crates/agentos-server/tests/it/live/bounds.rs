//! What a client may not do.

use futures_util::SinkExt as _;
use serde_json::json;
use tempfile::tempdir;
use tokio_tungstenite::tungstenite::Message;

use super::house::Server;
use super::writer::{Writer, open, run_id};

#[tokio::test]
async fn a_connection_has_a_limited_number_of_subscriptions() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = open(&path);
    for number in 0..257 {
        Writer::start(&store, number).await;
    }
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    for number in 0..256 {
        client.subscribe(run_id(number), None).await;
    }
    // One that is there already needs no more room.
    client.subscribe(run_id(7), None).await;
    let data = json!({ "executionId": run_id(256) });
    client.say(json!({ "type": "workflow:subscribe", "data": data })).await;
    let said = client.until(|said| said["type"] == "workflow:error").await;
    assert_eq!(said["data"]["status"], 429);
}

#[tokio::test]
async fn whoever_says_too_much_is_cut_off() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    drop(open(&path));
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    client.say(json!({ "type": "x".repeat(20_000) })).await;
    while client.next().await.is_some() {}
    let mut client = server.connect().await;
    for _ in 0..5_000 {
        // The end may come while there is more to say.
        if client.socket.send(Message::Text("{}".into())).await.is_err() {
            break;
        }
    }
    while client.next().await.is_some() {}
    let mut binary = server.connect().await;
    binary.socket.send(Message::Binary(vec![1, 2].into())).await.unwrap();
    assert_eq!(binary.next().await.unwrap()["data"]["status"], 400);
}
