//! The REST API of Forgejo and Gitea: GitHub's, but for drafts, which are a word in the title, and labels, which are numbers.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::pull::Pull;
use super::{Dialect, Listed, noticed};
use crate::error::ForgeError;
use crate::pull_request::{NewPullRequest, PullRequest};
use crate::remote::Remote;
use crate::text::{body, encoded, title};
use crate::wire::Wire;

/// Pull requests of one answer.
const PAGE: usize = 50;

/// Most answers that are looked through for the pull requests of one branch, the latest first.
const PAGES: usize = 20;

pub(super) struct Forgejo {
    /// `/repos/OWNER/NAME`
    root: String,
}

impl Forgejo {
    pub(super) fn new(remote: &Remote) -> Self {
        Self { root: format!("/repos/{}/{}", encoded(remote.owner()), encoded(remote.name())) }
    }
}

#[derive(Deserialize)]
struct Label {
    id: u64,
    name: String,
}

#[async_trait]
impl Dialect for Forgejo {
    fn root(&self) -> &str {
        &self.root
    }

    /// It can't be asked for those of one branch.
    async fn of_branch(&self, wire: &Wire, head: &str) -> Result<Vec<Listed>, ForgeError> {
        let mut found = Vec::new();
        for page in 1..=PAGES {
            let query = format!("state=all&sort=recentupdate&limit={PAGE}&page={page}");
            let pulls: Vec<Pull> = wire.read(&format!("{}/pulls?{query}", self.root)).await?;
            let last = pulls.len() < PAGE;
            found
                .extend(pulls.into_iter().filter(|pull| pull.head.r#ref == head).map(Listed::from));
            if last {
                break;
            }
        }
        Ok(found)
    }

    async fn open(&self, wire: &Wire, wanted: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let draft = if wanted.draft { "WIP: " } else { "" };
        let document = json!({
            "title": format!("{draft}{}", title(wanted)), "body": body(&wanted.body, &wanted.mark),
            "head": wanted.head, "base": wanted.base,
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
            let known: Vec<Label> = wire.read(&format!("{root}/labels?limit=50")).await?;
            let (mut ids, mut unknown) = (Vec::new(), Vec::new());
            for name in &wanted.labels {
                match known.iter().find(|label| label.name == *name) {
                    Some(label) => ids.push(label.id),
                    None => unknown.push(format!("labels: there is no label `{name}`")),
                }
            }
            notices.append(&mut unknown);
            if !ids.is_empty() {
                let route = format!("{root}/issues/{number}/labels");
                let done = wire.send(&route, &json!({ "labels": ids })).await;
                notices.extend(noticed("labels", done)?);
            }
        }
        if !wanted.reviewers.is_empty() {
            let route = format!("{root}/pulls/{number}/requested_reviewers");
            let asked = json!({ "reviewers": wanted.reviewers });
            notices.extend(noticed("reviewers", wire.send(&route, &asked).await)?);
        }
        Ok(notices)
    }
}
