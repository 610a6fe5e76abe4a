//! A clone on this machine: its own configuration, hooks, stash and branches.
//!
//! Objects are hard links, which no clean-up in the repository can take away (`--shared` would let it), or copies on another
//! file system (`--local` would refuse that). `origin` is the repository's own upstream: a push goes where it would go from
//! the checkout, never into the checkout. What was done on its branch is fetched by us.
//!
//! It is made beside its place, under a name that has the nonce in it, and moved there when it is whole and marked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{
    Isolation, IsolationError, Site, check_for_git, commit_in_git, delete_branch_in_git,
    head_in_git, tip_in_git,
};
use crate::checkout::{Checkout, Kind as Keeper};
use crate::delete;
use crate::workspace::marker::Marker;
use crate::workspace::porcelain::line;
use crate::workspace::{Kind, Workspace, policy};

/// A clone on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalClone;

impl Isolation for LocalClone {
    fn kind(&self) -> Kind {
        Kind::Clone
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
        let clone = unfinished(workspace);
        remove(&clone)?;
        let (from, to) =
            (site.repository.checkout.repository.to_string_lossy(), clone.to_string_lossy());
        let how = ["clone", "--quiet", "--no-checkout", "--template=", "--"];
        let folder = &site.repository.checkout.root;
        site.porcelain().git(folder, how.into_iter().chain([&*from, &*to]))?;
        adopt_remotes(site, &clone)?;
        check_out(site, workspace, &clone)?;
        let put = || -> io::Result<()> {
            Marker::of(workspace).write(&clone.join(".git")).map_err(io::Error::other)?;
            fs::rename(&clone, &workspace.path)
        };
        let path = workspace.path.clone();
        put().map_err(|source| IsolationError::Io { path, what: "can't be put in place", source })
    }

