//! Other people's pages: names that point here, forms, frames and WebSockets.

use super::stage::Stage;

#[test]
fn the_same_user_on_this_machine_needs_no_token() {
    let stage = Stage::new();
    let answer = stage.ask("GET /api/look", &[]);
    assert_eq!((answer.status, answer.body.as_str()), (200, "ada"));
    assert_eq!(stage.ask("DELETE /api/thing", &[]).status, 200);
}

#[test]
fn a_name_that_somebody_else_made_point_here_is_not_answered() {
    let stage = Stage::new();
    let port = stage.port();
    for host in [
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        "localhost:1".to_owned(),
        format!("10.0.0.1:{port}"),
    ] {
        stage.ask("GET /api/look", &[("Host", &host)]).assert_problem("foreign-host");
        stage.ask("GET /", &[("Host", &host)]).assert_problem("foreign-host");
    }
    for host in [format!("127.0.0.1:{port}"), "agentos.example".to_owned()] {
        assert_eq!(stage.ask("GET /api/look", &[("Host", &host)]).status, 200, "{host}");
    }
    assert_eq!(stage.looks(), 2);
}

#[test]
fn a_request_says_once_for_whom_it_is() {
    let stage = Stage::new();
    let port = stage.port();
    let none = "GET /api/look HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned();
    let two = format!(
        "GET /api/look HTTP/1.1\r\nhost: localhost:{port}\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
    );
    let other = format!(
        "GET http://evil.example/api/look HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n"
    );
    for request in [none, two, other] {
        super::stage::Answer::parse(&stage.say(&request)).assert_problem("unclear-host");
    }
    assert_eq!(stage.looks(), 0);
}

#[test]
fn what_a_page_of_another_site_asks_for_is_refused() {
    let stage = Stage::new();
    let own = format!("http://localhost:{}", stage.port());
    for origin in ["http://evil.example", "null", "http://localhost:1", "http://127.0.0.1:1"] {
        for line in ["POST /api/deed", "GET /api/look", "DELETE /api/thing", "OPTIONS /api/deed"] {
            stage.ask(line, &[("Origin", origin)]).assert_problem("foreign-page");
        }
    }
    let embedded = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")];
    stage.ask("GET /api/look", &embedded).assert_problem("foreign-page");
    assert_eq!((stage.deeds(), stage.looks()), (0, 0));
    for origin in [own.as_str(), "http://localhost:5173"] {
        let answer = stage.ask("POST /api/deed", &[("Origin", origin), ("Content-Length", "0")]);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.headers.keys().any(|name| name.starts_with("access-control-")));
    }
}

#[test]
fn a_websocket_opens_only_for_a_page_of_ours() {
    let stage = Stage::new();
    let own = format!("http://localhost:{}", stage.port());
    let open = |origin: &str| {
        let headers = [
            ("Origin", origin),
            ("Connection", "upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let text = stage.request("GET /ws", &headers, "").replace("connection: close\r\n", "");
        let mut stream = stage.connect();
        std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
        let mut bytes = [0; 12];
        std::io::Read::read_exact(&mut stream, &mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert_eq!(open("http://evil.example"), "HTTP/1.1 403");
    assert_eq!(open("null"), "HTTP/1.1 403");
    assert_eq!(open(&own), "HTTP/1.1 101");
}

#[test]
fn a_link_to_the_dashboard_can_be_followed() {
    let stage = Stage::new();
    let link = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    assert_eq!(stage.ask("GET /", &link).status, 200);
    stage.ask("GET /api/look", &link).assert_problem("foreign-page");
}

#[test]
fn every_answer_tells_browsers_to_be_careful_and_has_an_id() {
    let stage = Stage::new();
    for (line, status, kind) in [
        ("GET /", 200, ""),
        ("GET /api/look", 200, ""),
        // Whoever answered these has only said a status, and it can mean several things or one.
        ("GET /nothing", 404, "about:blank"),
        ("PUT /api/look", 405, "urn:agentos:problem:method-not-allowed"),
        ("GET /api/mistake", 500, "urn:agentos:problem:failed"),
    ] {
        let answer = stage.ask(line, &[("x-request-id", "mine-1")]);
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("x-request-id"), "mine-1");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
        assert!(!answer.header("permissions-policy").is_empty());
        if status >= 400 {
            answer.assert_problem_of(status, kind);
        }
    }
    let odd = stage.ask("GET /", &[("x-request-id", "a b\"c")]);
    assert_eq!(odd.header("x-request-id").len(), 36, "it gets one of ours");
}
