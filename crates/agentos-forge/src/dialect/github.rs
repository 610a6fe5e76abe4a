//! GitHub's REST API.

use async_trait::async_trait;
use serde_json::json;

use super::pull::Pull;
use super::{Dialect, Listed, noticed};
use crate::error::ForgeError;
use crate::pull_request::{NewPullRequest, PullRequest};
use crate::remote::Remote;
use crate::text::{body, encoded, title};
use crate::wire::Wire;

pub(super) struct GitHub {
    owner: String,
    /// `/repos/OWNER/NAME`
    root: String,
}

impl GitHub {
    pub(super) fn new(remote: &Remote) -> Self {
        let (owner, name) = (encoded(remote.owner()), encoded(remote.name()));
        Self { root: format!("/repos/{owner}/{name}"), owner }
    }
}

#[async_trait]
impl Dialect for GitHub {
    fn root(&self) -> &str {
        &self.root
    }

    async fn of_branch(&self, wire: &Wire, head: &str) -> Result<Vec<Listed>, ForgeError> {
        let (root, owner, head) = (&self.root, &self.owner, encoded(head));
        let route = format!("{root}/pulls?state=all&head={owner}:{head}&per_page=100");
        let found: Vec<Pull> = wire.read(&route).await?;
        Ok(found.into_iter().map(Listed::from).collect())
    }

    async fn open(&self, wire: &Wire, wanted: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let document = json!({
            "title": title(wanted), "body": body(&wanted.body, &wanted.mark),
            "head": wanted.head, "base": wanted.base, "draft": wanted.draft,
        });
        let opened: Pull = wire.send(&format!("{}/pulls", self.root), &document).await?;
        Ok(Listed::from(opened).pull_request)
    }

    async fn adorn(
        &self,
        wire: &Wire,
        pull_request: &PullRequest,
        wanted: &NewPullRequest,
    ) -> Result<Vec<String>, ForgeError> {
        let (root, number) = (&self.root, pull_request.number);
        let mut notices = Vec::new();
        if !wanted.labels.is_empty() {
            let route = format!("{root}/issues/{number}/labels");
            let done = wire.send(&route, &json!({ "labels": wanted.labels })).await;
            notices.extend(noticed("labels", done)?);
        }
        if !wanted.reviewers.is_empty() {
            let route = format!("{root}/pulls/{number}/requested_reviewers");
            let (teams, users): (Vec<&String>, Vec<&String>) =
                wanted.reviewers.iter().partition(|name| name.contains('/'));
            let teams: Vec<&str> =
                teams.iter().filter_map(|name| Some(name.split_once('/')?.1)).collect();
            let asked = json!({ "reviewers": users, "team_reviewers": teams });
            notices.extend(noticed("reviewers", wire.send(&route, &asked).await)?);
        }
        Ok(notices)
    }
}