    fn is_of_this_making(
        &self,
        _: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<bool, IsolationError> {
        // In its place it is only when it is whole, and then it is marked.
        let marker = Marker::load(&workspace.path.join(".git")).ok().flatten();
        Ok(marker.is_some_and(|marker| marker.nonce == workspace.nonce))
    }

    fn undo(&self, _: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
        remove(&unfinished(workspace))
    }

    fn fits(&self, workspace: &Workspace, found: &Checkout) -> Result<(), String> {
        if found.kind == Keeper::Git && found.repository == workspace.path.join(".git") {
            return Ok(());
        }
        Err("it is no clone of its own any more".to_owned())
    }

    fn head(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<Option<String>, IsolationError> {
        head_in_git(site, workspace)
    }

    fn collect(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<Option<String>, IsolationError> {
        let Some(branch) = &workspace.branch else { return Ok(None) };
        let porcelain = site.porcelain();
        let name = format!("refs/heads/{branch}");
        let asked = ["rev-parse", "--verify", "--quiet", &name];
        let found = porcelain.try_git(&workspace.path, asked)?;
        if !found.is_success() || line(&found.output) == workspace.base {
            // There is nothing on it that the repository does not have.
            return Ok(None);
        }
        let (root, tip) = (&site.repository.checkout.root, line(&found.output));
        let theirs = tip_in_git(site, branch)?;
        if theirs.as_ref() == Some(&tip) {
            return Ok(None);
        }
        // Whoever has gone on with the branch in the repository keeps it, and so does whoever has it checked out.
        if fetch(site, root, &workspace.path, &format!("{name}:{name}")).is_ok() {
            return Ok(None);
        }
        let user = user_of(site, branch)?;
        if let (None, Some(old)) = (&user, &theirs)
            && was_rewritten(site, workspace, (&name, old))?
        {
            // Nobody but the workspace has moved it. What it was stays.
            porcelain.git(root, ["update-ref", &aside(workspace, old), old])?;
            fetch(site, root, &workspace.path, &format!("+{name}:{name}"))?;
            return Ok(None);
        }
        let aside = aside(workspace, &tip);
        fetch(site, root, &workspace.path, &format!("+{name}:{aside}"))?;
        let why = match user {
            Some(folder) => format!("it is checked out in {folder}"),
            None => "it went another way in the repository".to_owned(),
        };
        Ok(Some(format!(
            "the branch {branch} was not moved to what was done in the workspace, because {why}; that is kept as {aside} \
             (git merge {aside})"
        )))
    }

    /// The repository never knew of it.
    fn forget(&self, _: &Site<'_>, _: &Workspace) -> Result<(), IsolationError> {
        Ok(())
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

/// Where a commit is kept that no branch of the repository leads to.
fn aside(workspace: &Workspace, commit: &str) -> String {
    format!("refs/agentos/collected/{}-{}", workspace.id, &commit[..12.min(commit.len())])
}

/// Whether a branch of the clone has been at a commit and was moved on from it: amended, rebased, reset.
fn was_rewritten(
    site: &Site<'_>,
    workspace: &Workspace,
    (name, commit): (&str, &str),
) -> Result<bool, IsolationError> {
    let asked = ["reflog", "show", "--format=%H", name];
    let log = site.porcelain().try_git(&workspace.path, asked)?;
    Ok(log.is_success() && line(&log.output).lines().any(|known| known == commit))
}

/// Where the repository has a branch checked out.
fn user_of(site: &Site<'_>, branch: &str) -> Result<Option<String>, IsolationError> {
    let (root, name) = (&site.repository.checkout.root, format!("refs/heads/{branch}"));
    let asked = ["for-each-ref", "--format=%(worktreepath)", &name];
    let user = line(&site.porcelain().git(root, asked)?);
    Ok(Some(user).filter(|user| !user.is_empty()))
}

/// Checks out the branch: where it was left, or at the base.
fn check_out(site: &Site<'_>, workspace: &Workspace, clone: &Path) -> Result<(), IsolationError> {
    let porcelain = site.porcelain();
    let left = workspace.branch.as_deref().filter(|_| !workspace.is_branch_ours);
    let tip = left.map(|branch| tip_in_git(site, branch)).transpose()?.flatten();
    let start = tip.unwrap_or_else(|| workspace.base.clone());
    let asked = format!("{start}^{{commit}}");
    if !porcelain.try_git(clone, ["cat-file", "-e", &asked])?.is_success() {
        // On no branch, and the clone had to be made the long way (the repository is shallow).
        fetch(site, clone, &site.repository.checkout.repository, &start)?;
    }
    let mut arguments = policy::for_checkout(site, workspace)?;
    arguments.extend(["-c", "checkout.workers=0", "checkout", "--quiet"]);
    match &workspace.branch {
        Some(branch) => arguments.extend(["--no-track", "-B", branch, &start]),
        None => arguments.extend(["--detach", &start]),
    }
    porcelain.git(clone, arguments)?;
    Ok(())
}

/// Gives the clone the remotes of the repository, and what is known of them, in place of the path it came from.
fn adopt_remotes(site: &Site<'_>, clone: &Path) -> Result<(), IsolationError> {
    let porcelain = site.porcelain();
    porcelain.git(clone, ["remote", "remove", "origin"])?;
    let copied = r"^(remote\.pushdefault|remote\..*\.(url|pushurl|fetch)|user\.(name|email))$";
    let asked = ["config", "--local", "-z", "--get-regexp", copied];
    let answer = porcelain.try_git(&site.repository.checkout.root, asked)?;
    let mut has_remote = false;
    for part in answer.output.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(part);
        let Some((key, value)) = text.split_once('\n') else { continue };
        let value = match key.rsplit('.').next() {
            Some("url" | "pushurl") => address(value, &site.repository.main_root),
            _ => value.to_owned(),
        };
        has_remote |= key.ends_with(".url");
        porcelain.git(clone, ["config", "--local", "--add", key, &value])?;
    }
    match has_remote {
        true => {
            let known = "+refs/remotes/*:refs/remotes/*";
            fetch(site, clone, &site.repository.checkout.repository, known)
        }
        false => Ok(()),
    }
}

fn fetch(site: &Site<'_>, to: &Path, from: &Path, what: &str) -> Result<(), IsolationError> {
    let how = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
    let how = how.into_iter().chain(["--no-recurse-submodules", "--"]);
    let from = from.to_string_lossy();
    site.porcelain().git(to, how.chain([&*from, what]))?;
    Ok(())
}

/// A path that is relative to the repository means nothing elsewhere.
pub(in crate::workspace) fn address(value: &str, main_root: &Path) -> String {
    let first = value.split('/').next().unwrap_or_default();
    let is_relative = !first.contains(':') && !value.starts_with(['/', '~']);
    if is_relative {
        main_root.join(value).to_string_lossy().into_owned()
    } else {
        value.to_owned()
    }
}

/// Where a clone is made.
fn unfinished(workspace: &Workspace) -> PathBuf {
    let name = format!(".{}.{}", workspace.id, workspace.nonce.simple());
    workspace.path.with_file_name(name)
}

fn remove(folder: &Path) -> Result<(), IsolationError> {
    let (path, what) = (folder.to_owned(), "can't be removed");
    delete::all(folder).map_err(|source| IsolationError::Io { path, what, source })
}
