//! What a repository's workspaces are filled with, beyond what git tracks itself: submodules and files in LFS.

use std::fs;
use std::path::Path;

use super::isolation::{IsolationError, Site};
use super::porcelain::line;
use super::{Kind, Workspace};

/// Which submodules are checked out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Submodules {
    /// None of them.
    #[default]
    None,
    /// Those at these paths.
    Listed(Vec<String>),
    /// All of them, and those in them.
    All,
}

/// What becomes of files that are kept in git LFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lfs {
    /// They are fetched if git-lfs is installed; else there are pointers in their place.
    #[default]
    Pull,
    /// There are pointers in their place.
    Skip,
    /// They are fetched, and without git-lfs there is no workspace.
    Require,
}

/// How workspaces are filled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Which submodules are checked out.
    pub submodules: Submodules,
    /// What becomes of files in LFS.
    pub lfs: Lfs,
    /// How much has to be left free on the disk when a workspace is made, in bytes.
    pub min_free_disk: Option<u64>,
}

/// Without its filter, git checks out the pointer. Said with each call, because a missing program that is required makes a
/// checkout fail, whatever its own variables say.
const WITHOUT_LFS: [&str; 6] =
    ["-c", "filter.lfs.process=", "-c", "filter.lfs.smudge=", "-c", "filter.lfs.required=false"];

/// What git is told when it checks out the files of a new workspace.
pub(super) fn for_checkout(
    site: &Site<'_>,
    workspace: &Workspace,
) -> Result<Vec<&'static str>, IsolationError> {
    if !uses_lfs(site, &workspace.base)? {
        return Ok(Vec::new());
    }
    let root = &site.repository.checkout.root;
    let is_there = site.porcelain().try_git(root, ["lfs", "version"])?.is_success();
    match (site.policy.lfs, is_there) {
        (Lfs::Pull | Lfs::Require, true) => Ok(Vec::new()),
        (Lfs::Require, false) => Err(IsolationError::Unsuitable {
            repository: site.repository.main_root.clone(),
            kind: workspace.kind,
            why: "it uses git LFS, `workspace.lfs` is `require`, and git-lfs is not installed"
                .to_owned(),
        }),
        (Lfs::Skip, _) | (Lfs::Pull, false) => Ok(WITHOUT_LFS.to_vec()),
    }
}

/// Checks out submodules of a new workspace, as the policy says; what somebody should know about it.
pub(super) fn fill(site: &Site<'_>, workspace: &Workspace) -> Result<Vec<String>, IsolationError> {
    let mut notes = Vec::new();
    if workspace.kind == Kind::Jj {
        return Ok(notes);
    }
    // What is checked out now says whether git had to be told something.
    if mentions_lfs(&workspace.path) && !for_checkout(site, workspace)?.is_empty() {
        notes.push(
            "files that are kept in git LFS are not fetched: there are pointers in their place"
                .to_owned(),
        );
    }
    let modules = submodules(site, &workspace.path)?;
    let wanted = |path: &String| match &site.policy.submodules {
        Submodules::None => false,
        Submodules::Listed(listed) => listed.contains(path),
        Submodules::All => true,
    };
    if let Submodules::Listed(listed) = &site.policy.submodules
        && let Some(unknown) =
            listed.iter().find(|path| !modules.iter().any(|(_, known)| known == *path))
    {
        notes
            .push(format!("there is no submodule `{unknown}`, which `workspace.submodules` names"));
    }
    let left: Vec<&str> =
        modules.iter().filter(|(_, path)| !wanted(path)).map(|(_, path)| path.as_str()).collect();
    if !left.is_empty() {
        notes.push(format!(
            "submodules that are not checked out: {} (`workspace.submodules` says which are)",
            left.join(", ")
        ));
    }
    for (name, path) in modules.iter().filter(|(_, path)| wanted(path)) {
        check_out(site, workspace, (name, path))?;
    }
    Ok(notes)
}

/// What the repository's own checkout has of a submodule need not be fetched again.
fn check_out(
    site: &Site<'_>,
    workspace: &Workspace,
    (name, path): (&str, &str),
) -> Result<(), IsolationError> {
    let known = site.repository.checkout.repository.join("modules").join(name);
    let known = known.is_dir().then(|| known.to_string_lossy().into_owned());
    let mut arguments = vec!["submodule", "update", "--quiet", "--init", "--recursive"];
    if let Some(known) = &known {
        arguments.extend(["--dissociate", "--reference", known]);
    }
    arguments.extend(["--", path]);
    site.porcelain().git(&workspace.path, arguments)?;
    Ok(())
}

/// Names and paths of the submodules.
fn submodules(site: &Site<'_>, root: &Path) -> Result<Vec<(String, String)>, IsolationError> {
    if !root.join(".gitmodules").is_file() {
        return Ok(Vec::new());
    }
    let asked = ["config", "--file", ".gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$"];
    let answer = site.porcelain().try_git(root, asked)?;
    let entries = answer.output.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let pairs = entries.filter_map(|entry| {
        let (key, path) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some((name.to_owned(), path.to_owned()))
    });
    Ok(pairs.collect())
}

/// Whether the files of a checkout say that some of them are kept in LFS.
fn mentions_lfs(root: &Path) -> bool {
    let attributes = fs::read_to_string(root.join(".gitattributes")).unwrap_or_default();
    attributes.contains("filter=lfs")
}

fn uses_lfs(site: &Site<'_>, base: &str) -> Result<bool, IsolationError> {
    let root = &site.repository.checkout.root;
    if mentions_lfs(root) {
        return Ok(true);
    }
    let name = format!("{base}:.gitattributes");
    let answer = site.porcelain().try_git(root, ["cat-file", "blob", &name])?;
    Ok(answer.is_success() && line(&answer.output).contains("filter=lfs"))
}
