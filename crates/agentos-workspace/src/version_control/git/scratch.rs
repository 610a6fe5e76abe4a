//! A folder for the files of one verb.
//!
//! It is where whoever performs the verb says, so that whoever is killed leaves it where his successor finds it, replaces it
//! and takes it away.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::super::Result;
use super::super::error::VersionControlError;
use super::GitRepository;

/// The folder, until it is dropped.
pub(in crate::version_control) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whoever comes next replaces it.
        let _left = fs::remove_dir_all(&self.0);
    }
}

impl GitRepository {
    /// An empty folder, which only we may look into.
    pub(in crate::version_control) fn scratch(&self) -> Result<Scratch> {
        let made = || {
            match fs::remove_dir_all(&self.scratch) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            DirBuilder::new().recursive(true).mode(0o700).create(&self.scratch)?;
            // git stands elsewhere.
            self.scratch.canonicalize().map(Scratch)
        };
        made().map_err(|source| VersionControlError::File {
            what: "a folder for git's files",
            source,
        })
    }
}
