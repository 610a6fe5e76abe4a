//! Pull requests: what is asked for, and what there is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most characters of a title.
pub(crate) const TITLE_CHARS: usize = 250;

/// Most bytes of a body, with the mark: what the strictest of the forges takes.
pub(crate) const BODY_BYTES: usize = 60_000;

/// What tells one request from every other: part of the body, not seen by who reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// A mark out of the identity of whatever asks. Other characters than those of an id are left out.
    #[must_use]
    pub fn new(identity: &str) -> Self {
        let plain =
            |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '#' | ':');
        Self(identity.chars().filter(plain).collect())
    }

    /// Whether a body carries it.
    pub(crate) fn is_in(&self, body: &str) -> bool {
        body.contains(&self.to_string())
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<!-- agentos: {} -->", self.0)
    }
}

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
    /// The branch with the changes. It has been pushed.
    pub head: String,
    /// The branch that they are for.
    pub base: String,
    /// Not ready for a review yet.
    pub draft: bool,
    /// Labels to be put on it.
    pub labels: Vec<String>,
    /// Users who are asked for a review.
    pub reviewers: Vec<String>,
    /// Which request it is.
    pub mark: Mark,
}

/// How a pull request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullRequestState {
    /// It can be merged.
    Open,
    /// It was closed, or merged.
    Closed,
}

/// A pull request that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// Where people look at it.
    pub url: String,
    /// How it stands.
    pub state: PullRequestState,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The pull request.
    pub pull_request: PullRequest,
    /// Whether it was there before this call.
    pub existed: bool,
    /// Whether it carries the mark of the request: it was opened by this call, or by one that did not hear the answer.
    pub is_own: bool,
    /// What was asked for and could not be done, such as a reviewer whom the forge does not know. One sentence each.
    pub notices: Vec<String>,
}
