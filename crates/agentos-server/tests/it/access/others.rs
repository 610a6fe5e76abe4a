//! Another user of the same machine.
//!
//! These tests have to be root to be somebody else. Where they are not, they fail: a check that looked away would say that
//! other users are kept out without having seen one. They are left out with `-E 'not test(another_user)'`.

use agentos_store::registry::Scope;
use agentos_testing::repo::Playground;
use agentos_testing::wait::wait_until;

use super::stage::{Answer, Stage};

/// Somebody who has no name here.
const SOMEBODY: u32 = 54_321;

/// The user whom the system names where it can't name one.
const NOBODY: u32 = 65_534;

/// Runs a few lines of Bash as another user, who finds the server's port in `$PORT`.
fn as_another_user(port: u16, uid: u32, script: &str) -> String {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test has to be root to be another user; leave it out with -E 'not test(another_user)'"
    );
    let playground = Playground::new();
    let mut environment = playground.environment();
    environment.insert("PORT".into(), port.to_string().into());
    let user = format!("--reuid={uid}");
    let group = format!("--regid={uid}");
    let arguments = [&user, &group, "--clear-groups", "bash", "-c", script];
    playground.run_with(&environment, "setpriv", std::path::Path::new("/"), arguments)
}

/// Sends a request, and reads the answer.
fn ask(line: &str, header: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/$PORT; \
         printf '{line} HTTP/1.1\\r\\nhost: localhost:%s\\r\\nconnection: close\\r\\ncontent-length: 0\\r\\n{header}\\r\\n' $PORT >&3; \
         cat <&3"
    )
}

#[test]
fn another_user_needs_a_token() {
    let stage = Stage::new();
    for uid in [SOMEBODY, NOBODY] {
        for line in ["GET /api/look", "POST /api/deed", "DELETE /api/thing"] {
            let said = as_another_user(stage.port(), uid, &ask(line, ""));
            Answer::parse(&said).assert_problem("token-needed");
        }
    }
    assert_eq!((stage.looks(), stage.deeds()), (0, 0));
    let token = stage.token("theirs", Scope::Read, None);
    let header = format!("authorization: Bearer {token}\\r\\n");
    let said = as_another_user(stage.port(), SOMEBODY, &ask("GET /api/look", &header));
    assert_eq!(Answer::parse(&said).body, "token theirs");
}

#[test]
fn another_user_who_sends_a_request_and_goes_away_has_asked_in_vain() {
    let stage = Stage::new();
    // A socket that nobody has any more shows up as root's, and these tests are root.
    let script = "for i in {1..60}; do \
            exec 3<>/dev/tcp/127.0.0.1/$PORT; \
            printf 'POST /api/deed HTTP/1.1\\r\\nhost: localhost:%s\\r\\ncontent-length: 0\\r\\n\\r\\n' $PORT >&3; \
            exec 3>&-; \
        done";
    as_another_user(stage.port(), SOMEBODY, script);
    // All of them have come in before this one.
    assert_eq!(stage.ask("GET /api/look", &[]).status, 200);
    stage.stop();
    stage.wait_for_end();
    assert_eq!(stage.deeds(), 0);
}

#[test]
fn another_user_can_not_open_the_unix_socket() {
    let stage = Stage::new();
    let socket = stage.socket();
    let script = format!(
        "python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); sys.exit(s.connect_ex(sys.argv[1]) != 13)' {} && echo refused",
        socket.display()
    );
    assert_eq!(as_another_user(stage.port(), SOMEBODY, &script), "refused\n");
}

#[test]
fn another_user_who_takes_all_places_leaves_some_to_the_one_whose_server_it_is() {
    let limits = agentos_server::listen::Limits {
        connections: 16,
        connections_per_peer: 16,
        ..Default::default()
    };
    let stage = Stage::with(limits);
    let ready = stage.folder.path().join("ready");
    std::fs::create_dir(&ready).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(stage.folder.path(), mode(0o777)).unwrap();
    std::fs::set_permissions(&ready, mode(0o777)).unwrap();
    std::thread::scope(|scope| {
        let (port, ready) = (stage.port(), &ready);
        let hog = scope.spawn(move || {
            // Holds on to everything it gets until it is told to let go.
            let script = format!(
                "for i in {{10..40}}; do eval \"exec $i<>/dev/tcp/127.0.0.1/$PORT\"; done; touch {0}/all; \
                 until [ -e {0}/done ]; do read -t 0.05 <> <(:) || :; done",
                ready.display()
            );
            as_another_user(port, SOMEBODY, &script)
        });
        wait_until("all places are taken", || ready.join("all").exists() || hog.is_finished());
        let answer = stage.ask("GET /api/look", &[]);
        std::fs::write(ready.join("done"), "").unwrap();
        assert_eq!(answer.status, 200);
        hog.join().unwrap();
    });
}
