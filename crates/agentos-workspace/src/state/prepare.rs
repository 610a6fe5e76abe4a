//! Making what a command that writes needs. Read-only commands never come here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use super::{FOLDER, StateLocation, Why};
use crate::checkout::CheckoutError;
use crate::files::{self, FileError};
use crate::identity::{Identity, IdentityError};

/// What a command that writes can rely on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Who the checkout is.
    pub identity: Identity,
    /// The root of the checkout; in a workspace, of the one that it was made from; outside of every repository, the
    /// current folder.
    pub project_path: PathBuf,
}

/// Why a place can't be used.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// It is not known which checkout this is.
    #[error(transparent)]
    Checkout(#[from] Arc<CheckoutError>),
    /// The history that this checkout is part of is gone.
    #[error(
        "the database {} is gone, and this {} part of its history; a second one is not begun. Bring it back, or end \
         the link with `agentos db unlink`",
        database.display(),
        if *is_workspace { "workspace is" } else { "checkout is" }
    )]
    HistoryGone {
        /// The database.
        database: PathBuf,
        /// Whether AgentOS made the checkout.
        is_workspace: bool,
    },
    /// A file or folder can't be made.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not known who the checkout is.
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

impl StateLocation {
    /// Makes what a command that writes needs: the folder of the database, hidden from git, and the checkout's ids. May be
    /// called any number of times, by any number of processes.
    ///
    /// # Errors
    /// [`PrepareError`]
    pub fn prepare(&self) -> Result<Prepared, PrepareError> {
        let project_path = self.project_path()?.to_owned();
        if let Some(file) = self.database.file() {
            self.make_folder_of(file)?;
        }
        let identity = match (&self.maker, &self.checkout) {
            (Some(maker), _) => Identity::make(maker)?,
            (None, Ok(Some(checkout))) => Identity::make(checkout)?,
            _ => Identity::of_folder(&project_path),
        };
        Ok(Prepared { identity: self.in_workspace(identity), project_path })
    }

    fn make_folder_of(&self, file: &Path) -> Result<(), PrepareError> {
        let is_part = matches!(self.why, Why::Workspace | Why::Linked);
        if is_part && !file.exists() {
            let is_workspace = self.workspace_id.is_some();
            return Err(PrepareError::HistoryGone { database: file.to_owned(), is_workspace });
        }
        if let Some(folder) = file.parent().filter(|_| !is_part) {
            self.make_folder(folder)?;
        }
        Ok(())
    }

    fn make_folder(&self, folder: &Path) -> Result<(), FileError> {
        let checkout = self.checkout.as_ref().ok().and_then(Option::as_ref);
        let own = checkout.filter(|checkout| folder == checkout.root.join(FOLDER));
        match own {
            Some(checkout) => files::make_folder_like(folder, &checkout.root)?,
            None if Some(folder) == self.global_folder.as_deref() => {
                files::make_private_folder(folder)?;
            }
            None => files::make_folder(folder)?,
        }
        if folder.file_name().is_some_and(|name| name == FOLDER) {
            files::hide_from_git(folder)?;
        }
        Ok(())
    }
}
