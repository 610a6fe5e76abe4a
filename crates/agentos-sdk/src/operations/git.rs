//! The history of the workspace.
//!
//! Each method is an operation of its own, whose name is the method's, as TypeScript spells it.

mod answers;
mod exchange;
mod requests;

use std::panic::Location;
use std::time::Duration;

use agentos_core::failure::Failure;
use agentos_core::operation::OperationKind;
use agentos_core::value::Value;
use serde_json::json;

pub use answers::{
    Branch, Change, ChangeKind, ChangedFile, Committed, Diff, LoggedCommit, Staged, Status,
};
pub use exchange::{
    CheckPr, CreatePr, OnBehind, PullRequest, PullRequestTarget, Push, PushOutcome, Pushed,
};
pub use requests::{Commit, CompareFiles, EnsureBranch, ListCommits, LookAtFiles};

use crate::answer::Answer;
use crate::ctx::{Ctx, millis, perform};

impl Ctx {
    /// The history of the workspace.
    #[must_use]
    pub const fn git(&self) -> Git<'_> {
        Git(self)
    }
}

/// What can be done with the history of the workspace.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a>(&'a Ctx);

impl<'a> Git<'a> {
    /// Sees to it that this branch exists and is checked out. What is changed in the files stays as it is.
    #[track_caller]
    pub fn ensure_branch(&self, branch: impl Into<String>) -> EnsureBranch<'a> {
        EnsureBranch(Call::new(self.0, "ensureBranch").with("branch", json!(branch.into())))
    }

    /// The branch that is checked out; none if it is a commit.
    #[track_caller]
    pub fn current_branch(&self) -> Answer<Option<String>> {
        Call::new(self.0, "getCurrentBranch").start()
    }

    /// Commits what is staged, or with [`Commit::all`] everything. It is made once, however often it is interrupted. If
    /// there is nothing to commit, [`Committed::created`] says so; files that were changed and not staged are a failure, and
    /// so is, with `all`, a folder that has a repository of its own and is not ignored.
    #[track_caller]
    pub fn commit(&self, message: impl Into<String>) -> Commit<'a> {
        Commit(Call::new(self.0, "commit").with("message", json!(message.into())))
    }

    /// The commit that is checked out; none before the first.
    #[track_caller]
    pub fn current_commit(&self) -> Answer<Option<String>> {
        Call::new(self.0, "getCurrentCommit").start()
    }

    /// The files as they are, those that nobody has committed included, as the id of a tree. With [`Commit::since`] only what
    /// changes from now on is committed.
    #[track_caller]
    pub fn current_tree(&self) -> Answer<String> {
        Call::new(self.0, "getCurrentTree").start()
    }

    /// Makes everything that was changed, added or removed part of the next commit.
    #[track_caller]
    pub fn stage_all(&self) -> Answer<Staged> {
        Call::new(self.0, "stageAll").start()
    }

    /// How the files stand.
    #[track_caller]
    pub fn status(&self) -> LookAtFiles<'a> {
        LookAtFiles(Call::new(self.0, "status"))
    }

    /// What differs: between the files and what is checked out, unless it is said otherwise.
    #[track_caller]
    pub fn diff(&self) -> CompareFiles<'a> {
        CompareFiles(Call::new(self.0, "diff"))
    }

    /// Commits, the latest first.
    #[track_caller]
    pub fn log(&self) -> ListCommits<'a> {
        ListCommits(Call::new(self.0, "log"))
    }

    /// Sees to it that the branch is on its remote as it is here. Somebody else's commits are never overwritten.
    #[track_caller]
    pub fn push(&self) -> Push<'a> {
        Push(Call::new(self.0, "push"))
    }

    /// Looks whether [`Git::create_pr`] will be able to open a pull request, and changes nothing: remote, base, template, and
    /// a token that the forge accepts. It fails as that one would. For the beginning of a workflow.
    #[track_caller]
    pub fn check_pr(&self) -> CheckPr<'a> {
        CheckPr(Call::new(self.0, "checkPr"))
    }

    /// Pushes the branch and opens a pull request for it, once, however often that is interrupted. If there is an open one
    /// for the branch, that is the answer. On a remote that is no known forge it is only pushed, and
    /// [`PullRequest::note`] says so.
    #[track_caller]
    pub fn create_pr(&self, title: impl Into<String>) -> CreatePr<'a> {
        CreatePr(Call::new(self.0, "createPr").with("title", json!(title.into())))
    }
}

/// A call that is about to be made.
#[derive(Debug)]
struct Call<'a> {
    ctx: &'a Ctx,
    method: &'static str,
    order: Value,
    from: &'static Location<'static>,
}

impl<'a> Call<'a> {
    #[track_caller]
    fn new(ctx: &'a Ctx, method: &'static str) -> Self {
        Self { ctx, method, order: json!({}), from: Location::caller() }
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.order[key] = value;
        self
    }

    fn timeout(self, timeout: Duration) -> Self {
        self.with("timeout_ms", json!(millis(timeout)))
    }

    /// Adds to a list.
    fn push(mut self, key: &str, values: impl IntoIterator<Item = Value>) -> Self {
        let list = self.order[key].as_array().cloned().unwrap_or_default();
        self.order[key] = list.into_iter().chain(values).collect();
        self
    }

    fn start<T>(self) -> Answer<T> {
        let request: Result<_, Failure> = perform(OperationKind::Git, self.method, self.order);
        self.ctx.ask(request, self.from)
    }
}
