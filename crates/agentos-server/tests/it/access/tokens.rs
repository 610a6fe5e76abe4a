//! Tokens: right, wrong, too small, expired, taken back.

use std::io::{Read as _, Write as _};
use std::sync::atomic::Ordering;

use agentos_store::registry::Scope;

use super::stage::{Stage, until_closed};

/// A request that is passed on by somebody: without a token, nobody knows who asks.
const PASSED_ON: (&str, &str) = ("X-Forwarded-For", "10.0.0.1");

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[test]
fn a_request_that_came_through_a_proxy_needs_a_token() {
    let stage = Stage::new();
    for header in [
        PASSED_ON,
        ("Forwarded", "for=10.0.0.1"),
        ("Via", "1.1 somebody"),
        ("X-Real-IP", "127.0.0.1"),
        ("X-Forwarded-Proto", "https"),
        ("x-forwarded-host", "localhost"),
        ("CF-Connecting-IP", "10.0.0.1"),
    ] {
        let answer = stage.ask("GET /api/look", &[header]);
        answer.assert_problem("token-needed");
        assert!(answer.header("www-authenticate").starts_with("Bearer "), "{answer:?}");
        assert!(answer.body.contains("agentos token create"), "it says how to get one");
    }
    assert_eq!(stage.looks(), 0);
    let token = bearer(&stage.token("proxy", Scope::Read, None));
    let answer = stage.ask("GET /api/look", &[PASSED_ON, ("Authorization", &token)]);
    assert_eq!((answer.status, answer.body.as_str()), (200, "token proxy"));
}

#[test]
fn without_a_token_there_is_only_what_holds_nobodys_data() {
    let stage = Stage::new();
    assert_eq!(stage.ask("GET /", &[PASSED_ON]).status, 200);
    for path in ["/api/look", "/api", "/api/nothing", "/ws", "/metrics", "/readyz", "/%61pi/look"] {
        stage.ask(&format!("GET {path}"), &[PASSED_ON]).assert_problem("token-needed");
    }
    stage.ask("POST /", &[PASSED_ON]).assert_problem("token-needed");
    stage.ask("OPTIONS /api/deed", &[PASSED_ON]).assert_problem("token-needed");
}

#[test]
fn a_token_is_good_for_its_scope_and_no_more() {
    let stage = Stage::new();
    let asked = |token: &str, line: &str| {
        let token = bearer(token);
        let headers = [PASSED_ON, ("Authorization", token.as_str()), ("Content-Length", "0")];
        stage.ask(line, &headers).status
    };
    let lines = ["GET /api/look", "POST /api/deed", "DELETE /api/thing"];
    let may = |scope: Scope| {
        let token = stage.token(scope.as_str(), scope, None);
        lines.map(|line| asked(&token, line))
    };
    assert_eq!(may(Scope::Read), [200, 403, 403]);
    assert_eq!(may(Scope::Run), [200, 200, 403]);
    assert_eq!(may(Scope::Admin), [200, 200, 200]);
}

#[test]
fn wrong_tokens_are_refused_also_where_none_is_needed() {
    let stage = Stage::new();
    let right = stage.token("ci", Scope::Admin, None);
    let expired = stage.token("old", Scope::Admin, Some(2));
    let other_secret = format!("{}{}", &right[..right.len() - 43], "A".repeat(43));
    for wrong in [
        bearer(&expired),
        bearer(&other_secret),
        bearer(&right[..right.len() - 1]),
        bearer("agentos_"),
        bearer(""),
        "Bearer".to_owned(),
        format!("Basic {right}"),
        right.clone(),
        bearer(&format!("{right}, {right}")),
        bearer(&"x".repeat(10_000)),
        bearer("' OR 1=1 --"),
    ] {
        let answer = stage.ask("GET /api/look", &[("Authorization", &wrong)]);
        answer.assert_problem("token-invalid");
        assert!(!answer.body.contains("agentos_"), "nothing of it is repeated: {answer:?}");
    }
    let twice = [("Authorization", bearer(&right)), ("Authorization", bearer(&right))];
    let twice = twice.each_ref().map(|(name, value)| (*name, value.as_str()));
    stage.ask("GET /api/look", &twice).assert_problem("token-invalid");
    assert_eq!(stage.looks(), 0);
    assert_eq!(stage.ask("GET /api/look", &[("Authorization", &bearer(&right))]).status, 200);
}

