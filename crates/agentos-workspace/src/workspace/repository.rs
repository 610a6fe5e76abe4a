//! The repository that workspaces are made of, as seen from the checkout in which somebody asks for one.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::checkout::{Checkout, CheckoutError, Kind as Keeper};
use crate::files::{self, FileError};
use crate::identity;
use crate::jj;
use crate::surroundings::Surroundings;

/// The file that a process locks while it makes or removes workspaces.
const LOCK: &str = "workspaces.lock";

/// A repository, and the checkout that it is looked at from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The checkout that somebody stands in.
    pub checkout: Checkout,
    /// The checkout that the repository was made with; a bare one's git directory.
    pub main_root: PathBuf,
}

impl Repository {
    /// The repository of a checkout.
    ///
    /// # Errors
    /// [`CheckoutError`]
    pub fn of(surroundings: &Surroundings, checkout: Checkout) -> Result<Self, CheckoutError> {
        let main_root = if checkout.is_main {
            checkout.root.clone()
        } else if checkout.kind == Keeper::Jj {
            let main = jj::load_workspace(&checkout.root)?.main_root;
            main.canonicalize().unwrap_or(main)
        } else {
            let listed = checkout.siblings(surroundings)?;
            let is_main = |root: &Path| {
                let private =
                    identity::private_of(root).and_then(|found| found.canonicalize().ok());
                private.as_deref() == Some(&checkout.repository)
            };
            let main = listed.into_iter().find(|listed| is_main(&listed.root));
            let main = main.and_then(|listed| listed.root.canonicalize().ok());
            main.unwrap_or_else(|| checkout.repository.clone())
        };
        Ok(Self { checkout, main_root })
    }

    /// Whether jj keeps the checkout, alone or beside git.
    #[must_use]
    pub fn is_jj(&self) -> bool {
        self.checkout.root.join(".jj").is_dir()
    }

    /// Whether git can be asked here.
    #[must_use]
    pub fn is_git(&self) -> bool {
        self.checkout.kind == Keeper::Git
    }

    /// Waits until nobody else makes or removes workspaces of this repository, in whatever process and whoever asks from
    /// whichever checkout.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn lock(&self) -> Result<RepositoryLock, FileError> {
        let folder = identity::folder_of(&self.checkout.repository);
        files::make_folder(&folder)?;
        let path = folder.join(LOCK);
        let file = File::create(&path).map_err(FileError::io(&path, "can't be made"))?;
        file.lock().map_err(FileError::io(&path, "can't be locked"))?;
        Ok(RepositoryLock(Arc::new(file)))
    }
}

/// Whether a process makes or removes workspaces of a repository now.
pub(super) fn is_locked(repository: &Path) -> bool {
    let lock = File::open(identity::folder_of(repository).join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// The right to make and remove workspaces of one repository. It ends when it is dropped and no tool that was started
/// with it is left: a git that outlives whoever started it is not disturbed.
#[derive(Debug, Clone)]
pub struct RepositoryLock(Arc<File>);

impl RepositoryLock {
    /// The file that is locked.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.0)
    }
}
