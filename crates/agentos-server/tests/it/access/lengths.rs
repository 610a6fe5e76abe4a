//! Bodies and heads that are too large, never end, or lie about how long they are.

use std::io::Write as _;

use super::stage::{Answer, Stage, TIMEOUT, until_closed};
use agentos_server::listen::Limits;

#[test]
fn a_body_of_a_gigabyte_is_refused_before_it_is_read() {
    let stage = Stage::new();
    // Not a byte of it is sent, and the answer comes all the same.
    let text = stage.request("POST /api/deed", &[("content-length", "1073741824")], "");
    let answer = Answer::parse(&stage.say(text));
    answer.assert_problem("body-too-large");
    assert!(answer.body.contains("an `input` may have 4 MB"), "{}", answer.body);
    assert_eq!(stage.deeds(), 0);
}

#[test]
fn a_body_without_an_end_is_refused_when_it_is_too_large() {
    let stage = Stage::new();
    let mut stream = stage.connect();
    let head = stage.request("POST /api/deed", &[("transfer-encoding", "chunked")], "");
    stream.write_all(head.as_bytes()).unwrap();
    let mut chunk = format!("{:x}\r\n", 64 << 10).into_bytes();
    chunk.extend(vec![b'x'; 64 << 10]);
    chunk.extend(b"\r\n");
    // A gigabyte, if it was taken.
    let taken = (0..16 << 10).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    assert!(taken < 1 << 10, "the server took {taken} pieces of 64 kB");
    // What was answered may be lost with the connection, since we did not stop to listen.
    let said = until_closed(&mut stream);
    if !said.is_empty() {
        Answer::parse(&said).assert_problem("body-too-large");
    }
    assert_eq!(stage.deeds(), 0);
    assert_eq!(stage.ask("GET /api/look", &[]).status, 200, "nobody else noticed");
}

#[test]
fn the_largest_body_that_fits_is_taken() {
    let stage = Stage::new();
    let body = "x".repeat(16 << 20);
    let answer = Answer::parse(&stage.say(stage.request("POST /api/deed", &[], &body)));
    assert_eq!((answer.status, answer.body.as_str()), (200, "16777216"));
    let answer = Answer::parse(&stage.say(stage.request("POST /api/deed", &[], &(body + "x"))));
    answer.assert_problem("body-too-large");
}

#[test]
fn a_body_that_is_shorter_than_it_said_is_not_waited_for_without_end() {
    let limits = Limits { body_idle: std::time::Duration::from_millis(200), ..Limits::default() };
    let stage = Stage::with(limits);
    let text = stage.request("POST /api/deed", &[("content-length", "100")], "") + "only this";
    let said = stage.say(text);
    assert!(Answer::parse(&said).status >= 400, "{said}");
    assert_eq!(stage.deeds(), 0);
}

#[test]
fn what_follows_a_body_that_was_longer_than_it_said_is_no_answer_to_anybody() {
    let stage = Stage::new();
    let text = stage.request("POST /api/deed", &[("content-length", "3")], "")
        + "abcGET /api/look HTTP/1.1\r\nhost: evil.example\r\n\r\n";
    let said = stage.say(text);
    assert_eq!(Answer::parse(&said).status, 200);
    assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
    assert_eq!((stage.deeds(), stage.looks()), (1, 0));
}

#[test]
fn a_second_request_is_not_smuggled_in_by_two_lengths() {
    let stage = Stage::new();
    let port = stage.port();
    let hidden = format!("DELETE /api/thing HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n");
    let length = 5 + hidden.len();
    // Without `connection: close`: the connection would be used again.
    let head = format!("POST /api/deed HTTP/1.1\r\nhost: localhost:{port}\r\n");
    let variants = [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n"),
        format!("content-length: {length}\r\nTransfer-Encoding: xchunked\r\n"),
        format!("content-length: {length}\r\nTransfer-Encoding: chunked, identity\r\n"),
        format!("content-length: {length}\r\ncontent-length: 5\r\n"),
        format!("content-length: 5, {length}\r\n"),
        "content-length: +5\r\n".to_owned(),
        format!("content-length: {length}\r\nTransfer-Encoding : chunked\r\n"),
        format!(
            "content-length: {length}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"
        ),
    ];
    for lengths in variants {
        let said = stage.say(format!("{head}{lengths}\r\n0\r\n\r\n{hidden}"));
        assert!(!said.contains("gone"), "{lengths}: {said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{lengths}: {said}");
    }
}

#[test]
fn heads_that_are_too_large_are_refused_and_closed() {
    let stage = Stage::new();
    let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    let bombs = [
        format!("GET /api/look HTTP/1.1\r\n{many}\r\n"),
        format!("GET /api/look HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 20)),
        format!("GET /{} HTTP/1.1\r\n\r\n", "y".repeat(1 << 20)),
        "y".repeat(1 << 20),
    ];
    for bomb in bombs {
        let said = stage.say(&bomb);
        // It may be cut off while it is still being sent.
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
        assert!(!said.contains("200 OK"), "{said}");
    }
    assert_eq!(stage.looks(), 0);
    assert_eq!(stage.ask("GET /api/look", &[]).status, 200);
}

#[test]
fn what_is_no_http_at_all_is_closed() {
    let stage = Stage::new();
    for noise in [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /api/look\r\n\r\n",
    ] {
        let mut stream = stage.connect();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(noise).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let said = until_closed(&mut stream);
        assert!(!said.contains("200 OK"), "{said}");
    }
    assert_eq!(stage.looks(), 0);
}
