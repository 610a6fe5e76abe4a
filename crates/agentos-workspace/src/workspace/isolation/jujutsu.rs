//! A jj workspace: shares the repository and its operation log; until jj 0.46 there is no `.git` in it.
//!
//! jj records edits by itself whenever it is called in a workspace, so reading never does it here
//! (`--ignore-working-copy`). What jj does not keep (submodules, LFS) makes a repository unsuitable.

use std::fs;
use std::path::Path;

use super::{Isolation, IsolationError, Site};
use crate::checkout::Checkout;
use crate::jj;
use crate::workspace::porcelain::{CallError, line};
use crate::workspace::{Kind, Workspace};

/// A jj workspace.
#[derive(Debug, Clone, Copy, Default)]
pub struct JjWorkspace;

impl JjWorkspace {
    /// What a checkout has that would be missing in a jj workspace.
    #[must_use]
    pub fn misses(root: &Path) -> Option<&'static str> {
        if root.join(".gitmodules").exists() {
            Some("has submodules, which jj does not check out")
        } else if uses_lfs(root) {
            Some("uses git LFS, which jj does not know")
        } else {
            None
        }
    }
}

impl Isolation for JjWorkspace {
    fn kind(&self) -> Kind {
        Kind::Jj
    }

    fn check(&self, site: &Site<'_>) -> Result<(), IsolationError> {
        let root = &site.repository.checkout.root;
        let why = if !site.repository.is_jj() {
            "it is no jj repository".to_owned()
        } else if let Some(why) = Self::misses(root) {
            format!("it {why}; use `worktree`")
        } else {
            return Ok(());
        };
        let repository = site.repository.main_root.clone();
        Err(IsolationError::Unsuitable { repository, kind: Kind::Jj, why })
    }

    fn resolve(&self, site: &Site<'_>, base: Option<&str>) -> Result<String, IsolationError> {
        let (root, asked) = (&site.repository.checkout.root, base.unwrap_or("@-"));
        let found = commits(site, root, asked);
        let wrong = |found| IsolationError::NoSuchBase {
            base: asked.to_owned(),
            found,
            repository: root.clone(),
        };
        match (found, base) {
            (Ok(found), _) => match found.as_slice() {
                // jj's name for the beginning of everything: nothing was ever committed.
                [one] if one.bytes().all(|byte| byte == b'0') && base.is_none() => {
                    Err(IsolationError::NoCommit { repository: root.clone() })
                }
                [one] => Ok(one.clone()),
                [] => Err(wrong("no commit")),
                _ => Err(wrong("several commits")),
            },
            (Err(CallError::Refused { .. }), Some(_)) => Err(wrong("no commit")),
            (Err(error), _) => Err(error.into()),
        }
    }

    fn tip(&self, site: &Site<'_>, branch: &str) -> Result<Option<String>, IsolationError> {
        let asked = format!("bookmarks(exact:\"{branch}\")");
        Ok(commits(site, &site.repository.checkout.root, &asked)?.pop())
    }

    fn make(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
        let porcelain = site.porcelain();
        let root = &site.repository.checkout.root;
        let (path, name) = (workspace.path.to_string_lossy(), workspace.id.as_str());
        if names(site)?.iter().any(|known| known == name) {
            // One of this id was there before; its folder is gone, or we would not be here.
            porcelain.jj(root, ["--ignore-working-copy", "workspace", "forget", name])?;
        }
        let branch = workspace.branch.as_deref();
        let left = branch.filter(|_| !workspace.is_branch_ours);
        let start = left.map(|branch| self.tip(site, branch)).transpose()?.flatten();
        let start = start.unwrap_or_else(|| workspace.base.clone());
        // Told to overlook working copies, jj would not fill the new one either.
        let mut how = vec!["workspace", "add", "--name", name, "-r", &start];
        how.extend(colocation(site)?);
        how.extend(["--", &*path]);
        porcelain.jj(root, how)?;
        if let Some(branch) = branch.filter(|_| workspace.is_branch_ours) {
            let how = ["--ignore-working-copy", "bookmark", "create", "-r", &start, "--"];
            porcelain.jj(root, how.into_iter().chain([branch]))?;
        }
        match branch {
            Some(branch) => Ok(jj::write_branch(&workspace.path, branch)?),
            None => Ok(()),
        }
    }

