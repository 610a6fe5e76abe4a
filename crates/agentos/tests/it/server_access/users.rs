//! Other users of the machine, and the socket that they can't open.
//!
//! To be somebody else a test has to be root. Where it is not, it fails rather than say that others are kept out.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::server::stage::Server;
use crate::support::Stand;

#[test]
fn another_user_of_the_machine_gets_nothing() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test has to be root to be another user; leave it out with -E 'not test(another_user)'"
    );
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let port = server.address.rsplit(':').next().unwrap();
    for path in ["/api/executions", "/api/projects", "/metrics", "/api/openapi.json"] {
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; \
             printf 'GET {path} HTTP/1.1\\r\\nhost: localhost:{port}\\r\\nconnection: close\\r\\n\\r\\n' >&3; cat <&3"
        );
        let arguments = ["--reuid=54321", "--regid=54321", "--clear-groups", "bash", "-c", &script];
        let said =
            stand.call_program(Path::new("/usr/bin/setpriv"), Path::new("/"), &arguments).done();
        assert!(said.out.starts_with("HTTP/1.1 401"), "{path}: {said:?}");
    }
    server.stop();
}

#[test]
fn the_user_of_the_server_can_speak_to_it_by_its_socket() {
    let (stand, root) = Stand::with_repository();
    let runtime = stand.folder("runtime");
    let server =
        Server::start_with(&stand, &root, &[("XDG_RUNTIME_DIR", runtime.to_str().unwrap())]);
    let socket = runtime.join("agentos/server.sock");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream
        .write_all(b"GET /api/executions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    server.stop();
    assert!(!socket.exists());
}

#[test]
fn foreign_names_and_pages_are_refused_by_the_real_server() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let origin = [("origin", "http://evil.example")];
    server.send("GET", "/api/executions", &origin, b"").is(403);
    server.send("POST", "/api/workflows/greet/execute", &origin, b"{}").is(403);
    let socket = [
        ("origin", "http://evil.example"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    server.send("GET", "/ws", &socket, b"").is(403);
    // The right name is already there: now it says two.
    server.send("GET", "/api/executions", &[("host", "evil.example")], b"").is(400);
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 0);
    server.stop();
}
