//! What is put into a workspace before anybody works in it: the way to its maker's database, and the file that describes
//! it. None of it is seen by git or jj.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::Workspace;
use crate::checkout::Checkout;
use crate::files::{self, FileError};
use crate::link::Link;
use crate::metadata::{self, Document};
use crate::state::{DATABASE, FOLDER};

/// Puts everything there. Done twice, it changes nothing.
pub(super) fn furnish(
    workspace: &Workspace,
    found: &Checkout,
    database: &str,
) -> Result<(), FileError> {
    let id = Some(workspace.id.to_string());
    let repo_root = Some(workspace.repo_root.clone());
    Link { database: database.to_owned(), workspace_id: id, repo_root }.write(found)?;
    link_database(found, database)?;
    describe(workspace, found, database)
}

/// Puts the file there that describes it.
pub(super) fn describe(
    workspace: &Workspace,
    found: &Checkout,
    database: &str,
) -> Result<(), FileError> {
    hide(&found.repository)?;
    if Document::load(&workspace.path).ok().flatten().is_some() {
        return Ok(());
    }
    Document::new(workspace, database.to_owned()).write(&workspace.path)
}

/// Tells git and jj to overlook our file at the root of a checkout. Only the list that all worktrees share can say so
/// without a word in the repository's own files. The caller holds the repository's lock.
fn hide(repository: &Path) -> Result<(), FileError> {
    let folder = repository.join("info");
    files::make_folder(&folder)?;
    let path = folder.join("exclude");
    let known = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        known => known.map_err(FileError::io(&path, "can't be read"))?,
    };
    let unfinished = Path::new(metadata::FILE).with_extension("new");
    let names =
        [metadata::FILE.into(), unfinished.to_string_lossy()].map(|name| format!("/{name}"));
    let missing: Vec<&String> =
        names.iter().filter(|name| !known.lines().any(|line| line == **name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    if !known.is_empty() && !known.ends_with('\n') {
        text.push('\n');
    }
    for name in missing {
        text.push_str(name);
        text.push('\n');
    }
    // Appended in one piece: whoever else writes the file is not written over.
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(FileError::io(&path, "can't be written"))
}

/// The link for people and other tools. If one is there already it is left alone: it decides nothing.
fn link_database(found: &Checkout, database: &str) -> Result<(), FileError> {
    if !Path::new(database).is_absolute() {
        return Ok(());
    }
    let folder = found.root.join(FOLDER);
    files::make_folder_like(&folder, &found.root)?;
    files::hide_from_git(&folder)?;
    let link = folder.join(DATABASE);
    match std::os::unix::fs::symlink(database, &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(FileError::io(&link, "can't be made")(error))
        }
        _ => Ok(()),
    }
}
