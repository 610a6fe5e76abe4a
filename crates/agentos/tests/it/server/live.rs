//! Following runs of the real server: over a WebSocket, as events, and their logs.

use std::net::TcpStream;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use super::deeds::{lives, slow};
use super::stage::{Server, id};
use crate::support::{Gated, Stand, TIMEOUT, wait_until};

/// A client with a WebSocket.
struct Client(WebSocket<TcpStream>);

impl Client {
    fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(&server.address).expect("somebody listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
        let url = format!("ws://{}/ws", server.address);
        Self(tungstenite::client(url, stream).expect("it speaks WebSocket").0)
    }

    fn say(&mut self, said: &Value) {
        self.0.send(Message::Text(said.to_string().into())).expect("it listens");
    }

    fn subscribe(&mut self, run: &str, after: u64) {
        let data = json!({ "executionId": run, "after": after });
        self.say(&json!({ "type": "workflow:subscribe", "data": data }));
    }

    /// The next message; none if the connection is gone.
    fn next(&mut self) -> Option<Value> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).ok(),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Reads until a run has ended: positions and kinds of its entries.
    fn follow(&mut self, run: &str, known: &mut Vec<(u64, String)>) -> bool {
        while let Some(said) = self.next() {
            if let (Some(seq), Some(kind)) = (said["seq"].as_u64(), said["entry"].as_str())
                && said["execution_id"] == run
            {
                known.push((seq, kind.to_owned()));
                if kind == "run.ended" {
                    return true;
                }
            }
        }
        false
    }
}

fn log(server: &Server, run: &str) -> Vec<(u64, String)> {
    let page = server.get(&format!("/api/executions/{run}/events?limit=1000")).is(200).json();
    assert_eq!(page["next"], Value::Null, "all of it is on one page");
    let items = page["items"].as_array().expect("a list").iter();
    items
        .map(|item| {
            (
                item["seq"].as_u64().expect("a number"),
                item["kind"].as_str().expect("a number").to_owned(),
            )
        })
        .collect()
}

#[test]
fn cancelling_over_the_socket_ends_a_run_with_its_processes() {
    let (stand, root) = Stand::with_repository();
    let seconds = slow(&root);
    let server = Server::start(&stand, &root);
    let mut client = Client::connect(&server);
    let run = id(&server.execute("slow", &json!({})));
    client.subscribe(&run, 0);
    wait_until("its command runs", || lives(&seconds));
    client
        .say(&json!({ "type": "workflow:cancel", "id": "stop", "data": { "execution_id": run } }));
    let (mut answered, mut ended) = (false, None);
    while !answered || ended.is_none() {
        let said = client.next().expect("the connection stays");
        answered |= said["id"] == "stop" && said["data"]["status"] == "CANCELLED";
        if said["type"] == "workflow:step:updated" {
            assert_eq!(said["current_workflow_step_id"], said["data"]["id"]);
        }
        if said["type"] == "workflow:execution:completed" {
            ended = Some(said["status"].clone());
        }
    }
    assert_eq!(ended, Some(json!("CANCELLED")));
    assert!(!lives(&seconds), "no process is left");
    server.stop();
}

#[test]
fn whoever_follows_comes_back_after_the_server_was_killed_and_misses_nothing() {
    let (stand, root) = Stand::with_repository();
    let gates: Vec<Gated> =
        (0..3).map(|number| Gated::new(&stand, &root, &format!("counted-{number}"))).collect();
    let mut server = Server::start(&stand, &root);
    let runs: Vec<String> = gates
        .iter()
        .map(|gate| id(&server.execute("gated", &json!({ "file": gate.file() }))))
        .collect();
    let mut known: Vec<Vec<(u64, String)>> = vec![Vec::new(); runs.len()];
    for number in 1..=2 {
        let mut clients: Vec<Client> = runs.iter().map(|_| Client::connect(&server)).collect();
        for ((client, run), known) in clients.iter_mut().zip(&runs).zip(&known) {
            client.subscribe(run, known.last().map_or(0, |(seq, _)| *seq));
        }
        gates.iter().for_each(|gate| gate.wait_until_counted(number));
        server.kill();
        for ((client, run), known) in clients.iter_mut().zip(&runs).zip(&mut known) {
            client.follow(run, known);
        }
        server = Server::start(&stand, &root);
        gates.iter().for_each(|gate| gate.go_on_from(number));
    }
    for (gate, number) in gates.iter().flat_map(|gate| [3, 4].map(|number| (gate, number))) {
        gate.go_on_from(number);
    }
    for (run, known) in runs.iter().zip(&mut known) {
        assert!(known.iter().all(|(_, kind)| kind != "run.ended"), "{run} was at work");
        let mut client = Client::connect(&server);
        client.subscribe(run, known.last().map_or(0, |(seq, _)| *seq));
        assert!(client.follow(run, known), "{run} goes on to its end");
        assert_eq!(*known, log(&server, run), "every entry once, in order");
    }
    server.stop();
}

#[test]
fn a_run_in_a_terminal_is_followed_and_the_project_hears_of_it() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let mut client = Client::connect(&server);
    let project = server.project();
    client.say(&json!({ "type": "workflow:subscribe", "data": { "projectId": project } }));
    assert_eq!(client.next().unwrap()["type"], "workflow:subscribed");
    let mut theirs = stand.call(&root, &["run", "greet", "--name", "Ada"]).start();
    let run = loop {
        let said = client.next().expect("the connection stays");
        if said["type"] == "workflow:execution:completed" {
            assert_eq!(
                (&said["project_id"], &said["status"]),
                (&json!(project), &json!("COMPLETED"))
            );
            break said["execution_id"].as_str().unwrap().to_owned();
        }
    };
    wait_until("theirs ends", || theirs.has_ended().is_some());
    let mut known = Vec::new();
    client.subscribe(&run, 0);
    assert!(client.follow(&run, &mut known));
    assert_eq!(known, log(&server, &run));
    server.stop();
}

#[test]
fn events_and_logs_of_a_run_are_streamed_to_its_end() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let file = stand.at("counted");
    let run = id(&server.execute("count", &json!({ "file": file, "steps": 3, "pause": 50 })));
    let path = format!("/api/executions/{run}/events");
    let stream = server.send("GET", &path, &[("accept", "text/event-stream")], b"").is(200);
    assert_eq!(stream.header("content-type"), "text/event-stream");
    let text = String::from_utf8(stream.body).unwrap();
    let ids: Vec<u64> =
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    let all: Vec<u64> = log(&server, &run).into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(ids, all);
    let last = all.last().unwrap().to_string();
    let headers = [("accept", "text/event-stream"), ("last-event-id", last.as_str())];
    server.send("GET", &path, &headers, b"").is(204);

    let logs = format!("/api/executions/{run}/logs");
    let page = server.get(&logs).is(200).json();
    let followed = server.send("GET", &format!("{logs}?follow=true"), &[], b"").is(200);
    let said: Vec<Value> = String::from_utf8(followed.body)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(json!(said), page["items"]);
    server.get(&format!("{logs}?level=loud")).is(400);
    server.get(&format!("{logs}?stepId=00000000-0000-0000-0000-000000000000")).is(404);
    server.stop();
}
