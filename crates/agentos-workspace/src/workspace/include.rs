//! `.worktreeinclude`: files that git does not keep and a workspace needs all the same (`.env`, local databases).
//!
//! The file is written like a `.gitignore`; what it matches and git does not track is copied from the checkout. Symbolic
//! links are copied as links and never followed, neither here nor there. What is there already is left alone. File systems
//! that can share blocks do.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::ioctl_ficlone;
use thiserror::Error;

use super::isolation::Site;
use super::porcelain::CallError;
use crate::files::{self, FileError};
use crate::identity::folder_of;

/// What it is called.
pub const FILE: &str = ".worktreeinclude";

/// Most files that are copied.
pub const FILES: usize = 20_000;

/// Most bytes that are copied.
pub const BYTES: u64 = 4 << 30;

/// What was copied, in the workspace's private folder.
const COPIED: &str = "included.json";

/// Why files could not be copied.
#[derive(Debug, Error)]
pub enum IncludeError {
    /// git could not say which.
    #[error(transparent)]
    Call(#[from] CallError),
    /// There are too many.
    #[error(
        "{FILE} matches more than {FILES} files, or more than {} GB; name fewer, and let `workspace.setup` make the rest",
        BYTES >> 30
    )]
    TooMuch,
    /// One can't be copied.
    #[error("{} can't be copied into the workspace ({FILE} names it): {source}", path.display())]
    Io {
        /// Which, from the root of the checkout.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It can't be written down what was copied.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Copies what the checkout's `.worktreeinclude` names into a new workspace; which files those were.
pub(super) fn include(
    site: &Site<'_>,
    workspace: &Path,
    private: &Path,
) -> Result<Vec<String>, IncludeError> {
    let root = &site.repository.checkout.root;
    let list = root.join(FILE);
    if !list.is_file() || !site.repository.is_git() {
        return Ok(Vec::new());
    }
    let (mut copied, mut bytes) = (Vec::new(), 0);
    for path in matched(site, &list)? {
        let from = root.join(&path);
        let about = match fs::symlink_metadata(&from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            about => about.map_err(|source| IncludeError::Io { path: path.clone(), source })?,
        };
        bytes += about.len();
        if copied.len() >= FILES || bytes > BYTES {
            return Err(IncludeError::TooMuch);
        }
        let is_new = copy(&from, workspace, &path, &about)
            .map_err(|source| IncludeError::Io { path: path.clone(), source })?;
        if is_new {
            copied.push(path.to_string_lossy().into_owned());
        }
    }
    files::make_folder(&folder_of(private))?;
    files::write_json(&folder_of(private).join(COPIED), &copied)?;
    Ok(copied)
}

/// What was copied into the workspace with this private folder: it can be had again from the checkout.
///
/// # Errors
/// [`FileError`]
pub fn load_included(private: &Path) -> Result<Vec<String>, FileError> {
    Ok(files::load_json(&folder_of(private).join(COPIED))?.unwrap_or_default())
}

/// The files that the list matches and git does not track. A repository inside is none of them.
fn matched(site: &Site<'_>, list: &Path) -> Result<Vec<PathBuf>, CallError> {
    let from = format!("--exclude-from={}", list.display());
    let asked = ["ls-files", "-z", "--others", "--ignored", &from];
    let output = site.porcelain().git(&site.repository.checkout.root, asked)?;
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let plain = names.filter(|name| !name.ends_with(b"/"));
    let paths = plain.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)));
    Ok(paths.filter(|path| !is_ours(path)).collect())
}

/// What belongs to the checkout alone.
fn is_ours(path: &Path) -> bool {
    let kept = [".git", ".jj", crate::state::FOLDER, crate::metadata::FILE];
    path.components().any(|part| kept.iter().any(|name| part.as_os_str() == *name))
        || path.starts_with(".agent/workflows/executions")
}

/// Copies one file or link; false if there is something in its place, or the way to it is no plain folder.
fn copy(from: &Path, workspace: &Path, path: &Path, about: &fs::Metadata) -> io::Result<bool> {
    let Some(folder) = make_folders(workspace, path)? else { return Ok(false) };
    let to = folder.join(path.file_name().unwrap_or_default());
    if fs::symlink_metadata(&to).is_ok() {
        return Ok(false);
    }
    if about.is_symlink() {
        symlink(fs::read_link(from)?, &to)?;
        return Ok(true);
    }
    if !about.is_file() {
        return Ok(false);
    }
    let mode = about.permissions().mode() & 0o777;
    let mut source = File::open(from)?;
    let mut target =
        OpenOptions::new().write(true).create_new(true).mode(mode | 0o200).open(&to)?;
    if ioctl_ficlone(&target, &source).is_err() {
        io::copy(&mut source, &mut target)?;
    }
    target.set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(true)
}

/// Makes the folders on the way, as plain folders; none if a link or a file is in the way: nothing is written through it.
fn make_folders(workspace: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let mut folder = workspace.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(name) = part else { return Ok(None) };
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&folder)?,
            Err(error) => return Err(error),
        }
    }
    Ok(Some(folder))
}
