//! A database that another program has locked: its own project's deeds wait, and nobody else does.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::http::{self, Request};
use super::stage::{Server, id};
use crate::support::{Stand, wait_until};

/// More than are worked on at once.
const MANY: usize = 40;

/// A program that holds the database until its input ends.
struct Lock(Child);

impl Lock {
    fn on(database: &Path) -> Self {
        let script = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1],isolation_level=None); \
            c.execute('BEGIN IMMEDIATE'); print('locked',flush=True); sys.stdin.read(); c.execute('ROLLBACK')";
        #[expect(clippy::disallowed_methods, reason = "a test waits for what it has started")]
        let mut child = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut said = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut said).expect("it speaks");
        assert_eq!(said.trim(), "locked");
        Self(child)
    }

    fn release(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("it ends").success());
    }
}

/// A run in this project that waits for a signal.
fn listening(server: &Server, project: &str) -> String {
    let body = json!({ "input": {}, "projectId": project });
    let run = id(&server.post("/api/workflows/listen/execute", &body).is(201).json());
    wait_until("it waits", || {
        server.get(&format!("/api/executions/{run}")).json()["waiting"]["kind"] == "signal"
    });
    run
}

#[test]
fn a_database_that_is_locked_is_in_the_way_of_its_own_projects_deeds_only() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    let server = Server::start(&stand, &root);
    let here = server.project();
    let there = id(&server.post("/api/projects", &json!({ "path": other })).is(201).json());
    let (held, free) = (listening(&server, &here), listening(&server, &there));
    let lock = Lock::on(&root.join(".agentos/issue_workflow.db"));
    let waiting: Vec<_> = (0..MANY)
        .map(|number| {
            let (address, path) =
                (server.address.clone(), format!("/api/executions/{held}/comments"));
            thread::spawn(move || {
                let body = json!({ "message": format!("remark {number}") }).to_string();
                let headers = &[("content-type", "application/json")];
                let (path, body) = (&path, body.as_bytes());
                http::send(&address, Request { method: "POST", path, headers, body }).status
            })
        })
        .collect();
    // Whoever looks is not held up, nor is whoever does something elsewhere.
    let shown = server.get(&format!("/api/executions/{held}")).is(200).json();
    assert_eq!(shown["comments"], json!([]), "nothing was written yet");
    server.get("/api/workspaces").is(200);
    let remark = json!({ "message": "all is well here" });
    server.post(&format!("/api/executions/{free}/comments"), &remark).is(200);
    let ended = server.post(&format!("/api/executions/{free}/cancel"), &json!({})).is(200).json();
    assert_eq!(ended["status"], "CANCELLED");
    assert!(waiting.iter().all(|one| !one.is_finished()), "the database is locked all the time");
    lock.release();
    for one in waiting {
        assert_eq!(one.join().expect("an answer"), 200);
    }
    let shown: Value = server.get(&format!("/api/executions/{held}")).is(200).json();
    assert_eq!(shown["comments"].as_array().map(Vec::len), Some(MANY));
    server.stop();
}
