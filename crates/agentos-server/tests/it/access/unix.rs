//! The Unix socket.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use agentos_server::listen::{SocketFile, SocketFileError};

use super::stage::{Answer, Stage, TIMEOUT};

fn ask(stage: &Stage, line: &str, headers: &str) -> Answer {
    let mut stream = UnixStream::connect(stage.socket()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let text = format!("{line} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    Answer::parse(&said)
}

#[test]
fn the_unix_socket_serves_its_user_under_the_name_localhost() {
    let stage = Stage::new();
    let answer = ask(&stage, "GET /api/look", "host: localhost\r\n");
    assert_eq!((answer.status, answer.body.as_str()), (200, "ada"));
    ask(&stage, "GET /api/look", "host: evil.example\r\n").assert_problem("foreign-host");
    ask(&stage, "GET /api/look", "host: localhost\r\nvia: 1.1 somebody\r\n")
        .assert_problem("token-needed");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&stage.socket()), 0o600);
    assert_eq!(mode(stage.socket().parent().unwrap()), 0o700);
}

#[test]
fn the_unix_socket_is_gone_when_the_server_is() {
    let stage = Stage::new();
    assert!(stage.socket().exists());
    stage.stop();
    stage.wait_for_end();
    assert!(!stage.socket().exists());
}

#[tokio::test]
async fn a_socket_that_a_dead_server_has_left_is_replaced_and_a_living_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/server.sock");
    let first = SocketFile::bind(&path).unwrap();
    let refused = SocketFile::bind(&path).unwrap_err();
    assert!(matches!(refused, SocketFileError::Taken { .. }), "{refused}");
    UnixStream::connect(&path).unwrap();
    drop(first);
    // As after a SIGKILL: the file is there, and nobody listens.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(UnixStream::connect(&path).is_err() && path.exists());
    let _second = SocketFile::bind(&path).unwrap();
    UnixStream::connect(&path).unwrap();
}

#[tokio::test]
async fn a_folder_that_others_may_enter_gets_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = SocketFile::bind(folder.path().join("server.sock")).unwrap_err();
    assert!(matches!(refused, SocketFileError::Shared { .. }), "{refused}");
    assert!(!folder.path().join("server.sock").exists());
}
