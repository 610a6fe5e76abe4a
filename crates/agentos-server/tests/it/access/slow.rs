//! Clients that take their time.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use agentos_server::listen::Limits;
use agentos_testing::wait::wait_until;

use super::stage::{Answer, Stage, TIMEOUT, until_closed};

/// How long a client may take where it is to be cut off.
const SHORT: Duration = Duration::from_millis(300);

/// No client is cut off, however busy the machine is.
fn patient() -> Limits {
    Limits {
        header_time: TIMEOUT,
        body_idle: TIMEOUT,
        body_time: TIMEOUT,
        write_stall: TIMEOUT,
        request_time: TIMEOUT,
        ..Limits::default()
    }
}

#[test]
fn a_head_that_never_ends_is_cut_off_and_nobody_else_waits_for_it() {
    let stage = Stage::with(Limits { header_time: SHORT, ..patient() });
    let mut slow: Vec<_> = (0..50).map(|_| stage.connect()).collect();
    for stream in &mut slow {
        // On a busy machine it may be cut off already.
        let _sent = stream.write_all(b"GET /api/look HTTP/1.1\r\nhost: local");
    }
    // A client that asks properly may wait too, before its request is sent.
    wait_until("another client is answered", || {
        stage.say(stage.request("GET /api/look", &[], "")).starts_with("HTTP/1.1 200")
    });
    for stream in &mut slow {
        let said = until_closed(stream);
        assert!(!said.contains("200 OK"), "{said}");
    }
    assert_eq!(stage.looks(), 1);
}

#[test]
fn a_head_that_comes_letter_by_letter_is_cut_off_too() {
    let stage = Stage::with(Limits { header_time: SHORT, ..patient() });
    let mut stream = stage.connect();
    // Each letter is in time, all of them are not.
    wait_until("it is cut off", || stream.write_all(b"x").is_err());
}

#[test]
fn a_body_that_pauses_too_long_is_given_up() {
    let stage = Stage::with(Limits { body_idle: SHORT, ..patient() });
    let mut stream = stage.connect();
    let head = stage.request("POST /api/deed", &[("content-length", "1000")], "");
    stream.write_all(format!("{head}the beginning").as_bytes()).unwrap();
    let said = until_closed(&mut stream);
    assert!(Answer::parse(&said).status >= 400, "{said}");
    assert_eq!(stage.deeds(), 0);
}

#[test]
fn bodies_that_trickle_hold_up_nobody_who_sends_none_and_are_given_up() {
    let limits = Limits { requests: 2, body_time: SHORT, ..patient() };
    let stage = Stage::with(limits);
    let mut slow: Vec<_> = (0..8).map(|_| stage.connect()).collect();
    let head = stage.request("POST /api/deed", &[("content-length", "1000")], "");
    for stream in &mut slow {
        stream.write_all(format!("{head}the beginning").as_bytes()).unwrap();
    }
    assert_eq!(stage.ask("GET /api/look", &[]).status, 200);
    for stream in &mut slow {
        let said = until_closed(stream);
        assert!(Answer::parse(&said).status >= 400, "{said}");
    }
    assert_eq!((stage.deeds(), stage.looks()), (0, 1));
}

#[test]
fn an_answer_that_does_not_begin_in_time_is_a_problem() {
    let stage = Stage::with(Limits { request_time: SHORT, ..patient() });
    stage.ask("POST /api/slow", &[("content-length", "0")]).assert_problem("too-slow");
}

#[test]
fn whoever_does_not_read_the_answer_is_cut_off() {
    // There is place for one, so that it shows when that one is gone.
    let limits = Limits { connections_per_peer: 1, write_stall: SHORT, ..patient() };
    let stage = Stage::with(limits);
    let mut stream = stage.connect();
    stream.write_all(stage.request("GET /api/flood", &[], "").as_bytes()).unwrap();
    wait_until("it begins", || stage.looks() > 0);
    wait_until("it is cut off", || {
        stage.say(stage.request("GET /", &[], "")).starts_with("HTTP/1.1 200")
    });
    assert!(stage.looks() < 256, "all of it was taken, by nobody");
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes);
    assert!(bytes.len() < 256 << 20);
}
