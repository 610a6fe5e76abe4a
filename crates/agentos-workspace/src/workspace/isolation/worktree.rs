//! A git worktree: born locked, so that nobody's `git worktree prune` takes it for gone, and without a word in the
//! repository's configuration, for which parallel calls would quarrel.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{
    Isolation, IsolationError, Site, check_for_git, commit_in_git, delete_branch_in_git,
    head_in_git, tip_in_git,
};
use crate::checkout::{Checkout, Kind as Keeper};
use crate::workspace::{Kind, Workspace, policy};

/// How git locks a worktree while it makes it: what a killed git leaves behind.
const UNFINISHED: &str = "initializing";

/// A git worktree.
#[derive(Debug, Clone, Copy, Default)]
pub struct Worktree;

/// What git says of a worktree, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Listed {
    /// Where it is.
    root: PathBuf,
    /// Why it is locked, if it is.
    locked: Option<String>,
}

impl Listed {
    /// Whether git made it for this very workspace, or was killed before it could say for whom.
    fn is_of_making(&self, workspace: &Workspace) -> bool {
        let reason = self.locked.as_deref().unwrap_or_default();
        reason == UNFINISHED || reason.contains(&workspace.nonce.to_string())
    }
}

impl Isolation for Worktree {
    fn kind(&self) -> Kind {
        Kind::Worktree
    }

    fn check(&self, site: &Site<'_>) -> Result<(), IsolationError> {
        check_for_git(site, self.kind())
    }

    fn resolve(&self, site: &Site<'_>, base: Option<&str>) -> Result<String, IsolationError> {
        commit_in_git(site, base)
    }

    fn tip(&self, site: &Site<'_>, branch: &str) -> Result<Option<String>, IsolationError> {
        tip_in_git(site, branch)
    }

    fn make(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
        let path = workspace.path.to_string_lossy();
        let reason = lock_reason(workspace);
        let mut arguments = policy::for_checkout(site, workspace)?;
        arguments.extend(["-c", "checkout.workers=0", "worktree", "add", "--quiet"]);
        arguments.extend(["--lock", "--reason", &reason]);
        match &workspace.branch {
            Some(branch) if workspace.is_branch_ours => {
                arguments.extend(["--no-track", "-b", branch, "--", &*path, &workspace.base]);
            }
            Some(branch) => arguments.extend(["--", &*path, branch]),
            None => arguments.extend(["--detach", "--", &*path, &workspace.base]),
        }
        forget_missing(site, workspace)?;
        site.porcelain().git(&site.repository.checkout.root, arguments)?;
        Ok(())
    }

