//! Is a workspace what it should be? Asked after it was made and whenever it is about to be used.

use std::fs;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::marker::{FolderIdentity, Marker};
use super::{Kind, Workspace, guard, isolation};
use crate::checkout::{Checkout, CheckoutError};
use crate::files::FileError;
use crate::identity;
use crate::surroundings::Surroundings;

/// What is wrong with a workspace. Nothing may be done in it, nor anywhere else in its place.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// Its folder is gone.
    #[error("the workspace {} is gone", path.display())]
    Missing {
        /// Where it was.
        path: PathBuf,
    },
    /// At its path is something else.
    #[error("{} is not the workspace that it should be: {why}", path.display())]
    NotIt {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It is not known what is there.
    #[error("it is not known whether {} is still a workspace: {source}", path.display())]
    Unknown {
        /// Where.
        path: PathBuf,
        /// Why.
        source: CheckoutError,
    },
    /// Its marker can't be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Looks whether a workspace is what it should be; the checkout that it is. It costs one question to git.
///
/// # Errors
/// [`VerifyError`]
pub fn verify(surroundings: &Surroundings, workspace: &Workspace) -> Result<Checkout, VerifyError> {
    let (found, marker) = look(surroundings, workspace)?;
    check_marker(workspace, marker)?;
    Ok(found)
}

/// Looks whether a workspace is still the checkout as which it was found a moment ago, by its files alone.
pub(super) fn verify_again(workspace: &Workspace, found: &Checkout) -> Result<(), VerifyError> {
    let path = &workspace.path;
    let private = identity::private_of(path).and_then(|private| private.canonicalize().ok());
    let is_same_folder = FolderIdentity::of(path).is_some_and(|now| Some(now) == workspace.folder);
    if !is_same_folder || private.as_ref() != Some(&found.private) {
        let why = "it was changed while it was made".to_owned();
        return Err(VerifyError::NotIt { path: path.clone(), why });
    }
    check_marker(workspace, Marker::load(&found.private)?)
}

fn check_marker(workspace: &Workspace, marker: Option<Marker>) -> Result<(), VerifyError> {
    let not_it = |why: String| VerifyError::NotIt { path: workspace.path.clone(), why };
    match marker {
        Some(marker) if marker.is_of(workspace) => Ok(()),
        Some(marker) => Err(not_it(format!("its marker is that of {}", marker.workspace_id))),
        None => Err(not_it("it has no marker of ours".to_owned())),
    }
}

/// Looks whether a workspace is what it should be, without a question to git as long as everything is as it was left: the
/// same folder, with our marker, linked to the repository both ways.
///
/// # Errors
/// [`VerifyError`]
pub fn verify_quickly(
    surroundings: &Surroundings,
    workspace: &Workspace,
) -> Result<(), VerifyError> {
    if is_as_it_was_left(workspace) {
        return Ok(());
    }
    verify(surroundings, workspace).map(|_| ())
}

/// Whether nothing says that it has changed. If anything does, git has to be asked.
fn is_as_it_was_left(workspace: &Workspace) -> bool {
    let path = &workspace.path;
    let is_same = workspace.folder.is_some() && FolderIdentity::of(path) == workspace.folder;
    let private = match workspace.kind {
        Kind::Worktree => linked(workspace),
        Kind::Clone => Some(path.join(".git")).filter(|private| private.is_dir()),
        Kind::Jj => None,
    };
    let Some(private) = private.filter(|_| is_same) else { return false };
    let marker = Marker::load(&private).ok().flatten();
    private.join("HEAD").is_file()
        && marker == Some(Marker::of(workspace))
        && (workspace.kind == Kind::Clone || guard::is_unchanged(workspace))
}

/// The private folder of a worktree that leads to its repository, and back.
fn linked(workspace: &Workspace) -> Option<PathBuf> {
    let git = workspace.path.join(".git");
    let link = fs::read_to_string(&git).ok()?;
    let private = PathBuf::from(link.strip_prefix("gitdir: ")?.trim_end());
    let is_in = private.parent() == Some(&workspace.repository.join("worktrees"));
    let read = |name: &str| fs::read_to_string(private.join(name)).ok();
    let leads_back = read("gitdir")?.trim_end() == git.to_str()?;
    let is_common = read("commondir")?.trim_end() == "../..";
    (is_in && leads_back && is_common).then_some(private)
}

/// The checkout at a workspace's path, if it is one of its kind and repository, and its marker.
pub(super) fn look(
    surroundings: &Surroundings,
    workspace: &Workspace,
) -> Result<(Checkout, Option<Marker>), VerifyError> {
    let path = &workspace.path;
    let not_it = |why: String| VerifyError::NotIt { path: path.clone(), why };
    if FolderIdentity::of(path).is_none() {
        return Err(match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                VerifyError::Missing { path: path.clone() }
            }
            Err(error) => not_it(format!("it can't be looked at: {error}")),
            Ok(_) => not_it("it is no folder".to_owned()),
        });
    }
    let found = Checkout::of_folder(surroundings, path)
        .map_err(|source| VerifyError::Unknown { path: path.clone(), source })?
        .ok_or_else(|| not_it("it is no checkout any more".to_owned()))?;
    if found.root != *path {
        // Somebody who works here would work in the checkout around it.
        return Err(not_it(format!("it is a part of {}", found.root.display())));
    }
    isolation::of(workspace.kind).fits(workspace, &found).map_err(not_it)?;
    let marker = Marker::load(&found.private)?;
    Ok((found, marker))
}
