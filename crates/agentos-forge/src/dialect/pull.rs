//! A pull request as GitHub writes it, and Forgejo after it.

use serde::Deserialize;

use super::Listed;
use crate::pull_request::{PullRequest, PullRequestState};

#[derive(Deserialize)]
pub(super) struct Pull {
    number: u64,
    html_url: String,
    state: String,
    body: Option<String>,
    pub(super) head: Branch,
    base: Branch,
}

#[derive(Deserialize)]
pub(super) struct Branch {
    pub(super) r#ref: String,
}

impl From<Pull> for Listed {
    fn from(pull: Pull) -> Self {
        let state = match pull.state.as_str() {
            "open" => PullRequestState::Open,
            _ => PullRequestState::Closed,
        };
        let pull_request = PullRequest { number: pull.number, url: pull.html_url, state };
        Self { pull_request, base: pull.base.r#ref, body: pull.body.unwrap_or_default() }
    }
}
