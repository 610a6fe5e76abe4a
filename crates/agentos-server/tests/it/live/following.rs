//! Subscriptions to runs: what is said, from where on, and what is refused.

use serde_json::json;
use tempfile::tempdir;

use super::child::drive;
use super::client::Known;
use super::house::Server;
use super::writer::{Writer, open, run_id};

#[tokio::test]
async fn every_entry_is_one_message_from_the_position_that_was_asked_for() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = open(&path);
    let mut writer = Writer::start(&store, 1).await;
    writer.note(&["one", "two", "three"]).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    // In the middle of a commit.
    let subscribed = client.subscribe(writer.run, Some(2)).await;
    assert_eq!((&subscribed["seq"], &subscribed["data"]["seq"]), (&json!(2), &json!(4)));
    let mut known = Known::default();
    for said in client.entries(2).await {
        known.keep(&said);
    }
    writer.note(&["four"]).await;
    writer.note(&["five", "six"]).await;
    writer.end().await;
    for said in client.entries(4).await {
        known.keep(&said);
    }
    assert_eq!(known.0[&writer.run.to_string()], writer.log().await[2..]);
    let mut late = server.connect().await;
    late.subscribe(writer.run, Some(0)).await;
    let all = late.entries(8).await;
    assert_eq!(all[0]["type"], "workflow:execution:started");
    assert_eq!(all[0]["at"], "1970-01-01T00:00:01.000Z");
    let end = &all[7];
    assert_eq!(end["type"], "workflow:execution:completed");
    assert_eq!((&end["status"], &end["data"]["output"]), (&json!("COMPLETED"), &json!("done")));
}

#[tokio::test]
async fn without_a_position_only_what_comes_is_said() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    writer.note(&["before"]).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    assert_eq!(client.subscribe(writer.run, None).await["seq"], 2);
    writer.note(&["after"]).await;
    assert_eq!(client.entries(1).await[0]["seq"], 3);
}

#[tokio::test]
async fn a_run_is_subscribed_to_by_its_short_name_and_snake_case_is_taken() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    let name = client.subscribe(writer.run, None).await["data"]["run_id"].clone();
    let mut other = server.connect().await;
    let data = json!({ "execution_id": name, "after": 0 });
    other.say(json!({ "type": "workflow:subscribe", "id": "mine", "data": data })).await;
    let subscribed = other.next().await.unwrap();
    assert_eq!(
        (&subscribed["type"], &subscribed["id"], &subscribed["execution_id"]),
        (&json!("workflow:subscribed"), &json!("mine"), &json!(writer.run))
    );
    writer.note(&["x"]).await;
    assert_eq!(other.entries(2).await[1]["seq"], 2);
}

#[tokio::test]
async fn a_connection_has_many_subscriptions_and_ends_them_one_by_one() {
    let folder = tempdir().unwrap();
    let paths = [folder.path().join("x.db"), folder.path().join("y.db")];
    let mut writers = Vec::new();
    for number in 0..6_u128 {
        writers.push(Writer::start(&open(&paths[usize::from(number % 2 == 0)]), number).await);
    }
    let server = Server::over(&paths).await;
    let mut client = server.connect().await;
    for writer in &writers {
        client.subscribe(writer.run, Some(1)).await;
    }
    let mut known = Known::default();
    for round in 0..5 {
        for writer in &mut writers {
            writer.note(&[&format!("{round}a"), &format!("{round}b")]).await;
        }
    }
    for said in client.entries(60).await {
        known.keep(&said);
    }
    for writer in &writers {
        assert_eq!(known.0[&writer.run.to_string()], writer.log().await[1..]);
    }
    let gone = writers[0].run;
    let data = json!({ "executionId": gone });
    client.say(json!({ "type": "workflow:unsubscribe", "data": data })).await;
    client.until(|said| said["type"] == "workflow:unsubscribed").await;
    for writer in &mut writers {
        writer.note(&["last"]).await;
    }
    let last = client.entries(5).await;
    assert!(last.iter().all(|said| said["execution_id"] != json!(gone)), "{last:?}");
}

