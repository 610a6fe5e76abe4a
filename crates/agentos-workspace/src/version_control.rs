//! The history of a workspace: what a workflow may do with it, and what it is told.
//!
//! [`VersionControl`] is what workflows know. [`git::GitRepository`] does it with git's own program, [`jj::JjRepository`]
//! where only jj keeps the files; [`open`] finds out which. Every verb can be asked again by somebody who does not know whether an earlier
//! asking was heard: branches are *ensured*, and a commit carries a [`Mark`] by which it is found again.
//!
//! Nothing that comes from outside can become an option of a program, whatever it looks like: names are checked before any
//! program sees them, and revisions become full ids in one place.

mod alone;
pub mod answer;
pub mod bounds;
mod call;
pub mod error;
pub mod git;
pub mod halt;
pub mod jj;
pub mod mark;
mod message;
pub mod remote;
pub mod request;
mod said;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use answer::{Branch, ChangedFile, Committed, Diff, LoggedCommit, Staged, Status};
pub use error::VersionControlError;
pub use halt::Halt;
pub use mark::Mark;
pub use remote::error::RemoteError;
pub use remote::{
    Base, BaseRequest, Force, PushOutcome, PushRequest, Pushed, Remote, Target, without_password,
};
pub use request::{DiffRequest, LogRequest, NewBranch, NewCommit, StatusRequest};

use crate::surroundings::Surroundings;

type Result<T> = std::result::Result<T, VersionControlError>;

/// The history of the workspace whose root this folder is. Its programs see the environment of `surroundings`. While
/// something is done, files are kept in the folder `scratch`, which is nobody else's: it is replaced, and gone afterwards.
///
/// Where git and jj keep the files together git is asked: jj takes over what it does.
///
/// # Errors
/// There is none: the folder above it is never taken instead.
pub fn open(
    folder: &Path,
    scratch: PathBuf,
    surroundings: Surroundings,
    halt: Halt,
) -> Result<Box<dyn VersionControl>> {
    if folder.join(".jj").is_dir() && !folder.join(".git").exists() {
        return Ok(Box::new(jj::JjRepository::open(folder, scratch, surroundings, halt)?));
    }
    Ok(Box::new(git::GitRepository::open(folder, scratch, surroundings, halt)?))
}

/// What a workflow may do with the history of its workspace. Calls block; each is bounded in time and in what it answers.
pub trait VersionControl {
    /// Sees to it that this branch exists and is checked out. What is changed in the files stays as it is.
    ///
    /// # Errors
    /// The name can't be one, changes would be lost, or another worktree has the branch checked out.
    fn ensure_branch(&self, branch: &NewBranch) -> Result<Branch>;

    /// The branch that is checked out; none if it is a commit.
    ///
    /// # Errors
    /// The repository can't be asked.
    fn current_branch(&self) -> Result<Option<String>>;

    /// The commit that is checked out; none before the first.
    ///
    /// # Errors
    /// The repository can't be asked.
    fn current_commit(&self) -> Result<Option<String>>;

    /// The files as they are, those that nobody has committed included, as the id of a tree: see [`NewCommit::since`].
    ///
    /// # Errors
    /// A file can't be read, or the files are in conflict.
    fn current_tree(&self) -> Result<String>;

    /// Makes everything that was changed, added or removed part of the next commit.
    ///
    /// # Errors
    /// A file can't be read, somebody else is at work, or there is a repository among the files.
    fn stage_all(&self) -> Result<Staged>;

    /// Commits what is staged, unless a commit of this mark was made already.
    ///
    /// # Errors
    /// Nothing is staged although something was changed, a hook refuses, it can't be signed, nobody is named as its author.
    fn commit(&self, commit: &NewCommit, mark: &Mark) -> Result<Committed>;

    /// How the files stand.
    ///
    /// # Errors
    /// The repository can't be asked.
    fn status(&self, request: &StatusRequest) -> Result<Status>;

    /// What differs between two commits, or between a commit and the files.
    ///
    /// # Errors
    /// There is no such commit.
    fn diff(&self, request: &DiffRequest) -> Result<Diff>;

    /// Commits, the latest first.
    ///
    /// # Errors
    /// There is no such commit.
    fn log(&self, request: &LogRequest) -> Result<Vec<LoggedCommit>>;

    /// A remote by its name. If nothing is said, the usual one: that of `remote.pushDefault`, else `origin`, else the one that
    /// the branch follows which is checked out here or in the main checkout, else the only one there is.
    ///
    /// # Errors
    /// There is none, or there are several and nothing says which.
    fn remote(&self, name: Option<&str>) -> Result<Remote>;

    /// The branch on a remote that work is to be for, if it is there. Only the remote is asked; nothing is fetched, and it
    /// does not matter what is checked out.
    ///
    /// # Errors
    /// There is no such branch, or the remote can't be asked.
    fn find_base(&self, request: &BaseRequest) -> Result<Target>;

    /// Sees to it that a branch is on a remote, as it is here. What the remote has is replaced only as the request says.
    ///
    /// # Errors
    /// The remote has somebody else's commits, does not take it, does not let us in, or can't be reached.
    fn push(&self, push: &PushRequest) -> Result<Pushed>;

    /// How a branch stands beside the one on a remote that it is for. That one's commits are fetched; no branch moves.
    ///
    /// # Errors
    /// There is no such branch, or the remote can't be asked.
    fn compare_with_base(&self, request: &BaseRequest) -> Result<Base>;

    /// Makes the commits of what is checked out again on top of its base. If that can't be done nothing has changed.
    ///
    /// # Errors
    /// Both have changed the same lines, or something is not committed.
    fn rebase(&self, base: &Base, timeout: Duration) -> Result<()>;

    /// Takes back a rebase in the middle of which somebody was killed.
    ///
    /// # Errors
    /// It can't be taken back.
    fn abort_rebase(&self) -> Result<()>;

    /// Clears up behind a predecessor that was killed in the middle of something, once nothing of it is alive. It may have
    /// wanted this branch.
    ///
    /// # Errors
    /// What it left can't be removed.
    fn clear_up(&self, branch: Option<&str>) -> Result<()>;
}
