//! What is only in the git folder of a clone, which goes with it: configuration, hooks, files in LFS, worktrees elsewhere
//! that need it, and whatever somebody has put there. Commits, names and stashes are looked at for themselves.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::look::is_same;
use super::{Finding, Kept, Weight, What};
use crate::metadata;
use crate::workspace::Kind;
use crate::workspace::inner::Inner;
use crate::workspace::isolation::address;
use crate::workspace::plumbing::{Stand, parts};
use crate::workspace::porcelain::CallError;
use crate::workspace::view::View;

/// What git has there that is made again with a clone, or is looked at for itself. Names in capitals are git's own too.
const OF_GIT: [&str; 20] = [
    "config",
    "index",
    "description",
    "packed-refs",
    "shallow",
    "objects",
    "refs",
    "logs",
    "reftable",
    "branches",
    "modules",
    "worktrees",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "lfs",
    "gc.log",
    "gc.pid",
    // Ours.
    "agentos",
    "info/exclude",
];

/// Settings that git or LFS make by themselves.
const MADE: [&str; 9] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "extensions.",
    "lfs.repositoryformatversion",
];

/// Looks at the git folder of a clone; `main` is the root of the main checkout.
pub(super) fn look(view: &View<'_>, main: &Path) -> Result<Option<Finding>, CallError> {
    if view.workspace.kind != Kind::Clone {
        return Ok(None);
    }
    let mut finding = Finding::new(What::Private, Weight::Blocks, Kept::Archive);
    for key in settings(view, main)? {
        finding.add(|| format!("the setting {key}"), None);
    }
    for outer in Inner::outside(view.workspace) {
        finding.add(|| format!("the worktree {}", outer.root.display()), None);
    }
    if has_own_rules(view) {
        finding.add(|| "info/exclude".to_owned(), None);
    }
    let files = own_files(view).into_iter().chain(in_lfs(view)?);
    for (path, bytes) in files {
        finding.add(|| path.display().to_string(), Some(bytes));
    }
    Ok((finding.count > 0).then_some(finding))
}

/// Settings that the repository does not have.
fn settings(view: &View<'_>, main: &Path) -> Result<Vec<String>, CallError> {
    let asked = ["config", "--local", "-z", "--list"];
    let split = |part: &[u8]| {
        let text = String::from_utf8_lossy(part).into_owned();
        match text.split_once('\n') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (text, String::new()),
        }
    };
    let outside = view.plumbing.call(Stand::repository(&view.workspace.repository), asked)?;
    let known = parts(&outside).map(split).map(|(key, value)| {
        let is_address = key.starts_with("remote.") && key.ends_with("url");
        let value = if is_address { address(&value, main) } else { value };
        (key, value)
    });
    let known: HashSet<(String, String)> = known.collect();
    let inside = view.plumbing.call(view.history(), asked)?;
    let own = parts(&inside).map(split).filter(|setting| !known.contains(setting));
    Ok(own.map(|(key, _)| key).filter(|key| !is_made(key, view)).collect())
}

/// Whether a setting is made with a clone, its submodules, or by pushing its branch.
fn is_made(key: &str, view: &View<'_>) -> bool {
    let of_branch = view.workspace.branch.as_ref().is_some_and(|branch| {
        let rest = key.strip_prefix("branch.").and_then(|rest| rest.strip_prefix(branch.as_str()));
        matches!(rest, Some(".remote" | ".merge" | ".pushremote"))
    });
    let of_module = key.starts_with("submodule.")
        && [".url", ".active"].iter().any(|ending| key.ends_with(ending));
    let of_lfs = key.starts_with("lfs.") && key.ends_with(".access");
    of_branch || of_module || of_lfs || MADE.iter().any(|made| key.starts_with(made))
}

/// Whether something is overlooked there that is not overlooked in the repository.
fn has_own_rules(view: &View<'_>) -> bool {
    let load = |folder: &Path| fs::read_to_string(folder.join("info/exclude")).unwrap_or_default();
    let known = load(&view.workspace.repository);
    let ours = format!("/{}", Path::new(metadata::FILE).with_extension("").display());
    load(&view.found.private).lines().any(|line| {
        let is_said = !line.trim().is_empty() && !line.starts_with('#');
        is_said && !line.starts_with(&ours) && !known.lines().any(|known| known == line)
    })
}

/// Files that git does not need, and the repository does not have.
fn own_files(view: &View<'_>) -> Vec<(PathBuf, u64)> {
    let (private, repository) = (&view.found.private, &view.workspace.repository);
    let mut own = Vec::new();
    for path in files_below(private, &|path| !is_of_git(path)) {
        let whole = private.join(&path);
        if !is_same(&whole, &repository.join(&path)) {
            own.push((path, whole.symlink_metadata().map_or(0, |about| about.len())));
        }
    }
    own
}

fn is_of_git(path: &Path) -> bool {
    let Some(name) = path.to_str() else { return false };
    let is_capital = !name.contains(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
    let is_passing = [".lock", ".sample"].iter().any(|ending| name.ends_with(ending))
        || ["sharedindex.", "fsmonitor--daemon"].iter().any(|start| name.starts_with(start));
    is_capital || is_passing || OF_GIT.contains(&name)
}

/// Files in LFS that neither the repository has, nor the commit that the clone was made from.
fn in_lfs(view: &View<'_>) -> Result<Vec<(PathBuf, u64)>, CallError> {
    let (inside, outside) =
        (view.found.private.join("lfs/objects"), view.workspace.repository.join("lfs/objects"));
    let mut own = Vec::new();
    for path in files_below(&inside, &|_| true) {
        let size = |folder: &Path| folder.join(&path).metadata().ok().map(|about| about.len());
        if size(&inside) != size(&outside) {
            let bytes = size(&inside).unwrap_or(0);
            own.push((path, bytes));
        }
    }
    if own.is_empty() {
        return Ok(own);
    }
    let how = ["grep", "-h", "--no-color", "-E", "^oid sha256:", &view.workspace.base, "--"];
    let said = view.plumbing.ask(view.history(), how)?.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let fetched: HashSet<&str> =
        said.lines().filter_map(|line| line.trim().strip_prefix("oid sha256:")).collect();
    own.retain(|(path, _)| {
        let name = path.file_name().and_then(|name| name.to_str());
        !name.is_some_and(|name| fetched.contains(name))
    });
    let named = own.into_iter().map(|(path, bytes)| (Path::new("lfs/objects").join(path), bytes));
    Ok(named.collect())
}

/// The files and links below a folder, as far as they are asked for.
fn files_below(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inside)).into_iter().flatten().flatten() {
            let path = inside.join(entry.file_name());
            match entry.file_type() {
                _ if !is_wanted(&path) => {}
                Ok(kind) if kind.is_dir() => folders.push(path),
                _ => files.push(path),
            }
        }
    }
    files.sort();
    files
}