#[tokio::test]
async fn what_can_not_be_done_is_said_and_the_connection_stays() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    let cases = [
        (
            json!({ "type": "workflow:subscribe", "id": 1, "data": { "executionId": run_id(9) } }),
            404,
        ),
        (
            json!({ "type": "workflow:subscribe", "id": 2, "data": { "executionId": "../../etc" } }),
            404,
        ),
        (
            json!({ "type": "workflow:subscribe", "id": 3, "data": { "executionId": writer.run, "after": 99 } }),
            422,
        ),
        (
            json!({ "type": "workflow:subscribe", "id": 7, "data": { "executionId": writer.run, "after": u64::MAX } }),
            422,
        ),
        (json!({ "type": "workflow:subscribe", "id": 4, "data": { "projectId": run_id(9) } }), 404),
        (json!({ "type": "workflow:cancel", "id": 5, "data": { "executionId": run_id(9) } }), 404),
        (json!({ "type": "workflow:nothing", "id": 6 }), 422),
        (json!(["no envelope"]), 400),
    ];
    for (said, status) in cases {
        client.say(said.clone()).await;
        let answer = client.next().await.unwrap();
        assert_eq!(
            (&answer["type"], &answer["data"]["status"]),
            (&json!("workflow:error"), &json!(status)),
            "{said}"
        );
        assert_eq!(answer.get("id"), said.get("id"), "{said}");
    }
    client.subscribe(writer.run, None).await;
    writer.note(&["x"]).await;
    assert_eq!(client.entries(1).await[0]["seq"], 2);
}

#[tokio::test]
async fn whoever_is_refused_another_place_keeps_the_subscription_that_it_has() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    client.subscribe(writer.run, Some(0)).await;
    assert_eq!(client.entries(1).await[0]["seq"], 1);
    for (seq, after) in [(2, 999_999), (3, u64::MAX)] {
        let data = json!({ "executionId": writer.run, "after": after });
        client.say(json!({ "type": "workflow:subscribe", "data": data })).await;
        assert_eq!(client.next().await.unwrap()["type"], "workflow:error");
        writer.note(&[&after.to_string()]).await;
        assert_eq!(client.entries(1).await[0]["seq"], seq, "it goes on where it was");
    }
}

#[tokio::test]
async fn a_run_is_cancelled_over_the_socket() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    let data = json!({ "executionId": writer.run, "reason": "enough" });
    client.say(json!({ "type": "workflow:cancel", "id": 1, "data": data })).await;
    let answer = client.next().await.unwrap();
    assert_eq!((&answer["id"], &answer["data"]["id"]), (&json!(1), &json!(writer.run)));
    let cancelled = server.house.cancelled.lock().unwrap();
    assert_eq!(*cancelled, [(writer.run, Some("enough".to_owned()))]);
}

#[tokio::test]
async fn a_run_that_another_process_drives_is_followed_like_our_own() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = open(&path);
    let server = Server::over(std::slice::from_ref(&path)).await;
    let mut client = server.connect().await;
    let own = Writer::start(&store, 1).await;
    client.subscribe(own.run, Some(0)).await;
    let mut child = drive(&path, 2, 40);
    let run = run_id(2);
    // It may not have been created yet.
    let mut known = Known::default();
    loop {
        let data = json!({ "executionId": run, "after": 0, "progress": false });
        client.say(json!({ "type": "workflow:subscribe", "data": data })).await;
        let said = client.until(|said| said["type"] != "workflow:execution:started").await;
        if said["type"] == "workflow:subscribed" {
            break;
        }
        tokio::task::yield_now().await;
    }
    while !known.keep(&client.next().await.unwrap()) {}
    assert!(child.wait().unwrap().success());
    assert_eq!(known.0[&run.to_string()], super::writer::log(&store, run).await);
}
