//! Calls with options, one for each method that has some.

use std::time::Duration;

use serde_json::json;

use super::super::asks_when_awaited;
use super::Call;
use super::answers::{Branch, Committed, Diff, LoggedCommit, Status};
use crate::answer::Answer;

/// A branch that is about to be ensured.
#[derive(Debug)]
#[must_use = "a branch is ensured when it is awaited or started"]
pub struct EnsureBranch<'a>(pub(super) Call<'a>);

impl EnsureBranch<'_> {
    /// Where it begins if there is none yet; at what is checked out otherwise.
    pub fn from(self, revision: impl Into<String>) -> Self {
        Self(self.0.with("from", json!(revision.into())))
    }

    /// How long it may take, with its hooks.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self(self.0.timeout(timeout))
    }

    /// Asks for it, without waiting.
    pub fn start(self) -> Answer<Branch> {
        self.0.start()
    }
}

/// A commit that is about to be made.
#[derive(Debug)]
#[must_use = "a commit is made when it is awaited or started"]
pub struct Commit<'a>(pub(super) Call<'a>);

impl Commit<'_> {
    /// Who wrote it; whoever git is configured for otherwise.
    pub fn author(self, name: impl Into<String>, email: impl Into<String>) -> Self {
        let author = json!({ "name": name.into(), "email": email.into() });
        Self(self.0.with("author", author))
    }

    /// Adds a line to the end of its message, such as `Reviewed-by`.
    pub fn trailer(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let trailer = json!({ "key": key.into(), "value": value.into() });
        Self(self.0.push("trailers", [trailer]))
    }

    /// Stages everything first.
    pub fn all(self) -> Self {
        Self(self.0.with("all", json!(true)))
    }

    /// Stages first what has changed since the files were this tree ([`super::Git::current_tree`]), and leaves out what was
    /// there before.
    pub fn since(self, tree: impl Into<String>) -> Self {
        Self(self.0.with("since", json!(tree.into())))
    }

    /// Makes it even if it changes nothing.
    pub fn allow_empty(self) -> Self {
        Self(self.0.with("allow_empty", json!(true)))
    }

    /// Whether it is signed; as git is configured otherwise.
    pub fn sign(self, sign: bool) -> Self {
        Self(self.0.with("sign", json!(sign)))
    }

    /// Leaves out the hooks that could refuse it.
    pub fn no_verify(self) -> Self {
        Self(self.0.with("no_verify", json!(true)))
    }

    /// How long it may take, with its hooks; ten minutes otherwise.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self(self.0.timeout(timeout))
    }

    /// Asks for it, without waiting.
    pub fn start(self) -> Answer<Committed> {
        self.0.start()
    }
}

/// A look at the files.
#[derive(Debug)]
#[must_use = "the files are looked at when it is awaited or started"]
pub struct LookAtFiles<'a>(pub(super) Call<'a>);

impl LookAtFiles<'_> {
    /// How many changed files are named at most; 1,000 otherwise, never more than 10,000.
    pub fn limit(self, limit: usize) -> Self {
        Self(self.0.with("limit", json!(limit)))
    }

    /// Asks, without waiting.
    pub fn start(self) -> Answer<Status> {
        self.0.start()
    }
}

/// A comparison.
#[derive(Debug)]
#[must_use = "it is compared when it is awaited or started"]
pub struct CompareFiles<'a>(pub(super) Call<'a>);

impl CompareFiles<'_> {
    /// The old side; what is checked out otherwise.
    pub fn from(self, revision: impl Into<String>) -> Self {
        Self(self.0.with("from", json!(revision.into())))
    }

    /// The new side; the files as they are otherwise.
    pub fn to(self, revision: impl Into<String>) -> Self {
        Self(self.0.with("to", json!(revision.into())))
    }

    /// The new side is what is staged.
    pub fn staged(self) -> Self {
        Self(self.0.with("staged", json!(true)))
    }

    /// The old side is where the two sides parted.
    pub fn merge_base(self) -> Self {
        Self(self.0.with("merge_base", json!(true)))
    }

    /// Only these files and folders. They are paths, not patterns.
    pub fn paths<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        Self(self.0.push("paths", paths.into_iter().map(|path| json!(path.into()))))
    }

    /// Leaves out files that are not part of the history yet.
    pub fn tracked_only(self) -> Self {
        Self(self.0.with("untracked", json!(false)))
    }

    /// Only numbers, no text.
    pub fn stat(self) -> Self {
        Self(self.0.with("stat", json!(true)))
    }

    /// How long the text may be, in bytes; 256 KiB otherwise, never more than 1 MiB.
    pub fn text_bytes(self, limit: usize) -> Self {
        Self(self.0.with("text_bytes", json!(limit)))
    }

    /// How many changed files are named at most; 1,000 otherwise, never more than 10,000.
    pub fn limit(self, limit: usize) -> Self {
        Self(self.0.with("limit", json!(limit)))
    }

    /// Asks, without waiting.
    pub fn start(self) -> Answer<Diff> {
        self.0.start()
    }
}

/// A look at the past.
#[derive(Debug)]
#[must_use = "commits are listed when it is awaited or started"]
pub struct ListCommits<'a>(pub(super) Call<'a>);

impl ListCommits<'_> {
    /// How many at most; 20 otherwise, never more than 500.
    pub fn limit(self, limit: usize) -> Self {
        Self(self.0.with("limit", json!(limit)))
    }

    /// Only those that are not in this one's past.
    pub fn from(self, revision: impl Into<String>) -> Self {
        Self(self.0.with("from", json!(revision.into())))
    }

    /// Those in this one's past, itself included; what is checked out otherwise.
    pub fn to(self, revision: impl Into<String>) -> Self {
        Self(self.0.with("to", json!(revision.into())))
    }

    /// Only those that changed these files and folders.
    pub fn paths<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        Self(self.0.push("paths", paths.into_iter().map(|path| json!(path.into()))))
    }

    /// Asks, without waiting.
    pub fn start(self) -> Answer<Vec<LoggedCommit>> {
        self.0.start()
    }
}

asks_when_awaited!(EnsureBranch<'_> => Branch);
asks_when_awaited!(Commit<'_> => Committed);
asks_when_awaited!(LookAtFiles<'_> => Status);
asks_when_awaited!(CompareFiles<'_> => Diff);
asks_when_awaited!(ListCommits<'_> => Vec<LoggedCommit>);
