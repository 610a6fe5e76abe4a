//! Subscriptions to projects: how their runs stand, in whatever database they are.

use std::slice;

use agentos_core::time::Timestamp;
use agentos_store::place::Place;
use agentos_store::records::{Project, Records as _};
use agentos_store::sqlite::SqliteStore;
use serde_json::json;
use tempfile::tempdir;

use super::house::{PROJECT, Server};
use super::writer::{Writer, open};

async fn with_project(path: &std::path::Path) -> SqliteStore {
    let store = open(path);
    let project = Project {
        id: PROJECT,
        name: "project".to_owned(),
        path: path.display().to_string(),
        created_at: Timestamp(1_000),
        updated_at: Timestamp(1_000),
    };
    store.put_project(project).await.unwrap();
    store
}

#[tokio::test]
async fn a_projects_runs_are_heard_of_also_in_databases_that_come_later() {
    let folder = tempdir().unwrap();
    let paths = [folder.path().join("x.db"), folder.path().join("y.db")];
    let store = with_project(&paths[0]).await;
    let place = || Place { project: Some(PROJECT), ..Place::default() };
    let mut first = Writer::start_at(&store, 1, place()).await;
    let server = Server::over(slice::from_ref(&paths[0])).await;
    let mut client = server.connect().await;
    client
        .say(json!({ "type": "workflow:subscribe", "id": 1, "data": { "projectId": PROJECT } }))
        .await;
    let said = client.next().await.unwrap();
    assert_eq!(
        (&said["type"], &said["data"]["name"]),
        (&json!("workflow:subscribed"), &json!("project"))
    );

    first.note(&["x"]).await;
    let said = client.next().await.unwrap();
    assert_eq!(
        (&said["type"], &said["project_id"]),
        (&json!("workflow:execution:updated"), &json!(PROJECT))
    );
    assert_eq!((&said["execution_id"], &said["data"]["seq"]), (&json!(first.run), &json!(2)));

    // Not of this project.
    Writer::start(&store, 2).await;
    let second = Writer::start_at(&store, 3, place()).await;
    let said = client.next().await.unwrap();
    assert_eq!(
        (&said["type"], &said["execution_id"]),
        (&json!("workflow:execution:started"), &json!(second.run))
    );

    let other = with_project(&paths[1]).await;
    server.house.serve(&paths);
    let said = client.next().await.unwrap();
    assert_eq!(
        (&said["type"], &said["project_id"]),
        (&json!("workflow:catchup"), &json!(PROJECT)),
        "the list has to be loaded again"
    );
    let mut third = Writer::start_at(&other, 4, place()).await;
    third.end().await;
    let said = client
        .until(|said| said["execution_id"] == json!(third.run) && said["status"] == "COMPLETED")
        .await;
    assert_eq!(said["type"], "workflow:execution:completed");

    client.say(json!({ "type": "workflow:unsubscribe", "data": { "projectId": PROJECT } })).await;
    client.until(|said| said["type"] == "workflow:unsubscribed").await;
    first.note(&["y"]).await;
    client.subscribe(first.run, None).await;
    first.note(&["z"]).await;
    assert_eq!(client.next().await.unwrap()["entry"], "signal.arrived", "only the run is left");
}
