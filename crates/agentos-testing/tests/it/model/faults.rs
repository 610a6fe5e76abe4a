//! What goes wrong on purpose, as it looks on the wire.

use agentos_testing::model::{Exchange, Fault, ModelServer, Scenario, Turn};
use agentos_testing::wait::wait_until;
use serde_json::json;

use super::client::{Answer, Ask, SHORT_TIMEOUT, TIMEOUT, prompts};

fn failing(fault: Fault) -> ModelServer {
    let exchange = Exchange::new([Turn::failing(fault)]);
    ModelServer::start(Scenario::new(exchange)).expect("a server")
}

/// What each dialect gets to see of a fault.
fn seen(fault: Fault) -> Vec<Answer> {
    let server = failing(fault);
    let seen = |(path, body): &(&str, _)| match (fault, Ask::post(path, body)) {
        (Fault::Hang, ask) => ask.send(&server, SHORT_TIMEOUT),
        (Fault::Stall, ask) => ask.send_and_stall(&server),
        (_, ask) => ask.send(&server, TIMEOUT),
    };
    prompts("a").iter().map(seen).collect()
}

#[test]
fn a_refusal_speaks_the_dialect() {
    let [anthropic, openai, gemini] = &seen(Fault::Status(429))[..] else { panic!("three") };
    for answer in [anthropic, openai, gemini] {
        assert_eq!(answer.status, Some(429), "{answer:#?}");
    }
    assert_eq!(anthropic.document()["error"]["type"], "rate_limit_error");
    assert_eq!(openai.document()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(gemini.document()["error"]["status"], "RESOURCE_EXHAUSTED");
}

#[test]
fn a_dropped_stream_has_a_beginning_and_no_end() {
    for answer in seen(Fault::Drop).into_iter().chain(seen(Fault::DropWithin)) {
        assert_eq!(answer.status, Some(200));
        assert!(
            answer.body.starts_with("event:") || answer.body.starts_with("data:"),
            "{answer:#?}"
        );
        assert!(!answer.is_whole && !answer.is_silent, "{answer:#?}");
    }
}

#[test]
fn a_short_stream_ends_properly_and_too_early() {
    for answer in seen(Fault::Short) {
        assert!(answer.is_whole && !answer.body.is_empty(), "{answer:#?}");
        assert!(!answer.body.contains("message_stop"), "{answer:#?}");
        assert!(!answer.body.contains("response.completed"), "{answer:#?}");
        assert!(!answer.body.contains("finishReason"), "{answer:#?}");
    }
}

#[test]
fn a_malformed_stream_ends_properly_and_makes_no_sense() {
    for answer in seen(Fault::Malformed) {
        assert!(answer.is_whole, "{answer:#?}");
        assert!(answer.body.ends_with("{\"type\": \"mess\n\n"), "{answer:#?}");
    }
}

#[test]
fn a_hanging_server_says_nothing_and_a_stalled_one_stops_in_the_middle() {
    for answer in seen(Fault::Hang) {
        assert!(answer.is_silent && answer.status.is_none(), "{answer:#?}");
    }
    for answer in seen(Fault::Stall) {
        assert!(answer.is_silent && !answer.body.is_empty(), "{answer:#?}");
    }
}

#[test]
fn a_slow_answer_comes_whole() {
    for answer in seen(Fault::Slow(5)) {
        assert!(answer.is_whole, "{answer:#?}");
    }
}

#[test]
fn first_faults_strike_once() {
    let turn = Turn::say("At last.").after(Fault::Status(500)).after(Fault::Drop);
    let server = ModelServer::start(Scenario::new(Exchange::new([turn]))).expect("a server");
    let (path, body) = &prompts("a")[0];
    let ask = || Ask::post(path, body).send(&server, TIMEOUT);
    assert_eq!(ask().status, Some(500));
    assert!(!ask().is_whole);
    assert!(ask().is_whole);
    assert!(ask().is_whole);
}

#[test]
fn a_document_can_break_too() {
    let server = failing(Fault::Drop);
    let body = json!({ "messages": [{ "role": "user", "content": "a" }] });
    let answer = Ask::post("/v1/messages", &body).send(&server, TIMEOUT);
    assert!(!answer.is_whole, "{answer:#?}");
}

#[test]
fn what_no_model_would_answer_is_refused() {
    let exchange = Exchange::new([Turn::say("a")]);
    let server = ModelServer::start(Scenario::new(exchange)).expect("a server");
    for (path, body) in prompts("a") {
        let ask = || Ask::post(path, &body);
        let status = |ask: Ask| ask.send(&server, TIMEOUT).status;
        assert_eq!(status(ask().without_key()), Some(401), "{path}");
        let get = format!("GET {path}");
        assert_eq!(status(ask().with(&get, "")), Some(405), "{path}");
        let upgrade = ask().with(&get, "").header("upgrade: websocket");
        assert_eq!(status(upgrade), Some(426), "{path}");
        assert_eq!(status(ask().with(&format!("POST {path}"), "no document")), Some(400), "{path}");
    }
    let keyed = Ask::post("/v1beta/models/m:generateContent?key=secret", &prompts("a")[2].1);
    assert_eq!(keyed.without_key().send(&server, TIMEOUT).status, Some(200));
    assert!(server.requests().iter().all(|request| !request.line.contains("secret")));
}

#[test]
fn a_server_that_is_dropped_closes_what_hangs() {
    let server = failing(Fault::Hang);
    let (path, body) = prompts("a")[0].clone();
    let url = server.url();
    let client = std::thread::spawn(move || Ask::post(path, &body).send_to(&url, TIMEOUT));
    wait_until("the request has come in", || !server.requests().is_empty());
    drop(server);
    let answer = client.join().expect("no panic");
    assert!(!answer.is_silent && answer.status.is_none(), "{answer:#?}");
}
