//! A server whose database is on a disk that is full.

use serde_json::json;

use super::stage::{Server, id};
use crate::small_disk::SmallDisk;
use crate::support::Stand;

#[test]
fn a_run_for_which_there_is_no_room_is_not_started_until_there_is() {
    let (stand, root) = Stand::with_repository();
    let mut disk = SmallDisk::new(&stand, "size=8m");
    let database = disk.place.join("runs.db");
    let program = crate::support::workshop();
    let program = program.to_str().expect("a path");
    let serve = disk.call(&stand, &root, &[program, "serve", "--port", "0"]);
    let server = Server::of(serve.env("AGENTOS_WORKFLOW_DB", &database));
    let body = json!({ "input": { "name": "A".repeat(400_000) } });
    let first = server.post("/api/workflows/greet/execute", &body).is(201).json();
    server.until_status(&id(&first), "COMPLETED");
    let rest = disk.place.join("rest");
    let fill = format!("cat /dev/zero > {}", rest.display());
    disk.call(&stand, &root, &["sh", "-c", &fill]).done();
    let full = server.post("/api/workflows/greet/execute", &body).refuses("disk-full");
    assert!(full["hint"].as_str().is_some_and(|hint| hint.contains("room")), "{full}");
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 1, "nothing was started");
    let words = ["rm", rest.to_str().expect("a path")];
    disk.call(&stand, &root, &words).done().exits(0);
    let second = server.post("/api/workflows/greet/execute", &body).is(201).json();
    server.until_status(&id(&second), "COMPLETED");
    server.stop();
}
