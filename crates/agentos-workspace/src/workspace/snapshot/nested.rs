//! Repositories inside a workspace: their files are files of the workspace, and their git directories are kept whole, file
//! by file, whatever is in them. So one that has no commit yet, or one that is in the middle of something, is no exception.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::SnapshotError;
use super::bounds::{ENTRIES, FILE_BYTES};
use super::darkroom::{Darkroom, Tray, io_error, zero_ended};
use super::notes::{Nested, Place};
use super::standing::{moment, set_moment};
use crate::delete;
use crate::workspace::backup::manifest::Name;
use crate::workspace::plumbing::{Plumbing, Stand, parts, path};
use crate::workspace::porcelain::line;

/// Without these, git takes no folder for a git directory; git itself keeps no empty folders.
const NEEDED: [&str; 4] = ["refs/heads", "refs/tags", "objects/info", "objects/pack"];

/// Keeps the git directories of repositories inside the workspace: what is noted of each, and the tree that has its git
/// directory, if that is ours.
pub(super) fn keep(
    room: &Darkroom<'_>,
    found: &[PathBuf],
) -> Result<Vec<(Nested, Option<String>)>, SnapshotError> {
    let mut sorted = found.to_vec();
    sorted.sort();
    let mut kept: Vec<(Nested, Option<String>)> = Vec::new();
    let mut whole: Vec<PathBuf> = Vec::new();
    for name in sorted {
        let place = place(room, &name)?;
        let git_dir = git_dir(room, &name, &place);
        let (mut tree, mut index) = (None, None);
        if let Some(git_dir) = git_dir {
            index = moment(&git_dir.join("index"));
            // That of a submodule's submodule is in the one around it.
            if !whole.iter().any(|known| git_dir.starts_with(known)) {
                tree = Some(keep_folder(room, &git_dir)?);
                whole.push(git_dir);
            }
        }
        kept.push((Nested { path: Name::of(&name), place, index }, tree));
    }
    Ok(kept)
}

/// Where the git directory of a repository inside the workspace is.
fn place(room: &Darkroom<'_>, name: &Path) -> Result<Place, SnapshotError> {
    let whole = room.workspace.path.join(name);
    let git = whole.join(".git");
    let about = fs::symlink_metadata(&git).map_err(io_error(&git))?;
    if about.is_dir() {
        return Ok(Place::Inside);
    }
    if !about.is_file() {
        return Err(SnapshotError::Unkeepable { path: git });
    }
    let link = fs::read(&git).map_err(io_error(&git))?;
    let target = link.trim_ascii_end().strip_prefix(b"gitdir: ").map(path);
    let target = target.and_then(|target| whole.join(target).canonicalize().ok());
    let at = target.and_then(|target| {
        let at = target.strip_prefix(&room.found.private).ok()?;
        at.starts_with("modules").then(|| Name::of(at))
    });
    Ok(match at {
        Some(at) => Place::Private { at, link },
        None => Place::Elsewhere(link),
    })
}

fn git_dir(room: &Darkroom<'_>, name: &Path, place: &Place) -> Option<PathBuf> {
    match place {
        Place::Inside => Some(room.workspace.path.join(name).join(".git")),
        Place::Private { at, .. } => Some(room.found.private.join(at.path())),
        Place::Elsewhere(_) => None,
    }
}

