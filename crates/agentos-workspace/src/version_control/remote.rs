//! What is said to a remote and about it: what can be asked for, and what is answered.
//!
//! A push is asked for by what shall be true afterwards: the branch over there is at this commit. So it can be asked for
//! again by somebody who does not know whether it happened. What the remote has is replaced only if it was once part of the
//! branch here; everything else over there is somebody else's work.

pub mod error;
pub(super) mod trouble;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::EXCHANGE;

/// The remote that is meant if nothing else is said, and there is one of this name.
pub const ORIGIN: &str = "origin";

/// A branch that is to be on a remote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PushRequest {
    /// Where to; the usual one if nothing is said, see [`super::VersionControl::remote`].
    pub remote: Option<String>,
    /// Which; the one that is checked out if nothing is said.
    pub branch: Option<String>,
    /// What may be replaced over there.
    pub force: Option<Force>,
    /// Whether the branch follows the one over there from now on. It does if nothing is said.
    pub set_upstream: Option<bool>,
    /// How long it may take with its hooks.
    pub timeout_ms: Option<u64>,
}

/// What of a remote's branch may be replaced by other commits. If nothing is said: what was once part of the branch here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// Nothing: commits are only added.
    Never,
    /// Whatever was there when this repository last looked.
    Lease,
}

impl PushRequest {
    /// How long it may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout_ms.map_or(EXCHANGE, Duration::from_millis)
    }
}

/// A branch that is on a remote now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

/// What it took to have a branch on a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

/// A remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// What it is called here.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// Where it is as it was written down, before git's `insteadOf` had its say.
    pub written: String,
}

/// Which branch a branch is to be compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseRequest {
    /// On which remote; the usual one if nothing is said, see [`super::VersionControl::remote`].
    pub remote: Option<String>,
    /// The branch over there that the work is for; the remote's own choice if nothing is said.
    pub base: Option<String>,
    /// The branch here with the work; the one that is checked out if nothing is said.
    pub head: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A branch on a remote that work is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The remote.
    pub remote: Remote,
    /// The branch over there.
    pub base: String,
}

/// How a branch stands beside the one that it is for, as of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The remote.
    pub remote: Remote,
    /// The branch over there that the work is for.
    pub base: String,
    /// Its commit, which is here too.
    pub base_commit: String,
    /// The branch with the work.
    pub head: String,
    /// Its commit.
    pub head_commit: String,
    /// How many commits of the base the work does not have.
    pub behind: u64,
    /// How many commits the base does not have.
    pub ahead: u64,
}

/// An address without the password that may be in it.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // `ssh://git@host` names an account and no secret.
    match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') || scheme.starts_with("http") => {
            format!("{scheme}://{host}{path}")
        }
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn nobody_reads_a_password_in_an_address() {
        for (url, seen) in [
            ("https://me:secret@host/a/b.git", "https://host/a/b.git"),
            ("https://token@host/a", "https://host/a"),
            ("ssh://git@host:22/a", "ssh://git@host:22/a"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("/srv/a@b.git", "/srv/a@b.git"),
        ] {
            assert_eq!(without_password(url), seen);
        }
    }
}
