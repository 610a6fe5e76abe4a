//! What git and jj know of a restored workspace: its branch, what is checked out, its logs, what was half done in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::RestoreError;
use crate::checkout::Checkout;
use crate::workspace::backup::archive::{self, BRANCH_LOG, FILES, PRIVATE};
use crate::workspace::backup::manifest::Manifest;
use crate::workspace::backup::{self, Backup, names};
use crate::workspace::isolation::{self, Site};
use crate::workspace::plumbing::{Plumbing, Stand};
use crate::workspace::porcelain::line;
use crate::workspace::{Kind, inner, marker};

/// What git has written into the private folder of a worktree, and what only it knows.
const OF_GIT: [&str; 3] = ["gitdir", "commondir", "locked"];

/// Refuses if the branch is elsewhere by now.
pub(super) fn check_branch(site: &Site<'_>, manifest: &Manifest) -> Result<(), RestoreError> {
    let workspace = &manifest.workspace;
    let (Some(branch), Some(wanted)) = (&workspace.branch, &manifest.tip) else { return Ok(()) };
    match isolation::of(workspace.kind).tip(site, branch)? {
        Some(found) if found != *wanted => {
            let (branch, wanted) = (branch.clone(), wanted.clone());
            Err(RestoreError::BranchMoved { branch, found, wanted })
        }
        _ => Ok(()),
    }
}

/// Puts the branch where it was, with the log of where it was before.
pub(super) fn restore_branch(
    site: &Site<'_>,
    manifest: &Manifest,
    backup: &Backup,
) -> Result<(), RestoreError> {
    let workspace = &manifest.workspace;
    let (Some(branch), Some(tip)) = (&workspace.branch, &manifest.tip) else { return Ok(()) };
    if isolation::of(workspace.kind).tip(site, branch)?.is_some() {
        return Ok(());
    }
    if workspace.kind == Kind::Jj {
        let how = ["--ignore-working-copy", "bookmark", "create", "-r", tip, "--", branch];
        site.porcelain().jj(&site.repository.checkout.root, how)?;
        return Ok(());
    }
    let name = format!("refs/heads/{branch}");
    let stand = Stand::repository(&workspace.repository);
    let plumbing = Plumbing(site.porcelain());
    for (at, why) in &manifest.branch_lines {
        let why = if why.is_empty() { "restored" } else { why };
        plumbing.call(stand, ["update-ref", "--create-reflog", "-m", why, "--", &name, at])?;
    }
    if manifest.branch_lines.last().is_none_or(|(at, _)| at != tip) {
        plumbing.call(stand, ["update-ref", "--", &name, tip])?;
    }
    let Some(log) = backup::branch_log(workspace) else { return Ok(()) };
    let put = archive::unpack(&backup.archive, BRANCH_LOG, &log, |_| true);
    put.map_err(|source| RestoreError::Io { path: log, source })
}

/// In a jj workspace, goes back to the commit that had everything in it.
pub(super) fn check_out(site: &Site<'_>, manifest: &Manifest) -> Result<(), RestoreError> {
    if let Some(recorded) = &manifest.recorded {
        let how = ["--ignore-immutable", "edit", "-r", recorded];
        site.porcelain().jj(&manifest.workspace.path, how)?;
    }
    Ok(())
}

/// Puts the private folder back: index, logs, what was half done.
pub(super) fn restore_private(
    site: &Site<'_>,
    (manifest, backup): (&Manifest, &Backup),
    found: &Checkout,
) -> Result<(), RestoreError> {
    let (workspace, private) = (&manifest.workspace, &found.private);
    let plumbing = Plumbing(site.porcelain());
    let failed = |source| RestoreError::Io { path: private.clone(), source };
    let stand = Stand::checkout(&workspace.path);
    if workspace.kind == Kind::Clone {
        let from = workspace.repository.to_string_lossy();
        let how = names::FETCH.into_iter().chain(["--", &*from, &backup.commit]);
        plumbing.call(stand, how)?;
        names::fetch(plumbing, workspace, backup.number)?;
    }
    let marker = Path::new(marker::PATH);
    let is_wanted =
        |inside: &Path| inside != marker && !OF_GIT.iter().any(|name| inside == Path::new(name));
    archive::unpack(&backup.archive, PRIVATE, private, is_wanted).map_err(failed)?;
    if workspace.kind != Kind::Jj {
        remove_newer(private, &backup.archive).map_err(failed)?;
        relink(manifest, backup, private).map_err(failed)?;
        restore_stash(site, manifest)?;
    }
    if workspace.kind == Kind::Clone {
        names::restore(plumbing, stand, &manifest.names)?;
    }
    inner::restore(workspace, &backup.archive, &manifest.worktrees).map_err(failed)?;
    if workspace.kind == Kind::Jj {
        // jj looks at the files anew, and finds what it had recorded.
        site.porcelain().jj(&workspace.path, ["status"])?;
    }
    Ok(())
}

/// Where git keeps one file for each ref or log, or tables of them: those that were not there would be found.
const OF_REFS: [&str; 3] = ["refs", "logs", "reftable"];

/// Removes what making it has written into the private folder and was not there.
fn remove_newer(private: &Path, archive: &Path) -> io::Result<()> {
    let known = archive::names(archive, PRIVATE)?;
    let mut folders: Vec<PathBuf> = OF_REFS.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(private.join(&folder)).into_iter().flatten() {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if !known.contains(&path) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    for entry in fs::read_dir(private)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_needed = OF_GIT.iter().chain(&["objects", "agentos"]).any(|needed| name == *needed);
        if is_needed || known.iter().any(|path| path.starts_with(&name)) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Submodules name the private folder, which may be called otherwise now.
fn relink(manifest: &Manifest, backup: &Backup, private: &Path) -> io::Result<()> {
    let former = manifest.private.path();
    let (Some(old), Some(new)) = (former.file_name(), private.file_name()) else { return Ok(()) };
    if old == new {
        return Ok(());
    }
    let mark = |name: &std::ffi::OsStr| format!("/worktrees/{}/", name.to_string_lossy());
    for path in archive::names(&backup.archive, FILES)? {
        let whole = manifest.workspace.path.join(&path);
        let is_file = fs::symlink_metadata(&whole).is_ok_and(|found| found.is_file());
        if path.file_name().is_some_and(|name| name == ".git") && is_file {
            let text = fs::read_to_string(&whole)?;
            fs::write(&whole, text.replacen(&mark(old), &mark(new), 1))?;
        }
    }
    Ok(())
}

/// Puts changes back aside that were, unless they still are. All worktrees share the stash.
fn restore_stash(site: &Site<'_>, manifest: &Manifest) -> Result<(), RestoreError> {
    let workspace = &manifest.workspace;
    if workspace.kind != Kind::Worktree || manifest.stashed.is_empty() {
        return Ok(());
    }
    let (plumbing, stand) = (Plumbing(site.porcelain()), Stand::checkout(&workspace.path));
    let said = plumbing.ask(stand, ["stash", "list", "--format=%H"])?.unwrap_or_default();
    let known: Vec<String> = line(&said).lines().map(str::to_owned).collect();
    for stashed in manifest.stashed.iter().rev() {
        if !known.contains(&stashed.commit) {
            plumbing.call(stand, ["stash", "store", "-m", &stashed.message, &stashed.commit])?;
        }
    }
    Ok(())
}
