//! `agentos token`, and what the server makes of it.

use crate::server::stage::Server;
use crate::support::Stand;

/// Whoever comes through a proxy is nobody.
const PASSED_ON: (&str, &str) = ("x-forwarded-for", "10.0.0.1");

#[test]
fn a_token_lets_somebody_in_until_it_is_revoked() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let look = |token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![PASSED_ON];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        server.send("GET", "/api/executions", &headers, b"")
    };
    let refused = look(None).is(401);
    assert!(refused.json()["hint"].as_str().unwrap().contains("agentos token create"));
    let made = stand
        .run(&root, &["token", "create", "--name", "laptop", "--scope", "read", "--expires", "30d"])
        .exits(0);
    let token = made.out.trim_end();
    assert!(token.starts_with("agentos_") && made.err.contains("only time"), "{made:?}");
    look(Some(token)).is(200);
    let headers = [PASSED_ON, ("authorization", &format!("Bearer {token}"))];
    server.send("POST", "/api/executions/x/cancel", &headers, b"").is(403);
    let list = stand.run(&root, &["token", "list", "--json"]).exits(0).document();
    let listed = &list["items"][0];
    assert_eq!((&listed["name"], &listed["scope"]), (&"laptop".into(), &"read".into()), "{list}");
    assert!(listed["last_used_at"].is_string() && listed["expires_at"].is_string(), "{list}");
    let shown = stand.run(&root, &["token", "list"]).exits(0).out;
    assert!(shown.contains("laptop") && !shown.contains(token), "{shown}");
    stand.run(&root, &["token", "revoke", "laptop"]).exits(0);
    look(Some(token)).is(401);
    server.stop();
}

#[test]
fn mistakes_about_tokens_are_told() {
    let (stand, root) = Stand::with_repository();
    let run = |arguments: &[&str]| stand.run(&root, arguments);
    run(&["token", "revoke", "nothing"]).exits(3);
    run(&["token", "create", "--name", "x"]).exits(2);
    run(&["token", "create", "--name", "x", "--scope", "root"]).exits(2);
    run(&["token", "create", "--name", "x", "--scope", "read", "--expires", "soon"]).exits(2);
    run(&["token", "create", "--name", "a\nb", "--scope", "read"]).exits(2);
    assert!(run(&["token", "list"]).exits(0).err.contains("there are no tokens"));
    run(&["token", "create", "--name", "x", "--scope", "read"]).exits(0);
    assert!(run(&["token", "create", "--name", "x", "--scope", "run"]).exits(4).err.contains("x"));
}
