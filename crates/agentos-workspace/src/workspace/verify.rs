//! Is a workspace what it should be? Asked after it was made and whenever it is about to be used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::marker::{FolderIdentity, Marker};
use super::{Workspace, isolation};
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
        Some(marker) if marker == Marker::of(workspace) => Ok(()),
        Some(marker) => Err(not_it(format!("its marker is that of {}", marker.workspace_id))),
        None => Err(not_it("it has no marker of ours".to_owned())),
    }
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
