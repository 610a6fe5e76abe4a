//! Clients that do not wait for their answer, and clients that wait for long: neither is in anybody's way.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::{Stand, wait_until};

/// Sends a request, and leaves the answer to whoever has the connection.
fn post(server: &Server, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).expect("somebody listens");
    let (host, body) = (&server.address, body.to_string());
    let length = body.len();
    let text = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).expect("it reads");
    stream
}

#[test]
fn a_project_whose_client_has_hung_up_is_driven_all_the_same() {
    let (stand, root) = Stand::with_repository();
    let plain = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "plain", workspace: "none" }, async (ctx) => "hello");"#;
    let other = stand.repository("another");
    template(&other, "plain", plain);
    let server = Server::start(&stand, &root);
    // Whoever is too fast is not heard at all.
    wait_until("it is served", || {
        drop(post(&server, "/api/projects", &json!({ "path": other })));
        server.get("/api/projects").is(200).json()["total"] == 2
    });
    let run = id(&server.execute("plain", &json!({})));
    server.until_status(&run, "COMPLETED");
    server.stop();
}

#[test]
fn runs_are_shown_while_many_wait_for_the_end_of_a_run() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let mut driver = stand.call(&root, &["run", "listen"]).start();
    let mut run = String::new();
    wait_until("it waits", || {
        let all = server.get("/api/executions?waiting=signal").is(200).json();
        run = all["items"][0]["id"].as_str().unwrap_or_default().to_owned();
        !run.is_empty()
    });
    // Whoever drives it hears nothing, so it can't end.
    driver.stand_still(&root.join(".agentos/issue_workflow.db"));
    let path = format!("/api/executions/{run}/cancel");
    let waiting: Vec<TcpStream> = (0..17).map(|_| post(&server, &path, &json!({}))).collect();
    for _ in 0..3 {
        server.get(&format!("/api/executions/{run}")).is(200);
    }
    for stream in &waiting {
        stream.set_nonblocking(true).expect("a socket");
        let answered = stream.peek(&mut [0]);
        assert!(answered.is_err(), "the others were shown it only after this one was answered");
        stream.set_nonblocking(false).expect("a socket");
    }
    driver.send(Signal::CONT);
    for mut stream in waiting {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("CANCELLED"), "{answer}");
    }
    driver.done();
    server.stop();
}
