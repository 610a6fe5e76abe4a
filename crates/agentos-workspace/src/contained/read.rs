//! Reading: a file as a value, or opened for whoever copies it.

use std::fs::File;
use std::io::Read as _;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, FileType, FileTypeExt as _, OpenOptions};

use super::error::ContainedError;
use super::path::Asked;
use super::{Contained, READ_BYTES};

/// A file that is open to be read.
#[derive(Debug)]
pub struct Source {
    /// The file.
    pub file: File,
    /// What whoever asked called it.
    pub path: String,
}

impl Contained {
    /// What a file holds.
    ///
    /// # Errors
    /// The path is refused, there is no such file, or it is larger than [`READ_BYTES`].
    pub fn read(&self, path: &str) -> Result<Vec<u8>, ContainedError> {
        let file = self.open_source(path)?.file;
        let failed = ContainedError::unread(path);
        let size = file.metadata().map_err(&failed)?.len();
        let mut bytes = Vec::new();
        // It may grow, or have no size to begin with.
        file.take(READ_BYTES + 1).read_to_end(&mut bytes).map_err(&failed)?;
        let size = size.max(bytes.len() as u64);
        if size > READ_BYTES {
            return Err(ContainedError::TooLarge {
                path: path.to_owned(),
                size,
                limit: READ_BYTES,
                advice: "keep it as an artifact, or take what you need out of it with a command",
            });
        }
        Ok(bytes)
    }

    /// The text that a file holds.
    ///
    /// # Errors
    /// As for [`Contained::read`], or it is no text.
    pub fn read_text(&self, path: &str) -> Result<String, ContainedError> {
        String::from_utf8(self.read(path)?).map_err(|error| ContainedError::NotText {
            path: path.to_owned(),
            at: error.utf8_error().valid_up_to(),
        })
    }

    /// Opens a file to be read.
    ///
    /// # Errors
    /// The path is refused, or there is no such file.
    pub fn open_source(&self, path: &str) -> Result<Source, ContainedError> {
        let asked = self.asked(path)?;
        let found = asked.find()?;
        let Some(name) = found.name else { return Err(not_a_file(path, "a folder")) };
        let file = open_file(&asked, &found.folder, name.as_ref())?;
        Ok(Source { file, path: path.to_owned() })
    }
}

/// Opens a file of a folder. Whatever is no file is refused before it is opened, and again afterwards: opening a pipe would
/// wait for its other end, and opening a device may already do something.
pub(super) fn open_file(
    asked: &Asked<'_>,
    folder: &Dir,
    name: &std::path::Path,
) -> Result<File, ContainedError> {
    let failed = || ContainedError::of(asked.text, "can't be opened");
    let found = folder.symlink_metadata(name).map_err(failed())?;
    check_file(asked.text, found.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options).map_err(|error| asked.swapped(error))?;
    check_file(asked.text, file.metadata().map_err(failed())?.file_type())?;
    Ok(file.into_std())
}

pub(super) fn check_file(path: &str, found: FileType) -> Result<(), ContainedError> {
    if found.is_file() {
        return Ok(());
    }
    Err(not_a_file(path, kind(found)))
}

/// What something is.
pub(super) fn kind(found: FileType) -> &'static str {
    if found.is_file() {
        "a file"
    } else if found.is_dir() {
        "a folder"
    } else if found.is_symlink() {
        "a symbolic link"
    } else if found.is_fifo() {
        "a named pipe"
    } else if found.is_socket() {
        "a socket"
    } else if found.is_block_device() || found.is_char_device() {
        "a device"
    } else {
        "something unknown"
    }
}

fn not_a_file(path: &str, is: &'static str) -> ContainedError {
    ContainedError::Kind { path: path.to_owned(), is, wanted: "a file" }
}