#[test]
fn a_token_that_is_taken_back_is_worth_nothing_at_once() {
    let stage = Stage::new();
    let token = bearer(&stage.token("ci", Scope::Read, None));
    let ask = || stage.ask("GET /api/look", &[PASSED_ON, ("Authorization", &token)]).status;
    assert_eq!(ask(), 200);
    stage.registry.revoke_token("ci").unwrap().unwrap();
    assert_eq!(ask(), 401);
}

#[test]
fn what_a_token_has_opened_is_closed_when_it_is_taken_back() {
    let stage = Stage::new();
    let (kept, lost) =
        (stage.token("kept", Scope::Read, None), stage.token("lost", Scope::Read, None));
    let open = |token: &str| {
        let token = bearer(token);
        let headers = [PASSED_ON, ("Authorization", token.as_str())];
        let mut stream = stage.connect();
        stream.write_all(stage.request("GET /api/stream", &headers, "").as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    };
    let (mut stays, mut goes) = (open(&kept), open(&lost));
    stage.registry.revoke_token("lost").unwrap().unwrap();
    until_closed(&mut goes);
    let mut more = [0; 1000];
    stays.read_exact(&mut more).unwrap();
}

#[test]
fn a_websocket_is_told_goodbye_when_its_token_is_taken_back() {
    let stage = Stage::new();
    let token = stage.token("page", Scope::Read, None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use futures_util::{SinkExt as _, StreamExt as _};
        use tokio_tungstenite::tungstenite::Message;
        use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
        let address = format!("ws://localhost:{}/ws", stage.port());
        let mut request = address.into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("via", "1.1 somebody".parse().unwrap());
        // Pages can't set any other header of a WebSocket.
        let offered = format!("agentos, agentos.token.{token}");
        headers.insert("sec-websocket-protocol", offered.parse().unwrap());
        let stream = tokio::net::TcpStream::connect(stage.address).await.unwrap();
        let (mut socket, answer) = tokio_tungstenite::client_async(request, stream).await.unwrap();
        assert_eq!(answer.headers()["sec-websocket-protocol"], "agentos", "not the secret one");
        socket.send(Message::text("hello")).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
        stage.registry.revoke_token("page").unwrap().unwrap();
        let ended = tokio::time::timeout(super::stage::TIMEOUT, socket.next()).await.unwrap();
        assert!(matches!(ended, Some(Ok(Message::Close(_)))), "{ended:?}");
    });
}

#[test]
fn a_registry_that_can_not_be_read_lets_nobody_in() {
    let stage = Stage::new();
    let token = bearer(&stage.token("ci", Scope::Read, None));
    std::fs::write(
        stage.registry.path(),
        "this is no database, and it is long enough to be seen as one that is broken, really",
    )
    .unwrap();
    let answer = stage.ask("GET /api/look", &[PASSED_ON, ("Authorization", &token)]);
    answer.assert_problem("tokens-unchecked");
    assert!(!answer.body.contains("registry.db"), "where it is is nobody's business: {answer:?}");
    assert_eq!(stage.ask("GET /api/look", &[]).status, 200, "who needs none is not in need of it");
}

#[test]
fn what_only_a_person_may_decide_is_refused_to_what_a_run_has_started() {
    let stage = Stage::new();
    let token = bearer(&stage.token("ci", Scope::Run, None));
    let decide = |lineage: u8, headers: &[(&str, &str)]| {
        stage.seen.lineage.store(lineage, Ordering::SeqCst);
        let headers = [headers, &[("Content-Length", "0")]].concat();
        stage.ask("POST /api/decide", &headers)
    };
    assert_eq!(decide(1, &[]).status, 200);
    decide(2, &[]).assert_problem("asked-by-run");
    // Whoever is gone, or can't be looked at, may have been one.
    decide(0, &[]).assert_problem("unknown-process");
    let with_token = [("Authorization", token.as_str())];
    assert_eq!(decide(1, &with_token).status, 200);
    decide(2, &with_token).assert_problem("asked-by-run");
    assert_eq!(decide(0, &with_token).status, 200, "a person gave it to somebody");
    decide(1, &[PASSED_ON]).assert_problem("token-needed");
}
