//! A folder that nothing leaves, held open.

use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::ContainedError;

/// A folder, open, and what it is called.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) dir: Dir,
    /// As whoever named it did.
    given: PathBuf,
    /// By its real name.
    real: PathBuf,
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
        Ok(Self { dir, given: folder.to_owned(), real })
    }

    /// What is left of an absolute path that begins with this folder.
    pub(super) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.given).or_else(|_| path.strip_prefix(&self.real)).ok()
    }

    /// A path below as an absolute one.
    pub(super) fn absolute(&self, relative: &Path) -> PathBuf {
        self.given.join(relative)
    }

    /// Opens a folder below, given by its real path: nothing is followed.
    pub(super) fn folder(&self, real: &Path) -> std::io::Result<Dir> {
        let mut dir = self.dir.try_clone()?;
        for part in real {
            dir = dir.open_dir_nofollow(part)?;
        }
        Ok(dir)
    }
}