    fn is_of_this_making(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<bool, IsolationError> {
        if !is_unfinished(&workspace.path, &site.repository.checkout.repository) {
            return Ok(false);
        }
        let entry = list(site)?.into_iter().find(|listed| listed.root == workspace.path);
        Ok(entry.is_none_or(|listed| listed.is_of_making(workspace)))
    }

    fn undo(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
        let root = &site.repository.checkout.root;
        let entry = list(site)?.into_iter().find(|listed| listed.root == workspace.path);
        if entry.as_ref().is_some_and(|listed| !listed.is_of_making(workspace)) {
            return Ok(());
        }
        // git refuses to remove one that is half made; without its folder it does not.
        if entry.is_some() && !workspace.path.exists() {
            let path = workspace.path.to_string_lossy();
            site.porcelain().git(root, ["worktree", "remove", "-f", "-f", "--", &*path])?;
        }
        match &workspace.branch {
            Some(branch) if workspace.is_branch_ours => take_back_branch(site, branch, workspace),
            _ => Ok(()),
        }
    }

    fn fits(&self, workspace: &Workspace, found: &Checkout) -> Result<(), String> {
        if found.kind != Keeper::Git || found.is_main {
            return Err("it is no git worktree any more".to_owned());
        }
        if found.repository != workspace.repository {
            return Err(format!("it belongs to the repository {}", found.repository.display()));
        }
        Ok(())
    }

    fn head(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<Option<String>, IsolationError> {
        head_in_git(site, workspace)
    }

    fn collect(&self, _: &Site<'_>, _: &Workspace) -> Result<Option<String>, IsolationError> {
        Ok(None)
    }

    fn forget(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
        forget_missing(site, workspace)
    }

    fn delete_branch(
        &self,
        site: &Site<'_>,
        branch: &str,
        tip: &str,
    ) -> Result<bool, IsolationError> {
        delete_branch_in_git(site, branch, tip)
    }
}

/// Why it is locked: for people, and with the nonce, which nobody else's has.
fn lock_reason(workspace: &Workspace) -> String {
    format!("{}({})", lock_beginning(workspace), workspace.nonce)
}

fn lock_beginning(workspace: &Workspace) -> String {
    format!("agentos workspace {} ", workspace.id)
}

/// Lets git forget the worktree that was at this path, if it was this workspace's and its folder is gone: it would refuse
/// to make another one there.
fn forget_missing(site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
    let is_there = fs::symlink_metadata(&workspace.path).is_ok();
    if is_there || !may_be_listed(&workspace.repository, &workspace.path) {
        return Ok(());
    }
    let entry = list(site)?.into_iter().find(|listed| listed.root == workspace.path);
    // Somebody may have taken our lock off; somebody else's is respected.
    let is_ours = |listed: Listed| {
        listed.locked.is_none_or(|reason| reason.starts_with(&lock_beginning(workspace)))
    };
    if entry.is_some_and(is_ours) {
        let path = workspace.path.to_string_lossy();
        let root = &site.repository.checkout.root;
        site.porcelain().git(root, ["worktree", "remove", "-f", "-f", "--", &*path])?;
    }
    Ok(())
}

/// Lets git forget worktrees that were inside of a workspace whose folder is gone. They are in its backup.
pub(in crate::workspace) fn forget_inside(
    site: &Site<'_>,
    workspace: &Workspace,
) -> Result<(), IsolationError> {
    for listed in list(site)? {
        let is_inside = listed.root.starts_with(&workspace.path) && listed.root != workspace.path;
        if is_inside && fs::symlink_metadata(&listed.root).is_err() {
            let path = listed.root.to_string_lossy();
            let root = &site.repository.checkout.root;
            site.porcelain().git(root, ["worktree", "remove", "-f", "-f", "--", &*path])?;
        }
    }
    Ok(())
}

/// Whether git could know a worktree at this path: it keeps a file for each. What can't be told so is left to git itself.
fn may_be_listed(repository: &Path, path: &Path) -> bool {
    let entries = match fs::read_dir(repository.join("worktrees")) {
        Ok(entries) => entries,
        Err(error) => return error.kind() != io::ErrorKind::NotFound,
    };
    let link = path.join(".git");
    entries.into_iter().any(|entry| {
        let written = entry.and_then(|entry| fs::read_to_string(entry.path().join("gitdir")));
        written.map_or(true, |written| {
            let written = Path::new(written.trim_end_matches('\n'));
            written.is_relative() || written == link
        })
    })
}

/// Every worktree that git knows of, with its lock.
fn list(site: &Site<'_>) -> Result<Vec<Listed>, IsolationError> {
    let root = &site.repository.checkout.root;
    let output = site.porcelain().git(root, ["worktree", "list", "--porcelain", "-z"])?;
    let mut listed: Vec<Listed> = Vec::new();
    for part in output.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(part);
        match (text.split_once(' ').unwrap_or((&text, "")), listed.last_mut()) {
            (("worktree", root), _) => {
                listed.push(Listed { root: PathBuf::from(root), locked: None });
            }
            (("locked", reason), Some(last)) => last.locked = Some(reason.to_owned()),
            _ => {}
        }
    }
    Ok(listed)
}

/// Whether a folder is one that git was about to fill: its `.git` leads into this repository. An empty one is removed.
fn is_unfinished(path: &Path, repository: &Path) -> bool {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return false;
    }
    let link = fs::read_to_string(path.join(".git")).unwrap_or_default();
    let private = link.strip_prefix("gitdir: ").map(|link| path.join(link.trim_end()));
    let is_ours = private.is_some_and(|private| private.starts_with(repository.join("worktrees")));
    if !is_ours {
        // Anything else was not made by git for us, unless it is empty.
        let _not_empty = fs::remove_dir(path);
    }
    is_ours
}

/// Deletes a branch that is still where it was made.
fn take_back_branch(
    site: &Site<'_>,
    branch: &str,
    workspace: &Workspace,
) -> Result<(), IsolationError> {
    if tip_in_git(site, branch)?.is_none_or(|tip| tip != workspace.base) {
        return Ok(());
    }
    let name = format!("refs/heads/{branch}");
    let root = &site.repository.checkout.root;
    // git looks once more whether it is.
    site.porcelain().git(root, ["update-ref", "-d", &name, &workspace.base])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::private_of;

    #[test]
    fn a_folder_that_git_did_not_make_is_not_taken_for_ours() {
        let folder = tempfile::tempdir().unwrap();
        let (path, repository) = (folder.path().join("w"), folder.path().join("repo/.git"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("mine"), "mine").unwrap();
        assert!(!is_unfinished(&path, &repository) && path.join("mine").exists());
        assert_eq!(private_of(&path), None);
        fs::write(path.join(".git"), "gitdir: /elsewhere/.git/worktrees/w\n").unwrap();
        assert!(!is_unfinished(&path, &repository) && path.join("mine").exists());
    }
}
