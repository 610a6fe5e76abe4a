//! The end: nobody comes in any more, and whoever is inside may finish.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use agentos_server::listen::Limits;
use agentos_testing::wait::wait_until;

use super::stage::{Answer, Stage, until_closed};

#[test]
fn requests_under_way_are_answered_and_streams_come_to_their_end() {
    let stage = Stage::new();
    let (mut request, mut stream) = (stage.connect(), stage.connect());
    request.write_all(stage.request("POST /api/slow", &[], "wait").as_bytes()).unwrap();
    stream.write_all(stage.request("GET /api/stream", &[], "").as_bytes()).unwrap();
    let idle = stage.connect();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    wait_until("it is under way", || stage.looks() == 1);
    stage.stop();
    assert!(until_closed(&mut request).ends_with("in the end"));
    let streamed = until_closed(&mut stream);
    assert!(streamed.ends_with("\r\n0\r\n\r\n"), "it ends as a stream does: {streamed}");
    stage.wait_for_end();
    drop(idle);
    assert!(TcpStream::connect(stage.address).is_err());
}

#[test]
fn whoever_does_not_come_to_an_end_is_cut_off() {
    let limits = Limits { stop_time: Duration::from_millis(300), ..Limits::default() };
    let stage = Stage::with(limits);
    let mut stream = stage.connect();
    let never = stage.request("POST /api/slow", &[("content-length", "0")], "");
    stream.write_all(never.as_bytes()).unwrap();
    wait_until("it is under way", || stage.looks() == 1);
    stage.stop();
    stage.wait_for_end();
    assert_eq!(until_closed(&mut stream), "");
}

#[test]
fn a_connection_is_used_for_many_requests() {
    let stage = Stage::new();
    let mut stream = stage.connect();
    let one = stage.request("GET /api/look", &[], "").replace("connection: close\r\n", "");
    let last = stage.request("GET /api/look", &[], "");
    stream.write_all(format!("{one}{one}{last}").as_bytes()).unwrap();
    let said = until_closed(&mut stream);
    assert_eq!(said.matches("HTTP/1.1 200").count(), 3, "{said}");
    assert_eq!(Answer::parse(&said).status, 200);
}
