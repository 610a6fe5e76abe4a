//! What goes to a remote: branches and pull requests.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::asks_when_awaited;
use super::Call;
use crate::answer::Answer;

/// A branch that is about to be pushed.
#[derive(Debug)]
#[must_use = "a branch is pushed when it is awaited or started"]
pub struct Push<'a>(pub(super) Call<'a>);

impl Push<'_> {
    /// Where to; otherwise that of git's `remote.pushDefault`, `origin`, the one that the branch follows, or the only one.
    pub fn remote(self, remote: impl Into<String>) -> Self {
        Self(self.0.with("remote", json!(remote.into())))
    }

    /// Which branch; the one that is checked out otherwise.
    pub fn branch(self, branch: impl Into<String>) -> Self {
        Self(self.0.with("branch", json!(branch.into())))
    }

    /// Replaces whatever the remote had when this repository last looked. Otherwise only what was once part of the branch
    /// here is replaced.
    pub fn force_with_lease(self) -> Self {
        Self(self.0.with("force", json!("lease")))
    }

    /// Replaces nothing: commits are only added.
    pub fn never_force(self) -> Self {
        Self(self.0.with("force", json!("never")))
    }

    /// Leaves the branch without an upstream.
    pub fn no_upstream(self) -> Self {
        Self(self.0.with("set_upstream", json!(false)))
    }

    /// How long it may take, with its hooks; ten minutes otherwise.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self(self.0.timeout(timeout))
    }

    /// Asks for it, without waiting.
    pub fn start(self) -> Answer<Pushed> {
        self.0.start()
    }
}

/// A branch that is on a remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// The remote's name.
    pub remote: String,
    /// Its address, without a password.
    pub url: String,
    /// The branch, which is called the same on both sides.
    pub branch: String,
    /// Its commit.
    pub commit_sha: String,
    /// What it took.
    pub outcome: PushOutcome,
    /// The commit that was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

/// What it took to have a branch on a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushOutcome {
    /// There was none.
    Created,
    /// Commits were added.
    Updated,
    /// Commits of ours were replaced by others.
    Rewritten,
    /// Nothing: it was there already.
    Unchanged,
}

/// What to do if the base has commits that the work does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBehind {
    /// Say so, and open it.
    Continue,
    /// Make the work's commits again on top of them, and push those.
    Rebase,
    /// Fail, and open nothing.
    Fail,
}

/// A pull request that is about to be opened.
#[derive(Debug)]
#[must_use = "a pull request is opened when it is awaited or started"]
pub struct CreatePr<'a>(pub(super) Call<'a>);

impl CreatePr<'_> {
    /// What it is about, in Markdown; placed in the template.
    pub fn body(self, body: impl Into<String>) -> Self {
        Self(self.0.with("body", json!(body.into())))
    }

    /// The text of a template, in the place of the project's.
    pub fn template(self, template: impl Into<String>) -> Self {
        Self(self.0.with("template", json!(template.into())))
    }

    /// The branch that it is for; the remote's main one otherwise.
    pub fn base(self, base: impl Into<String>) -> Self {
        Self(self.0.with("base", json!(base.into())))
    }

    /// The branch with the work; the one that is checked out otherwise.
    pub fn head(self, head: impl Into<String>) -> Self {
        Self(self.0.with("head", json!(head.into())))
    }

    /// On which remote; as for [`Push::remote`] otherwise.
    pub fn remote(self, remote: impl Into<String>) -> Self {
        Self(self.0.with("remote", json!(remote.into())))
    }

    /// Not ready for a review yet.
    pub fn draft(self) -> Self {
        Self(self.0.with("draft", json!(true)))
    }

    /// Puts a label on it.
    pub fn label(self, label: impl Into<String>) -> Self {
        Self(self.0.push("labels", [json!(label.into())]))
    }

    /// Asks somebody for a review.
    pub fn reviewer(self, reviewer: impl Into<String>) -> Self {
        Self(self.0.push("reviewers", [json!(reviewer.into())]))
    }

    /// What to do if the base has gone on; [`OnBehind::Continue`] otherwise.
    pub fn on_behind(self, policy: OnBehind) -> Self {
        let policy = match policy {
            OnBehind::Continue => "continue",
            OnBehind::Rebase => "rebase",
            OnBehind::Fail => "fail",
        };
        Self(self.0.with("on_behind", json!(policy)))
    }

    /// How long each part of it may take; ten minutes otherwise.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self(self.0.timeout(timeout))
    }

    /// Asks for it, without waiting.
    pub fn start(self) -> Answer<PullRequest> {
        self.0.start()
    }
}

/// A pull request that there is, or a branch that was only pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Where people look at it; none where there is no known forge.
    pub pr_url: Option<String>,
    /// Its number; none where there is no known forge.
    pub number: Option<u64>,
    /// Whether it was opened for this, and not found.
    pub created: bool,
    /// The branch with the work.
    pub branch: String,
    /// The branch that it is for.
    pub base: String,
    /// The commit that the branch is at.
    pub commit_sha: String,
    /// How many commits of the base the work does not have.
    pub behind: u64,
    /// How many commits the base does not have.
    pub ahead: u64,
    /// Whether the work was rebased.
    pub rebased: bool,
    /// What became of the push.
    pub pushed: Pushed,
    /// `github`, `gitlab` or `forgejo`; none if the remote is on no known forge.
    pub forge: Option<String>,
    /// What is to be known besides, such as a reviewer whom the forge does not know.
    pub note: Option<String>,
}

/// A look at whether a pull request can be opened.
#[derive(Debug)]
#[must_use = "it is looked at when it is awaited or started"]
pub struct CheckPr<'a>(pub(super) Call<'a>);

impl CheckPr<'_> {
    /// On which remote; as for [`Push::remote`] otherwise.
    pub fn remote(self, remote: impl Into<String>) -> Self {
        Self(self.0.with("remote", json!(remote.into())))
    }

    /// The branch that it would be for; the remote's main one otherwise.
    pub fn base(self, base: impl Into<String>) -> Self {
        Self(self.0.with("base", json!(base.into())))
    }

    /// How long each part of it may take; ten minutes otherwise.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self(self.0.timeout(timeout))
    }

    /// Asks for it, without waiting.
    pub fn start(self) -> Answer<PullRequestTarget> {
        self.0.start()
    }
}

/// Where a pull request would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestTarget {
    /// The remote's name.
    pub remote: String,
    /// Its address, without a password.
    pub url: String,
    /// The branch that it would be for.
    pub base: String,
    /// The forge; none if the remote is on no known one, and branches are only pushed there.
    pub forge: Option<String>,
    /// Why no pull request could be opened, and what to do about it.
    pub note: Option<String>,
}

asks_when_awaited!(CheckPr<'_> => PullRequestTarget);
asks_when_awaited!(Push<'_> => Pushed);
asks_when_awaited!(CreatePr<'_> => PullRequest);
