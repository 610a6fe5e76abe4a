//! What would be lost with a workspace, how much of it, and where it would be kept.
//!
//! [`Yard::look`](super::yard::Yard::look) finds out. Nothing is removed on anybody's word but a verdict's.

mod commits;
mod look;
mod nested;
mod private;
mod users;

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::Kind;
use super::id::WorkspaceId;
pub use commits::Integrated;
pub(super) use commits::has_own;
pub use look::LookError;
pub(super) use look::is_half_done;
pub use users::User;

/// How many files are named.
const NAMED: usize = 3;

/// What may be in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Changes in the index.
    Staged,
    /// Changes in files.
    Unstaged,
    /// Files that were never added.
    Untracked,
    /// Ignored files that can't be made again.
    Ignored,
    /// Ignored files that can be.
    Reproducible,
    /// Ignored files that the main checkout has too, byte for byte.
    Copied,
    /// Commits on its branch that are nowhere else.
    Unpushed,
    /// Commits on no branch, or on other branches of a clone.
    Detached,
    /// Commits of jj that no bookmark leads to.
    Anonymous,
    /// Commits that only a log knows: amended, or reset away.
    Rewritten,
    /// Tags, notes, branches and other names of a clone that the repository does not have.
    Names,
    /// What is only in the git folder of a clone: settings, hooks, files in LFS, worktrees elsewhere that need it.
    Private,
    /// Changes put aside on its branch.
    Stashed,
    /// A submodule.
    Submodule,
    /// A repository that somebody has made in it.
    NestedRepository,
    /// A merge, rebase, pick or bisection that is not done.
    InProgress,
    /// A jj workspace that jj does not look at any more.
    Estranged,
    /// Somebody else's lock.
    Locked,
    /// Somebody who is in it.
    InUse,
    /// A folder from elsewhere that is mounted in it.
    Mounted,
}

impl What {
    /// What there is of it, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Unstaged => "changed and not staged",
            Self::Untracked => "untracked",
            Self::Ignored => "ignored, and not reproducible",
            Self::Reproducible => "ignored, and reproducible",
            Self::Copied => "ignored, and the same in the main checkout",
            Self::Unpushed => "commits that are on no other branch and no remote",
            Self::Detached => "commits that are on no branch of the repository",
            Self::Anonymous => "commits without a bookmark, which jj keeps",
            Self::Rewritten => "commits that only a log knows",
            Self::Names => "names that the repository does not have",
            Self::Private => "only in the clone's own git folder",
            Self::Stashed => "stashed",
            Self::Submodule => "submodules",
            Self::NestedRepository => "repositories inside",
            Self::InProgress => "not finished",
            Self::Estranged => "working copy that jj does not look at any more",
            Self::Locked => "locked by somebody else",
            Self::InUse => "in use",
            Self::Mounted => "mounted in it",
        }
    }
}

/// Where something is after the workspace is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// Under `refs/agentos/backup/`, with `--force`.
    Backup,
    /// In the archive of that backup.
    Archive,
    /// Where it is: removing the workspace does not touch it.
    InPlace,
    /// Nowhere.
    Nowhere,
}

/// What it means for the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing would be lost.
    Free,
    /// It is backed up whenever the workspace is removed.
    Saved,
    /// The workspace is removed only by force, after a backup.
    Blocks,
    /// The workspace is not removed.
    Forbids,
}

/// Something in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub what: What,
    /// What that means.
    pub weight: Weight,
    /// How many.
    pub count: u64,
    /// How much, in bytes, where that means something.
    pub bytes: Option<u64>,
    /// Some of them.
    pub examples: Vec<String>,
    /// Where they would be kept.
    pub kept: Kept,
}

impl Finding {
    fn new(what: What, weight: Weight, kept: Kept) -> Self {
        Self { what, weight, count: 0, bytes: None, examples: Vec::new(), kept }
    }

    fn add(&mut self, example: impl FnOnce() -> String, bytes: Option<u64>) {
        self.count += 1;
        if let Some(bytes) = bytes {
            self.bytes = Some(self.bytes.unwrap_or(0) + bytes);
        }
        if self.examples.len() < NAMED {
            self.examples.push(example());
        }
    }
}

/// What would be lost with a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Which workspace.
    pub workspace_id: WorkspaceId,
    /// Where it is.
    pub path: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// Its branch.
    pub branch: Option<String>,
    /// Whether what is on its branch is in the project already, and how.
    pub integrated: Option<Integrated>,
    /// What is in it.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether it may be removed without force: nothing would be lost.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.heaviest() <= 1
    }

    /// Whether it may be removed at all.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.heaviest() == 3
    }

    /// Whether something in it has to be backed up before it is removed.
    #[must_use]
    pub fn needs_backup(&self) -> bool {
        self.heaviest() >= 1
    }

    fn heaviest(&self) -> u8 {
        self.findings.iter().map(|finding| finding.weight as u8).max().unwrap_or(0)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.heaviest() {
            0 | 1 => "nothing would be lost",
            2 => "work would be lost without a backup",
            _ => "it can't be removed now",
        };
        write!(f, "{} ({}): {end}", self.workspace_id, self.kind)?;
        if let (Some(integrated), Some(branch)) = (&self.integrated, &self.branch) {
            write!(f, "\n  {branch} is in {}: {}", integrated.into, integrated.how.words())?;
        }
        for finding in &self.findings {
            write!(f, "\n  {finding}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, self.what.words())?;
        if let Some(bytes) = self.bytes {
            write!(f, ", {}", size(bytes))?;
        }
        if !self.examples.is_empty() {
            let more = if self.count > self.examples.len() as u64 { ", …" } else { "" };
            write!(f, ": {}{more}", self.examples.join(", "))?;
        }
        let kept = match (self.kept, self.weight) {
            (_, Weight::Forbids) => return Ok(()),
            (Kept::Backup, _) => "kept under refs/agentos/backup",
            (Kept::Archive, _) => "kept in the backup's archive",
            (Kept::InPlace, _) => "stays where it is",
            (Kept::Nowhere, _) => "not kept",
        };
        write!(f, " ({kept})")
    }
}

/// A size, for people.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1500), "1.5 kB");
        assert_eq!(size(256 << 20), "268.4 MB");
    }
}