/// The index for the files of a git directory.
fn index_for(room: &Darkroom<'_>, git_dir: &Path) -> PathBuf {
    let digest = Sha256::digest(git_dir.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    room.folder.join(format!("nested-{name}.index"))
}

/// Keeps every file of a folder; the tree that they are.
fn keep_folder(room: &Darkroom<'_>, folder: &Path) -> Result<String, SnapshotError> {
    let index = index_for(room, folder);
    let tray = Tray { root: folder, index: &index };
    let there = files_of(folder)?;
    for name in &there {
        let whole = folder.join(name);
        let bytes = fs::symlink_metadata(&whole).map_err(io_error(&whole))?.len();
        if bytes > FILE_BYTES {
            return Err(SnapshotError::TooLarge { path: whole, bytes });
        }
    }
    let known = room.call_on(tray, ["ls-files", "-z"], None)?;
    let gone: Vec<PathBuf> = parts(&known).map(path).filter(|name| !there.contains(name)).collect();
    if !gone.is_empty() {
        let how = ["update-index", "-z", "--force-remove", "--stdin"];
        room.call_on(tray, how, Some(&zero_ended(gone.iter().map(PathBuf::as_path))))?;
    }
    let how = ["update-index", "-z", "--add", "--replace", "--stdin"];
    room.call_on(tray, how, Some(&zero_ended(there.iter().map(PathBuf::as_path))))?;
    Ok(line(&room.call_on(tray, ["write-tree"], None)?))
}

/// Every file of a folder, by path in it.
fn files_of(folder: &Path) -> Result<HashSet<PathBuf>, SnapshotError> {
    let (mut found, mut folders) = (HashSet::new(), vec![PathBuf::new()]);
    while let Some(inside) = folders.pop() {
        let whole = folder.join(&inside);
        for entry in fs::read_dir(&whole).map_err(io_error(&whole))? {
            let entry = entry.map_err(io_error(&whole))?;
            let kind = entry.file_type().map_err(io_error(&whole))?;
            let name = inside.join(entry.file_name());
            if kind.is_dir() {
                folders.push(name);
            } else if kind.is_file() || kind.is_symlink() {
                found.insert(name);
            }
            if found.len() > ENTRIES {
                return Err(SnapshotError::TooMany { path: folder.to_owned() });
            }
        }
    }
    Ok(found)
}

/// Puts the git directories back. `is_home` says whether the workspace is the one that they were kept of: elsewhere they
/// need to be told where they are.
pub(super) fn put_back(
    room: &Darkroom<'_>,
    kept: &[(Nested, Option<String>)],
    is_home: bool,
) -> Result<(), SnapshotError> {
    for (nested, tree) in kept {
        let name = nested.path.path();
        let whole = room.workspace.path.join(&name);
        fs::create_dir_all(&whole).map_err(io_error(&whole))?;
        let git = whole.join(".git");
        match &nested.place {
            Place::Inside => make_folder(&git)?,
            Place::Private { link, .. } if is_home => make_file(&git, link)?,
            Place::Private { at, .. } => {
                let git_dir = room.found.private.join(at.path());
                let link = [b"gitdir: ", git_dir.as_os_str().as_encoded_bytes(), b"\n"].concat();
                make_file(&git, &link)?;
            }
            Place::Elsewhere(link) if is_home => make_file(&git, link)?,
            // Two checkouts of one git directory would take each other's work away.
            Place::Elsewhere(_) => {}
        }
        let Some(git_dir) = git_dir(room, &name, &nested.place) else { continue };
        if let Some(tree) = tree {
            put_folder(room, &git_dir, tree)?;
        }
        if let Some(written) = nested.index {
            set_moment(&git_dir.join("index"), written)?;
        }
        if !is_home && matches!(nested.place, Place::Private { .. }) {
            let config = git_dir.join("config");
            let (config, root) = (config.to_string_lossy(), whole.to_string_lossy());
            let how = ["config", "--file", &*config, "core.worktree", &*root];
            Plumbing(room.porcelain).call(Stand::checkout(&room.workspace.path), how)?;
        }
    }
    Ok(())
}

/// Makes the files of a folder those of a tree.
fn put_folder(room: &Darkroom<'_>, folder: &Path, tree: &str) -> Result<(), SnapshotError> {
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    let index = index_for(room, folder);
    let tray = Tray { root: folder, index: &index };
    room.call_on(tray, ["read-tree", "--reset", tree], None)?;
    room.call_on(tray, ["checkout-index", "--all", "--force", "--index", "--quiet"], None)?;
    let said = room.call_on(tray, ["ls-files", "-z"], None)?;
    let wanted: HashSet<PathBuf> = parts(&said).map(path).collect();
    for name in files_of(folder)? {
        if !wanted.contains(&name) {
            let whole = folder.join(name);
            fs::remove_file(&whole).map_err(io_error(&whole))?;
        }
    }
    for needed in NEEDED {
        let needed = folder.join(needed);
        fs::create_dir_all(&needed).map_err(io_error(&needed))?;
    }
    Ok(())
}

/// Takes away a repository that was not there; its files stay, and are files like others.
pub(super) fn remove_repository(folder: &Path) -> Result<(), SnapshotError> {
    let git = folder.join(".git");
    let removed = match fs::symlink_metadata(&git) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(&git),
        Ok(_) => fs::remove_file(&git),
        Err(_) => Ok(()),
    };
    removed.map_err(io_error(&git))
}

fn make_folder(path: &Path) -> Result<(), SnapshotError> {
    if fs::symlink_metadata(path).is_ok_and(|about| !about.is_dir()) {
        fs::remove_file(path).map_err(io_error(path))?;
    }
    fs::create_dir_all(path).map_err(io_error(path))
}

fn make_file(path: &Path, bytes: &[u8]) -> Result<(), SnapshotError> {
    if fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) {
        delete::all(path).map_err(io_error(path))?;
    }
    if fs::read(path).ok().as_deref() == Some(bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(io_error(path))
}
