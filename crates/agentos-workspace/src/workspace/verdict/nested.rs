//! Repositories inside a workspace: what is in them that is nowhere else.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Finding, Kept, Weight, What};
use crate::workspace::plumbing::{Plumbing, Stand, parts, path};
use crate::workspace::porcelain::{CallError, line};
use crate::workspace::survey::{Nested, Survey};
use crate::workspace::view::View;

/// Looks at every repository inside.
pub(super) fn look(view: &View<'_>, survey: &Survey) -> Result<Vec<Finding>, CallError> {
    let mut clean = Finding::new(What::Submodule, Weight::Free, Kept::Nowhere);
    let mut dirty = Finding::new(What::Submodule, Weight::Blocks, Kept::Archive);
    let mut nested = Finding::new(What::NestedRepository, Weight::Blocks, Kept::Archive);
    let submodules = if survey.nested.is_empty() { HashSet::new() } else { submodules(view)? };
    let mut known = 0;
    for inside in &survey.nested {
        let name = inside.path.display().to_string();
        if !is_submodule(&inside.path, &submodules, survey) {
            nested.add(|| name, None);
            continue;
        }
        known += 1;
        match work_in(view.plumbing, &view.workspace.path, inside)? {
            None => clean.add(|| name, None),
            Some(work) => dirty.add(|| format!("{name} ({work})"), None),
        }
    }
    // One that is not checked out any more may still have commits.
    let hidden = git_dirs(&view.found.private.join("modules")).saturating_sub(known);
    for _ in 0..hidden {
        dirty.add(|| "one that is not checked out".to_owned(), None);
    }
    Ok([dirty, nested, clean].into_iter().filter(|finding| finding.count > 0).collect())
}

/// Submodules of submodules count as such.
fn is_submodule(path: &Path, submodules: &HashSet<PathBuf>, survey: &Survey) -> bool {
    if submodules.contains(path) {
        return true;
    }
    let around = survey.nested.iter().any(|outer| {
        outer.path != path && path.starts_with(&outer.path) && submodules.contains(&outer.path)
    });
    // Its own git directory is with the outer one's.
    around
}

fn submodules(view: &View<'_>) -> Result<HashSet<PathBuf>, CallError> {
    let listed = view.plumbing.call(view.stand(), ["ls-files", "--stage", "-z"])?;
    let links = parts(&listed).filter(|part| part.starts_with(b"160000 "));
    let names = links.filter_map(|part| part.split(|byte| *byte == b'\t').nth(1));
    Ok(names.map(path).collect())
}

/// What is in a submodule that its remote does not have, in a word.
fn work_in(
    plumbing: Plumbing<'_>,
    root: &Path,
    nested: &Nested,
) -> Result<Option<&'static str>, CallError> {
    let Some(status) = &nested.status else { return Ok(Some("git can't be asked about it")) };
    if !(status.staged.is_empty() && status.unstaged.is_empty() && status.untracked.is_empty()) {
        return Ok(Some("changed"));
    }
    let whole = root.join(&nested.path);
    let stand = Stand::checkout(&whole);
    // A tag may be one that only this checkout has.
    let asked =
        ["rev-list", "--count", "HEAD", "--branches", "--tags", "--reflog", "--not", "--remotes"];
    let count = plumbing.ask(stand, asked)?.map(|said| line(&said));
    if count.is_none_or(|count| count != "0") {
        return Ok(Some("commits that are on no remote"));
    }
    let stashed = plumbing.ask(stand, ["stash", "list"])?.unwrap_or_default();
    Ok((!stashed.is_empty()).then_some("stashed changes"))
}

/// How many git directories there are below a folder.
fn git_dirs(folder: &Path) -> u64 {
    let mut count = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let is_git_dir = folder.join("HEAD").is_file() && folder.join("objects").is_dir();
        count += u64::from(is_git_dir);
        if is_git_dir {
            folders.push(folder.join("modules"));
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    count
}
