//! Too many at once.

use std::io::{Read as _, Write as _};

use agentos_server::listen::Limits;
use agentos_testing::wait::wait_until;

use super::stage::{Answer, Stage, TIMEOUT, until_closed};

#[test]
fn whoever_finds_no_place_is_told_so_and_a_place_that_is_left_is_free_again() {
    let stage = Stage::with(Limits { connections_per_peer: 3, ..Limits::default() });
    let mut open: Vec<_> = (0..3).map(|_| stage.connect()).collect();
    for stream in &mut open {
        let request = stage.request("GET /api/look", &[], "").replace("connection: close\r\n", "");
        stream.write_all(request.as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    let said = until_closed(&mut stage.connect());
    let answer = Answer::parse(&said);
    assert_eq!(answer.status, 503, "{said}");
    let told: serde_json::Value = serde_json::from_str(&answer.body).expect("all of a document");
    assert_eq!(told["type"], "urn:agentos:problem:busy", "{said}");
    assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    drop(open.pop());
    wait_until("the place is free", || {
        stage.say(stage.request("GET /api/look", &[], "")).starts_with("HTTP/1.1 200")
    });
}

#[test]
fn requests_beyond_the_limit_wait_and_then_it_was_too_long() {
    let limits = Limits {
        requests: 1,
        request_time: std::time::Duration::from_secs(1),
        ..Limits::default()
    };
    let stage = Stage::with(limits);
    let mut first = stage.connect();
    let request = stage.request("POST /api/slow", &[("content-length", "0")], "");
    first.write_all(request.as_bytes()).unwrap();
    wait_until("it is under way", || stage.looks() == 1);
    let started = stage.ask("GET /api/look", &[]);
    assert!([200, 408].contains(&started.status), "{started:?}");
    Answer::parse(&until_closed(&mut first)).assert_problem("too-slow");
    // Each may be too slow by itself on a busy machine.
    wait_until("others are answered", || stage.ask("GET /api/look", &[]).status == 200);
}

#[test]
fn hundreds_of_connections_are_open_at_once() {
    // The last of them says nothing until all others have been answered.
    let stage = Stage::with(Limits { header_time: TIMEOUT, ..Limits::default() });
    let open: Vec<_> = (0..300).map(|_| stage.connect()).collect();
    let answers = open.into_iter().map(|mut stream| {
        stream.write_all(stage.request("GET /api/look", &[], "").as_bytes()).unwrap();
        Answer::parse(&until_closed(&mut stream)).status
    });
    assert!(answers.into_iter().all(|status| status == 200));
    assert_eq!(stage.looks(), 300);
}
