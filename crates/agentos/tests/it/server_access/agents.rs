//! Processes that a run has started.

use std::path::Path;

use serde_json::json;

use crate::server::stage::{Server, id};
use crate::support::{Stand, wait_until};

/// What every process of a run has in its environment.
const MARK: &str = "AGENTOS_OPERATION";

#[test]
fn what_a_run_has_started_makes_no_tokens() {
    let (stand, root) = Stand::with_repository();
    let arguments = ["token", "create", "--name", "mine", "--scope", "admin"];
    stand.call(&root, &arguments).env(MARK, "abc").done().exits(4);
    let list = stand.run(&root, &["token", "list", "--json"]).exits(0).document();
    assert_eq!(list["total"], 0);
}

#[test]
fn what_a_run_has_started_does_not_approve_by_the_server() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("ask", &json!({})));
    wait_until("it asks", || {
        server.get(&format!("/api/executions/{run}")).json()["waiting"]["kind"] == "approval"
    });
    let port = server.address.rsplit(':').next().unwrap();
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; \
         printf 'POST /api/executions/{run}/approve HTTP/1.1\\r\\nhost: localhost:{port}\\r\\n\
         connection: close\\r\\ncontent-type: application/json\\r\\ncontent-length: 18\\r\\n\\r\\n{{\"approved\": true}}' >&3; \
         cat <&3"
    );
    let approve = |mark: Option<&str>| {
        let call = stand.call_program(Path::new("/bin/bash"), &root, &["-c", &script]);
        let call = match mark {
            Some(mark) => call.env(MARK, mark),
            None => call,
        };
        call.done().exits(0).out
    };
    let refused = approve(Some("abc"));
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(refused.contains("a process that a run has started"), "{refused}");
    // Its children do not carry the mark if it does not want them to; whoever started them does.
    let hidden = format!("env -u {MARK} bash -c '{}'", script.replace('\'', "'\\''"));
    let call = stand.call_program(Path::new("/bin/bash"), &root, &["-c", &format!("{hidden}; :")]);
    let hidden = call.env(MARK, "abc").done().exits(0).out;
    assert!(hidden.starts_with("HTTP/1.1 403"), "{hidden}");
    let waits = server.get(&format!("/api/executions/{run}")).json();
    assert_eq!(waits["waiting"]["kind"], "approval", "{waits}");
    let allowed = approve(None);
    assert!(allowed.starts_with("HTTP/1.1 200"), "{allowed}");
    server.stop();
}
