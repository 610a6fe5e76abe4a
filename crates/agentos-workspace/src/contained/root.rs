//! A folder that nothing leaves, held open.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::ContainedError;
use super::guard::Guard;

/// A folder, open, and what it is called.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) dir: Dir,
    /// As whoever named it did.
    given: PathBuf,
    /// By its real name.
    real: PathBuf,
    /// What in it belongs to others.
    pub(super) guard: Guard,
}

impl Root {
    pub(super) fn open(folder: &Path) -> Result<Self, ContainedError> {
        let shown = folder.display().to_string();
        let failed = |source| ContainedError::Io {
            path: shown.clone(),
            what: "can't be opened as the folder that a run works in",
            source,
        };
        let real = folder.canonicalize().map_err(failed)?;
        let dir = Dir::open_ambient_dir(&real, ambient_authority()).map_err(failed)?;
        Ok(Self { dir, given: folder.to_owned(), real, guard: Guard::default() })
    }

    /// What is left of an absolute path that begins with this folder.
    pub(super) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.given).or_else(|_| path.strip_prefix(&self.real)).ok()
    }

    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// A path below as an absolute one.
    pub(super) fn absolute(&self, relative: &Path) -> PathBuf {
        self.given.join(relative)
    }

    /// Keeps a folder as it is, if it is somewhere below.
    pub(super) fn protect(&mut self, folder: &Path) {
        let real = folder.canonicalize();
        let real = real.as_deref().unwrap_or(folder);
        if let Ok(below) = real.strip_prefix(&self.real) {
            self.guard.add(below);
        }
    }
}
