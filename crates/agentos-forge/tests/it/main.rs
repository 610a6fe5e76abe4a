//! Pull requests on a forge that listens on loopback.

mod opening;
mod remotes;
mod trouble;

use std::time::Duration;

use agentos_forge::{Access, Forge, Kind, Mark, NewPullRequest, RetryPolicy};
use agentos_testing::forge::{ForgeServer, TOKEN};
use agentos_testing::wait::TIMEOUT;

/// A repository on the test's forge, in each of the dialects.
fn access(server: &ForgeServer, kind: Kind) -> Access {
    let path = match kind {
        Kind::GitHub => "",
        Kind::GitLab => "/api/v4",
        Kind::Forgejo => "/api/v1",
    };
    let retry_policy = RetryPolicy { answer: TIMEOUT, tries: 4, between: Duration::from_millis(1) };
    Access {
        kind,
        api: format!("{}{path}", server.url()),
        token: Some(TOKEN.to_owned()),
        retry_policy,
    }
}

fn forge(server: &ForgeServer, kind: Kind) -> Forge {
    let remote = "git@forge.test:acme/shop.git".parse().expect("it names a repository");
    Forge::new(&access(server, kind), &remote).expect("there is a token")
}

fn wanted() -> NewPullRequest {
    NewPullRequest {
        title: "Add a basket".to_owned(),
        body: "What it does.".to_owned(),
        head: "agentos/basket-abcdef".to_owned(),
        base: "main".to_owned(),
        draft: false,
        labels: Vec::new(),
        reviewers: Vec::new(),
        mark: Mark::new("01-run/git:create_pr#1"),
    }
}
