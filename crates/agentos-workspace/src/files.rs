//! Small files and folders of ours: written whole or not at all, and not seen by git.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Longest file of ours, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// A file or folder of ours that can't be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file system refused.
    #[error("{} {what}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What could not be done.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It holds something else than it should.
    #[error("{} can't be understood ({reason}); repair it or remove it", path.display())]
    Content {
        /// Where.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl FileError {
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, what, source }
    }
}

/// Reads a document; none if there is no such file.
pub(crate) fn load_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::io(path, "can't be read")(error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(FileError::io(path, "can't be read"))?;
    let content = |reason: String| FileError::Content { path: path.to_owned(), reason };
    if bytes.len() as u64 > FILE_BYTES {
        return Err(content("it is too long".to_owned()));
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| content(error.to_string()))
}

/// Writes a document in place of the one that is there. Who reads meanwhile sees the one or the other. Who writes at the same
/// time waits.
pub(crate) fn write_json(path: &Path, document: &impl Serialize) -> Result<(), FileError> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|error| FileError::Content { path: path.to_owned(), reason: error.to_string() })?;
    // Always the same name, so that what a killed writer has left is used up.
    let unfinished = path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut file = lock_draft(&unfinished)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().map_err(FileError::io(path, "can't be written"))
}

/// Opens a draft that only we write to. The one that was waited for may have got its own name meanwhile; then it is no draft.
fn lock_draft(path: &Path) -> io::Result<File> {
    loop {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        let named = fs::metadata(path).map(|found| (found.dev(), found.ino()));
        let ours = file.metadata().map(|found| (found.dev(), found.ino()))?;
        if named.is_ok_and(|named| named == ours) {
            return Ok(file);
        }
    }
}

/// Makes a folder for one user's eyes, and the folders above it as everybody makes them.
pub(crate) fn make_private_folder(folder: &Path) -> Result<(), FileError> {
    if let Some(above) = folder.parent() {
        make_folder(above)?;
    }
    make_folder_with(folder, 0o700)
}

/// Makes a folder that may be seen by those who may see `like`, less what the umask takes away.
pub(crate) fn make_folder_like(folder: &Path, like: &Path) -> Result<(), FileError> {
    let found = fs::metadata(like).map_err(FileError::io(like, "can't be looked at"))?;
    make_folder_with(folder, found.permissions().mode() & 0o777)
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(FileError::io(folder, "can't be made"))
}

fn make_folder_with(folder: &Path, mode: u32) -> Result<(), FileError> {
    match DirBuilder::new().mode(mode).create(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        made => made.map_err(FileError::io(folder, "can't be made")),
    }
}

/// Tells git to overlook a folder and everything in it, whatever else the repository ignores.
pub(crate) fn hide_from_git(folder: &Path) -> Result<(), FileError> {
    let path = folder.join(".gitignore");
    // An empty one is what a crash left of ours: it would show everything.
    if fs::metadata(&path).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    fs::write(&path, "*\n").map_err(FileError::io(&path, "can't be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_who_write_one_file_at_once_all_succeed_and_leave_one_whole_document() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("document.json");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        write_json(path, &vec![writer; 100]).expect("it is written");
                        let read: Vec<u32> = load_json(path).expect("it is whole").expect("a file");
                        assert!(read.iter().all(|number| *number == read[0]), "{read:?}");
                    }
                });
            }
        });
        let names: Vec<_> = fs::read_dir(folder.path()).expect("a folder").flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}
