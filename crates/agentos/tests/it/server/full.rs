//! A server whose database is on a disk that is full: a small file system in a namespace of mounts, which goes with its
//! holder.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::stage::{Server, id};
use crate::support::{Call, Process, Stand};

/// Somebody who holds a file system of a few megabytes.
struct SmallDisk {
    holder: Process,
    place: PathBuf,
}

impl SmallDisk {
    fn new(stand: &Stand) -> Self {
        let place = stand.folder("small");
        let script = format!(
            "mount -t tmpfs -o size=8m none {} && echo mounted && exec sleep 1000",
            place.display()
        );
        let unshare = Path::new("/usr/bin/unshare");
        let call = stand.call_program(unshare, &place, &["-rm", "sh", "-c", &script]);
        let mut holder = call.start();
        let mut said = String::new();
        let out = holder.child().stdout.take().expect("it can be read");
        BufReader::new(out).read_line(&mut said).expect("it can be read");
        assert_eq!(said, "mounted\n", "a file system can be mounted in a namespace of one's own");
        Self { holder, place }
    }

    /// A program where that disk is seen.
    fn call(&mut self, stand: &Stand, folder: &Path, words: &[&str]) -> Call {
        let pid = self.holder.pid().to_string();
        let there = format!("--wd={}", folder.display());
        let enter = [&*there, "-t", &pid, "-U", "-m", "--preserve-credentials", "--"];
        stand.call_program(Path::new("/usr/bin/nsenter"), folder, &[&enter[..], words].concat())
    }
}

#[test]
fn a_run_for_which_there_is_no_room_is_not_started_until_there_is() {
    let (stand, root) = Stand::with_repository();
    let mut disk = SmallDisk::new(&stand);
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
