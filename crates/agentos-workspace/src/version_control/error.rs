//! Why something could not be done with the history, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use agentos_process::leftovers::LeftoverError;
use agentos_process::tool::ToolError;
use thiserror::Error;

use super::remote::error::RemoteError;
use crate::files::FileError;
use crate::git::GitError;
use crate::jj::JjError;
use crate::stale_lock::FoundLock;

/// Why something could not be done with the history.
#[derive(Debug, Error)]
pub enum VersionControlError {
    /// What was asked for can't be done, whoever asks.
    #[error("{message}")]
    Input {
        /// What is wrong with it.
        message: String,
    },
    /// The workspace has no history.
    #[error("{} is no git repository; `git init` makes it one", folder.display())]
    NoRepository {
        /// The workspace.
        folder: PathBuf,
    },
    /// Another program keeps its history.
    #[error("{} is a jj workspace without a git repository beside it; use `jj git init --colocate`", folder.display())]
    OnlyJj {
        /// The workspace.
        folder: PathBuf,
    },
    /// A history was found, of something that the workspace is only a part of.
    #[error(
        "{} is not the root of a git worktree, {} is; a workflow changes only the history of its own workspace",
        folder.display(),
        root.display()
    )]
    NotTheRoot {
        /// The workspace.
        folder: PathBuf,
        /// What git found.
        root: PathBuf,
    },
    /// git can't be asked.
    #[error(transparent)]
    Git(#[from] GitError),
    /// What jj has written about the workspace can't be used.
    #[error(transparent)]
    Jj(#[from] JjError),
    /// What we have written about it can't be used.
    #[error(transparent)]
    Written(#[from] FileError),
    /// git or jj can't be run.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// What somebody who was killed has left at work can't be ended.
    #[error(transparent)]
    Leftovers(#[from] LeftoverError),
    /// It took too long.
    #[error(
        "{call} did not end within {} s and was killed{}",
        after.as_secs_f32(),
        if *is_hooked { "; a hook or a signing program may be waiting for an answer that nobody gives" } else { "" }
    )]
    TimedOut {
        /// What was called.
        call: String,
        /// The limit.
        after: Duration,
        /// Whether other programs may have been started by it.
        is_hooked: bool,
    },
    /// Another program works on the same files, or left a lock behind.
    #[error(
        "the repository is locked: {lock}{}", if lock.is_stale() { "; remove that file" } else { "" }
    )]
    Locked {
        /// The lock.
        lock: FoundLock,
    },
    /// Another AgentOS changes the same worktree, and does not come to an end.
    #[error(
        "another AgentOS changes the repository of {} and has not ended within {} s; try again when it has",
        folder.display(),
        after.as_secs()
    )]
    Busy {
        /// The workspace.
        folder: PathBuf,
        /// How long it was waited for.
        after: Duration,
    },
    /// The branch is checked out in another worktree.
    #[error("the branch `{branch}` is checked out in another worktree: {said}")]
    Elsewhere {
        /// The branch.
        branch: String,
        /// What git said.
        said: String,
    },
    /// Changed files would be lost.
    #[error(
        "the branch `{branch}` can't be checked out without losing changes; commit them first: {said}"
    )]
    WouldLose {
        /// The branch.
        branch: String,
        /// What git said.
        said: String,
    },
    /// Nothing is staged although there is something.
    #[error(
        "nothing is staged, but {} changed; stage with `stageAll`, or commit with `all`", files(*.changed)
    )]
    NothingStaged {
        /// How many.
        changed: usize,
    },
    /// There is no commit yet, and nothing to make one of.
    #[error("there is nothing to commit, and no commit yet; `allowEmpty` makes an empty one")]
    NothingYet,
    /// Files are in conflict.
    #[error("{} in conflict, `{first}` for one; resolve and stage first", files(*.count))]
    Conflicts {
        /// How many.
        count: usize,
        /// One of them.
        first: String,
    },
    /// git would record only which commit a folder is at, and nothing of its files.
    #[error(
        "`{first}` is a git repository of its own{}, and its files would not be part of the commit; name it in .gitignore, \
         make it a submodule, or remove its .git",
        if *count > 1 { format!(", one of {count} in here") } else { String::new() }
    )]
    Embedded {
        /// How many there are.
        count: usize,
        /// One of them.
        first: String,
    },
    /// Nobody is named as the author.
    #[error(
        "nobody is named as the one who commits; set user.name and user.email with `git config` (or `jj config`), or name an \
         `author`"
    )]
    NoIdentity,
    /// A hook refused.
    #[error("the hook `{hook}` refused: {said}")]
    Hook {
        /// Which.
        hook: String,
        /// What it said.
        said: String,
    },
    /// It can't be signed.
    #[error("the commit can't be signed; configure a key, or commit with `sign: false`: {said}")]
    Signing {
        /// What git said.
        said: String,
    },
    /// git or jj refused for a reason of its own.
    #[error("{call} failed: {said}")]
    Refused {
        /// What was called.
        call: String,
        /// What it said.
        said: String,
    },
    /// It did not get to a remote, or not from it.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A file of ours can't be written or read.
    #[error("{what}: {source}")]
    File {
        /// What was to be done.
        what: &'static str,
        /// Why it can't be done.
        source: io::Error,
    },
    /// Somebody wanted it to stop.
    #[error("stopped")]
    Halted,
}

impl VersionControlError {
    /// Whether it would fail in the same way however often it is tried.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        if let Self::Remote(error) = self {
            return error.is_final();
        }
        matches!(
            self,
            Self::Input { .. }
                | Self::NoRepository { .. }
                | Self::OnlyJj { .. }
                | Self::NotTheRoot { .. }
                | Self::NothingStaged { .. }
                | Self::NothingYet
                | Self::NoIdentity
                | Self::Conflicts { .. }
                | Self::Embedded { .. }
        )
    }

    /// Whether it was a matter of time.
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. })
    }
}

/// So many files, as the beginning of a sentence about them.
fn files(count: usize) -> String {
    if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") }
}
