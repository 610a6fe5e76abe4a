//! Sees that what is kept is on the disk before anybody is told of it: its bytes, and the names that lead to it.
//!
//! Waiting for the disk once for each of thousands of small files takes far longer than copying them. Beyond a few, the
//! whole file system is written once in the end, where there is a call for that.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// So many files are waited for one by one: whatever else is being written to the file system is none of our business.
const FEW: usize = 32;

/// How files get to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Safety {
    /// Each by itself.
    Each,
    /// All in the end.
    Together,
}

impl Safety {
    /// What is best for so many files.
    pub(super) const fn of(files: usize) -> Self {
        if cfg!(target_os = "linux") && files > FEW { Self::Together } else { Self::Each }
    }

    /// Waits for one of them.
    pub(super) fn finish_file(self, file: &File) -> io::Result<()> {
        match self {
            Self::Each => file.sync_all(),
            Self::Together => Ok(()),
        }
    }

    /// Waits for whatever was not waited for yet: the folders that were made, or everything below the one around them.
    pub(super) fn finish(self, around: &Path, folders: &BTreeSet<PathBuf>) -> io::Result<()> {
        match self {
            Self::Each => folders.iter().try_for_each(|folder| sync_folder(folder)),
            Self::Together => sync_everything(around),
        }
    }
}

/// Waits until the names in a folder are on the disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(target_os = "linux")]
fn sync_everything(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_everything(folder: &Path) -> io::Result<()> {
    sync_folder(folder)
}
