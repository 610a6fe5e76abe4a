//! GitLab's REST API. A pull request is a merge request, a draft is a word in its title.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dialect, Listed, noticed};
use crate::error::ForgeError;
use crate::pull_request::{NewPullRequest, PullRequest, PullRequestState};
use crate::remote::Remote;
use crate::text::{body, encoded, title};
use crate::wire::Wire;

pub(super) struct GitLab {
    /// `/projects/OWNER%2FNAME`
    root: String,
}

impl GitLab {
    pub(super) fn new(remote: &Remote) -> Self {
        let path = format!("{}/{}", remote.owner(), remote.name());
        Self { root: format!("/projects/{}", encoded(&path)) }
    }
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    web_url: String,
    state: String,
    description: Option<String>,
    target_branch: String,
}

impl From<MergeRequest> for Listed {
    fn from(found: MergeRequest) -> Self {
        let state = match found.state.as_str() {
            "opened" => PullRequestState::Open,
            _ => PullRequestState::Closed,
        };
        let pull_request = PullRequest { number: found.iid, url: found.web_url, state };
        Self {
            pull_request,
            base: found.target_branch,
            body: found.description.unwrap_or_default(),
        }
    }
}

#[async_trait]
impl Dialect for GitLab {
    fn root(&self) -> &str {
        &self.root
    }

    async fn of_branch(&self, wire: &Wire, head: &str) -> Result<Vec<Listed>, ForgeError> {
        let (root, head) = (&self.root, encoded(head));
        let route = format!("{root}/merge_requests?state=all&source_branch={head}&per_page=100");
        let found: Vec<MergeRequest> = wire.read(&route).await?;
        Ok(found.into_iter().map(Listed::from).collect())
    }

    async fn open(&self, wire: &Wire, wanted: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let draft = if wanted.draft { "Draft: " } else { "" };
        let document = json!({
            "title": format!("{draft}{}", title(wanted)), "description": body(&wanted.body, &wanted.mark),
            "source_branch": wanted.head, "target_branch": wanted.base, "labels": wanted.labels.join(","),
        });
        let opened: MergeRequest =
            wire.send(&format!("{}/merge_requests", self.root), &document).await?;
        Ok(Listed::from(opened).pull_request)
    }

    /// Labels were part of the request. Reviewers are asked for by a remark, which needs no numbers of users.
    async fn adorn(
        &self,
        wire: &Wire,
        pull_request: &PullRequest,
        wanted: &NewPullRequest,
    ) -> Result<Vec<String>, ForgeError> {
        let mut notices = Vec::new();
        let mut known = Vec::new();
        for name in &wanted.reviewers {
            let found: Vec<Value> =
                wire.read(&format!("/users?username={}", encoded(name))).await?;
            match found.first() {
                Some(_) => known.push(format!("@{name}")),
                None => notices.push(format!("reviewers: there is no user `{name}`")),
            }
        }
        if known.is_empty() {
            return Ok(notices);
        }
        // GitLab's quick action, which adds to the reviewers and changes nothing if they are there.
        let note = json!({ "body": format!("/assign_reviewer {}", known.join(" ")) });
        let route = format!("{}/merge_requests/{}/notes", self.root, pull_request.number);
        let done: Result<Value, ForgeError> = wire.send(&route, &note).await;
        notices.extend(noticed("reviewers", done)?);
        Ok(notices)
    }
}
