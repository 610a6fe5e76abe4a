//! Whatever goes wrong, there is never a second pull request, and the reason is told.

use std::time::Duration;

use agentos_forge::{Access, Forge, ForgeError, Kind, NewPullRequest, RetryPolicy};
use agentos_testing::forge::{Fault, ForgeServer, Strike};

use crate::{access, forge, wanted};

const PULLS: &str = "/pulls";

fn strike(method: &'static str, fault: Fault, times: u32) -> Strike {
    Strike { method, path: PULLS, fault, times }
}

#[tokio::test]
async fn a_request_whose_answer_was_lost_is_not_sent_a_second_time() {
    let server = ForgeServer::start().unwrap();
    server.strike(strike("POST", Fault::LostAnswer, 1));
    let opened = forge(&server, Kind::GitHub).open(&wanted()).await.unwrap();
    assert!(opened.existed, "{opened:?}");
    assert_eq!(server.pulls().len(), 1);
    let posts = server.received().iter().filter(|one| one.method == "POST").count();
    assert_eq!(posts, 1);
}

#[tokio::test]
async fn trouble_that_passes_is_waited_for() {
    for fault in [Fault::Status(500), Fault::Status(502), Fault::Status(429), Fault::Limited] {
        let server = ForgeServer::start().unwrap();
        server.strike(strike("GET", fault, 1));
        server.strike(strike("POST", fault, 2));
        forge(&server, Kind::GitHub).open(&wanted()).await.unwrap();
        assert_eq!(server.pulls().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn trouble_that_stays_is_told_after_the_last_try() {
    let server = ForgeServer::start().unwrap();
    server.strike(strike("POST", Fault::Status(503), 100));
    let error = forge(&server, Kind::GitHub).open(&wanted()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Failed { status: 503, .. }), "{error}");
    let posts = server.received().iter().filter(|one| one.method == "POST").count();
    assert_eq!(posts, 4);
}

#[tokio::test]
async fn what_waiting_does_not_mend_is_told_at_once() {
    let server = ForgeServer::start().unwrap();
    let no_base = NewPullRequest { base: String::new(), ..wanted() };
    let error = forge(&server, Kind::GitHub).open(&no_base).await.unwrap_err().to_string();
    assert!(error.contains("422") && error.contains("field base"), "{error}");

    server.strike(strike("GET", Fault::Status(403), 1));
    let error = forge(&server, Kind::GitHub).open(&wanted()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Forbidden { .. }), "{error}");

    let wrong = Access { token: Some("wrong".to_owned()), ..access(&server, Kind::GitHub) };
    let remote = "git@forge.test:acme/shop.git".parse().unwrap();
    let error = Forge::new(&wrong, &remote).unwrap().open(&wanted()).await.unwrap_err().to_string();
    assert!(error.contains("401") && error.contains("GITHUB_TOKEN"), "{error}");
    assert_eq!(server.pulls(), []);
}

#[tokio::test]
async fn a_forge_that_says_nothing_is_given_up_on() {
    let server = ForgeServer::start().unwrap();
    server.strike(strike("GET", Fault::Silence, 100));
    let retry_policy = RetryPolicy {
        answer: Duration::from_millis(200),
        tries: 2,
        between: Duration::from_millis(1),
    };
    let hasty = Access { retry_policy, ..access(&server, Kind::GitHub) };
    let remote = "git@forge.test:acme/shop.git".parse().unwrap();
    let error = Forge::new(&hasty, &remote).unwrap().open(&wanted()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unreachable { .. }), "{error}");
}

#[test]
fn a_missing_or_impossible_token_is_told_before_anything_is_sent() {
    let server = ForgeServer::start().unwrap();
    let remote = "git@forge.test:acme/shop.git".parse().unwrap();
    for (token, said) in
        [(None, "there is none"), (Some("two\nlines"), "characters"), (Some(""), "characters")]
    {
        let without = Access { token: token.map(str::to_owned), ..access(&server, Kind::GitHub) };
        let Err(error) = Forge::new(&without, &remote) else { panic!("{token:?}") };
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(server.received(), []);
}