    fn is_of_this_making(
        &self,
        _: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<bool, IsolationError> {
        Ok(is_unfinished(&workspace.path, &workspace.repository))
    }

    fn undo(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
        let porcelain = site.porcelain();
        let root = &site.repository.checkout.root;
        let name = workspace.id.as_str();
        if names(site)?.iter().any(|known| known == name) && !workspace.path.exists() {
            porcelain.jj(root, ["--ignore-working-copy", "workspace", "forget", name])?;
        }
        let Some(branch) = workspace.branch.as_deref().filter(|_| workspace.is_branch_ours) else {
            return Ok(());
        };
        if self.tip(site, branch)?.is_some_and(|tip| tip == workspace.base) {
            porcelain.jj(root, ["--ignore-working-copy", "bookmark", "delete", "--", branch])?;
        }
        Ok(())
    }

    fn fits(&self, workspace: &Workspace, found: &Checkout) -> Result<(), String> {
        if !workspace.path.join(".jj").is_dir() {
            return Err("it is no jj workspace any more".to_owned());
        }
        if found.repository != workspace.repository || found.is_main {
            return Err(format!("it belongs to the repository {}", found.repository.display()));
        }
        Ok(())
    }

    /// What its working copy stands on.
    fn head(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<Option<String>, IsolationError> {
        Ok(commits(site, &workspace.path, "@-")?.pop())
    }

    /// Edits that jj has not seen yet are recorded, the branch follows what was committed with jj itself, and branches are
    /// told to git.
    fn collect(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<Option<String>, IsolationError> {
        let looked = site.porcelain().jj(&workspace.path, ["status"]);
        let followed = looked.map_err(Into::into).and_then(|_| follow(site, workspace));
        followed.map_err(|error| match &error {
            IsolationError::Call(call) if let Some(why) = estrangement(call) => {
                let (path, id) = (workspace.path.clone(), workspace.id.clone());
                IsolationError::Estranged { path, id, why }
            }
            _ => error,
        })?;
        let how = ["--ignore-working-copy", "git", "export"];
        site.porcelain().jj(&site.repository.checkout.root, how)?;
        Ok(None)
    }

    fn forget(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
        let name = workspace.id.as_str();
        if names(site)?.iter().any(|known| known == name) && !workspace.path.exists() {
            let how = ["--ignore-working-copy", "workspace", "forget", name];
            site.porcelain().jj(&site.repository.checkout.root, how)?;
        }
        Ok(())
    }

    fn delete_branch(
        &self,
        site: &Site<'_>,
        branch: &str,
        tip: &str,
    ) -> Result<bool, IsolationError> {
        if self.tip(site, branch)?.is_none_or(|found| found != tip) {
            return Ok(false);
        }
        let root = &site.repository.checkout.root;
        site.porcelain().jj(root, ["--ignore-working-copy", "bookmark", "delete", "--", branch])?;
        site.porcelain().jj(root, ["--ignore-working-copy", "git", "export"])?;
        Ok(true)
    }
}

/// Why jj does not look at the files of a workspace any more, and what helps; none if it failed for another reason.
pub(in crate::workspace) fn estrangement(error: &CallError) -> Option<&'static str> {
    let CallError::Refused { said, .. } = error else { return None };
    if said.contains("doesn't have a working-copy commit") {
        return Some("jj has forgotten it (jj workspace forget)");
    }
    let is_stale = said.contains("working copy is stale") || said.contains("update-stale");
    is_stale.then_some("its working copy is stale: `jj workspace update-stale` in it helps")
}

/// Since jj 0.46 a workspace can have a `.git` too, if the repository has one beside it.
fn colocation(site: &Site<'_>) -> Result<Option<&'static str>, CallError> {
    let main = &site.repository.main_root;
    if !main.join(".git").exists() {
        return Ok(None);
    }
    let told = site.porcelain().jj(main, ["--version"])?;
    Ok((version(&line(&told)) >= (0, 46)).then_some("--colocate"))
}

/// The first two numbers of `jj 0.45.1-…`; the lowest of all for what can't be read.
fn version(told: &str) -> (u32, u32) {
    let numbers = told.strip_prefix("jj ").unwrap_or_default();
    let mut numbers = numbers.split(['.', '-']).map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Moves the branch that the work belongs to on to the latest commit, if that was made on it. jj itself leaves it behind.
fn follow(site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError> {
    let Some(branch) = jj::load_branch(&workspace.path)? else { return Ok(()) };
    let path = &workspace.path;
    let branch = jj::quoted(&branch);
    let behind = format!("(bookmarks(exact:{branch}) & ::@-) ~ @-");
    let (tips, heads) = (commits(site, path, &behind)?, commits(site, path, "@-")?);
    if let ([_], [head]) = (tips.as_slice(), heads.as_slice()) {
        let how = ["--ignore-working-copy", "bookmark", "set", "-r", head, "--", &branch];
        site.porcelain().jj(path, how)?;
    }
    Ok(())
}

/// The commits that a revset names.
fn commits(site: &Site<'_>, folder: &Path, revset: &str) -> Result<Vec<String>, CallError> {
    let how = ["--ignore-working-copy", "log", "--no-graph", "-T", r#"commit_id ++ "\n""#, "-r"];
    let output = site.porcelain().jj(folder, how.into_iter().chain([revset]))?;
    Ok(line(&output).lines().map(str::to_owned).collect())
}

/// The workspaces that jj knows of.
fn names(site: &Site<'_>) -> Result<Vec<String>, CallError> {
    let how = ["--ignore-working-copy", "workspace", "list", "-T", r#"name ++ "\n""#];
    let output = site.porcelain().jj(&site.repository.checkout.root, how)?;
    Ok(line(&output).lines().map(str::to_owned).collect())
}

fn uses_lfs(root: &Path) -> bool {
    let attributes = fs::read_to_string(root.join(".gitattributes")).unwrap_or_default();
    attributes.contains("filter=lfs")
}

/// Whether a folder is one that jj was about to fill: it belongs to this repository, or nothing is in it but the beginning of
/// a workspace. An empty one is removed.
fn is_unfinished(path: &Path, repository: &Path) -> bool {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return false;
    }
    let is_ours = jj::load_workspace(path)
        .is_ok_and(|found| found.repository == repository && !found.is_main());
    let is_bare_beginning = path.join(".jj").is_dir()
        && fs::read_dir(path).is_ok_and(|mut inside| {
            inside.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".jj"))
        })
        && !path.join(".jj/repo").is_dir();
    if !is_ours && !is_bare_beginning {
        let _not_empty = fs::remove_dir(path);
    }
    is_ours || is_bare_beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_jj_says() {
        assert_eq!(version("jj 0.45.1-0123abc"), (0, 45));
        assert_eq!(version("jj 1.2"), (1, 2));
        assert!(version("jj 0.46.0") >= (0, 46) && version("jujutsu") < (0, 46));
    }
}
