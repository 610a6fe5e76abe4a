//! Which commits only a workspace knows: those that are named in its private folder, in the log of its branch, and in the
//! private folders of worktrees inside of it.
//!
//! Files are read for whatever looks like an id, which needs no list of what git keeps where. Where git keeps refs and logs
//! in tables (reftable), git is asked.

use std::path::{Path, PathBuf};

use super::{BackupError, branch_log, objects};
use crate::workspace::inner::Inner;
use crate::workspace::plumbing::{Plumbing, Stand, parts};
use crate::workspace::porcelain::{CallError, line};
use crate::workspace::{Kind, Workspace};

/// Most lines of a branch's log that are put back one by one.
const LOG_LINES: &str = "500";

/// Refs that belong to one worktree.
const OF_ONE_WORKTREE: [&str; 3] = ["refs/worktree/", "refs/bisect/", "refs/rewritten/"];

/// A workspace's private folder, and where git is asked about it; the workspace itself may be gone.
#[derive(Debug, Clone, Copy)]
pub(in crate::workspace) struct Known<'a> {
    pub(in crate::workspace) plumbing: Plumbing<'a>,
    pub(in crate::workspace) history: Stand<'a>,
    pub(in crate::workspace) private: &'a Path,
    pub(in crate::workspace) workspace: &'a Workspace,
}

impl Known<'_> {
    /// The commits that are named anywhere, each only if no other one leads to it.
    pub(in crate::workspace) fn commits(
        &self,
        inner: &[Inner],
        more: impl IntoIterator<Item = String>,
    ) -> Result<Vec<String>, BackupError> {
        if self.workspace.kind == Kind::Jj && inner.is_empty() {
            return objects::named_commits(self.plumbing, self.history, &[], more);
        }
        let mut ids: Vec<String> = more.into_iter().collect();
        let mut places: Vec<PathBuf> = inner.iter().map(|inner| inner.private.clone()).collect();
        for inner in inner {
            ids.extend(in_tables(self.plumbing, inner.stand(), &inner.private, |_| false)?);
        }
        if self.workspace.kind != Kind::Jj {
            places.push(self.private.to_owned());
            places.extend(branch_log(self.workspace));
            let own = self.workspace.branch.as_ref().map(|own| format!("refs/heads/{own}"));
            let is_clone = self.workspace.kind == Kind::Clone;
            let is_own = |name: &str| is_clone || own.as_deref() == Some(name);
            ids.extend(in_tables(self.plumbing, self.history, self.private, is_own)?);
        }
        objects::named_commits(self.plumbing, self.history, &places, ids)
    }

    /// Whether a table says that something is half done, for which there would be a file otherwise.
    pub(in crate::workspace) fn has_root_ref(&self, name: &str) -> Result<bool, CallError> {
        let asked = ["rev-parse", "--verify", "--quiet", name];
        Ok(has_tables(self.private) && self.plumbing.ask(self.history, asked)?.is_some())
    }
}

/// Whether git keeps refs in tables here.
pub(in crate::workspace) fn has_tables(git_dir: &Path) -> bool {
    git_dir.join("reftable").is_dir()
}

/// What the tables of one worktree name: its own refs and logs, and the others that are asked for.
fn in_tables(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    private: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>, CallError> {
    if !has_tables(private) {
        return Ok(Vec::new());
    }
    let is_meant = |name: &str| {
        let is_its = !name.starts_with("refs/")
            || OF_ONE_WORKTREE.iter().any(|beginning| name.starts_with(beginning));
        is_its || is_wanted(name)
    };
    let how = ["for-each-ref", "--include-root-refs", "--format=%(objectname) %(refname)"];
    let said = line(&plumbing.call(stand, how)?);
    let named = said.lines().filter_map(|line| line.split_once(' '));
    let mut ids: Vec<String> =
        named.filter(|(_, name)| is_meant(name)).map(|(id, _)| id.to_owned()).collect();
    let logs = line(&plumbing.call(stand, ["reflog", "list"])?);
    for name in logs.lines().filter(|name| is_meant(name)) {
        let said = line(&plumbing.call(stand, ["log", "-g", "--format=%H", name, "--"])?);
        ids.extend(said.lines().map(str::to_owned));
    }
    Ok(ids)
}

/// Where a branch was, the oldest first, and why: only where no file says so.
pub(in crate::workspace) fn branch_lines(
    plumbing: Plumbing<'_>,
    workspace: &Workspace,
) -> Result<Vec<(String, String)>, CallError> {
    let Some(branch) = workspace.branch.as_deref().filter(|_| has_tables(&workspace.repository))
    else {
        return Ok(Vec::new());
    };
    let name = format!("refs/heads/{branch}");
    let how = ["log", "-g", "-z", "-n", LOG_LINES, "--format=%H %gs", &name, "--"];
    let stand = Stand::repository(&workspace.repository);
    let said = plumbing.ask(stand, how)?.unwrap_or_default();
    let mut lines: Vec<(String, String)> = parts(&said)
        .filter_map(|part| {
            let text = String::from_utf8_lossy(part);
            let (at, message) = text.split_once(' ')?;
            Some((at.to_owned(), message.to_owned()))
        })
        .collect();
    lines.reverse();
    Ok(lines)
}
