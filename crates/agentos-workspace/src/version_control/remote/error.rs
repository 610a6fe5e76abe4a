//! Why something did not get to a remote, or not from it, and what to do about it.

use thiserror::Error;

/// Why something did not get to a remote, or not from it.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// There is no remote of this name.
    #[error(
        "there is no remote `{remote}`{}; `git remote add {remote} URL` makes one",
        if known.is_empty() { String::new() } else { format!(" (there is {})", known.join(", ")) }
    )]
    NoRemote {
        /// What was named.
        remote: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// There are several remotes, and nothing says which is meant.
    #[error(
        "there are several remotes ({}), and none of them is `origin`; say which is meant: name it, or `git config \
         remote.pushDefault {}`", known.join(", "), known.first().map_or("NAME", String::as_str)
    )]
    Several {
        /// Those that there are.
        known: Vec<String>,
    },
    /// The remote has no such branch.
    #[error("{remote} has no branch `{branch}`; push it first, or name another `base`")]
    NoBase {
        /// The remote.
        remote: String,
        /// The branch.
        branch: String,
    },
    /// The remote does not say which of its branches is the main one.
    #[error("{remote} does not say which of its branches is the main one; name a `base`")]
    NoDefault {
        /// The remote.
        remote: String,
    },
    /// The branch on the remote has commits that were never part of the one here.
    #[error(
        "the branch `{branch}` on {remote} has commits of somebody else ({}), which are never overwritten; fetch and \
         merge or rebase onto them, or push another branch", &commit[..commit.len().min(10)]
    )]
    NotOurs {
        /// The remote.
        remote: String,
        /// The branch.
        branch: String,
        /// What is there.
        commit: String,
    },
    /// The branch was rewritten here, and it was said that nothing may be replaced.
    #[error(
        "the branch `{branch}` was rewritten, and what {remote} has would be replaced; leave out `force: false`, or push \
         another branch"
    )]
    NotForward {
        /// The remote.
        remote: String,
        /// The branch.
        branch: String,
    },
    /// The remote does not take it: a hook or a protected branch.
    #[error(
        "{remote} rejected the branch `{branch}` ({reason}){}; change what it asks for, or push another branch",
        if said.is_empty() { String::new() } else { format!(": {said}") }
    )]
    Rejected {
        /// The remote.
        remote: String,
        /// The branch.
        branch: String,
        /// The reason in git's words.
        reason: String,
        /// What the remote said besides.
        said: String,
    },
    /// The branch on the remote moved in the very moment.
    #[error("the branch `{branch}` on {remote} was moved by somebody else just now; try again")]
    Moved {
        /// The remote.
        remote: String,
        /// The branch.
        branch: String,
    },
    /// The remote does not let us in, or is not there.
    #[error(
        "{remote} can't be used: {said}; nobody is asked for a password here: check the address, and the key or \
         credential helper that git uses"
    )]
    NoEntry {
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
    /// The remote can't be reached, for now.
    #[error("{remote} can't be reached, also not after {tries} tries: {said}")]
    Unreachable {
        /// The remote.
        remote: String,
        /// How often it was tried.
        tries: u32,
        /// What git said last.
        said: String,
    },
    /// The work and its base have changed the same lines.
    #[error(
        "the branch can't be rebased onto `{base}`: both have changed {}; nothing was changed here: resolve it by hand, or \
         leave `onBehind` at \"continue\"",
        listed(files)
    )]
    Conflicts {
        /// The base.
        base: String,
        /// The files.
        files: Vec<String>,
    },
    /// A rebase would mix with what is not committed.
    #[error("the branch can't be rebased: {reason}")]
    NotNow {
        /// What is in the way.
        reason: String,
    },
}

impl RemoteError {
    /// Whether it would fail in the same way however often it is tried.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        !matches!(self, Self::Unreachable { .. } | Self::Moved { .. })
    }
}

/// Most files that a message names.
const NAMED: usize = 20;

fn listed(files: &[String]) -> String {
    let named: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    match files.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
