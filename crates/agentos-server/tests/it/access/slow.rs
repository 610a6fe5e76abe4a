//! Clients that take their time.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use agentos_server::listen::Limits;

use super::stage::{Answer, Stage, eventually, until_closed};

fn hasty() -> Limits {
    Limits {
        header_time: Duration::from_millis(300),
        body_idle: Duration::from_millis(300),
        write_stall: Duration::from_millis(300),
        request_time: Duration::from_secs(2),
        ..Limits::default()
    }
}

#[test]
fn a_head_that_never_ends_is_cut_off_and_nobody_else_waits_for_it() {
    let stage = Stage::with(hasty());
    let mut slow: Vec<_> = (0..50).map(|_| stage.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /api/look HTTP/1.1\r\nhost: local").unwrap();
    }
    assert_eq!(stage.ask("GET /api/look", &[]).status, 200);
    for stream in &mut slow {
        let said = until_closed(stream);
        assert!(!said.contains("200 OK"), "{said}");
    }
    assert_eq!(stage.looks(), 1);
}

#[test]
fn a_head_that_comes_letter_by_letter_is_cut_off_too() {
    let stage = Stage::with(hasty());
    let mut stream = stage.connect();
    // Each letter is in time, all of them are not.
    let mut sent = 0;
    eventually("it is cut off", || {
        sent += 1;
        stream.write_all(b"x").is_err() || sent > 1_000
    });
    assert!(sent < 1_000);
}

#[test]
fn a_body_that_pauses_too_long_is_given_up() {
    let stage = Stage::with(hasty());
    let mut stream = stage.connect();
    let head = stage.request("POST /api/deed", &[("content-length", "1000")], "");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"the beginning").unwrap();
    let said = until_closed(&mut stream);
    assert!(Answer::parse(&said).status >= 400, "{said}");
    assert_eq!(stage.deeds(), 0);
}

#[test]
fn bodies_that_trickle_hold_up_nobody_who_sends_none_and_are_given_up() {
    let limits = Limits {
        requests: 2,
        body_idle: Duration::from_secs(60),
        body_time: Duration::from_secs(1),
        request_time: Duration::from_secs(60),
        ..Limits::default()
    };
    let stage = Stage::with(limits);
    let mut slow: Vec<_> = (0..8).map(|_| stage.connect()).collect();
    let head = stage.request("POST /api/deed", &[("content-length", "1000")], "");
    for stream in &mut slow {
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"the beginning").unwrap();
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
    let stage = Stage::with(hasty());
    stage.ask("POST /api/slow", &[("content-length", "0")]).assert_problem("too-slow");
}

#[test]
fn whoever_does_not_read_the_answer_is_cut_off() {
    // There is place for one, so that it shows when that one is gone.
    let stage = Stage::with(Limits { connections_per_peer: 1, ..hasty() });
    let mut stream = stage.connect();
    stream.write_all(stage.request("GET /api/flood", &[], "").as_bytes()).unwrap();
    eventually("it begins", || stage.looks() > 0);
    eventually("it is cut off", || {
        stage.say(stage.request("GET /", &[], "")).starts_with("HTTP/1.1 200")
    });
    assert!(stage.looks() < 256, "all of it was taken, by nobody");
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes);
    assert!(bytes.len() < 256 << 20);
}
