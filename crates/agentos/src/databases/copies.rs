//! Folders for copies of databases, in the temporary directory. They go when nobody needs them any more.
//!
//! Whoever uses one has it locked. One whose user was killed stays, and is not locked: whoever makes the next one removes
//! it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

const PREFIX: &str = "agentos-source-";

/// How often it is tried to make one.
const TRIES: usize = 10;

/// How many names are looked at to find what was left behind.
const NAMES: usize = 100_000;

/// A folder that goes when it is no longer needed.
pub(super) struct CopyFolder {
    path: PathBuf,
    /// The folder itself, locked.
    _held: File,
}

impl CopyFolder {
    /// One that only this user can read, after removing what others of this user have left behind.
    pub(super) fn make() -> io::Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> io::Result<Self> {
        clear(parent);
        for _ in 0..TRIES {
            let path = parent.join(format!("{PREFIX}{}", Uuid::new_v4()));
            fs::DirBuilder::new().mode(0o700).create(&path)?;
            if let Some(held) = lock(&path)? {
                return Ok(Self { path, _held: held });
            }
        }
        Err(io::Error::other("every folder that is made there is removed at once"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for CopyFolder {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.path);
    }
}

/// Locks the folder; none if somebody has taken it for left behind before.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let found = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match found.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        done => done.map_err(io::Error::from)?,
    }
    let is_there = fs::symlink_metadata(path).is_ok_and(|now| {
        found.metadata().is_ok_and(|then| (then.dev(), then.ino()) == (now.dev(), now.ino()))
    });
    Ok(is_there.then_some(found))
}

/// Removes what was left behind. What can't be removed is the next one's.
fn clear(parent: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().take(NAMES) {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if id.is_none_or(|id| Uuid::parse_str(id).is_err()) {
            continue;
        }
        // Neither a link, wherever it leads, nor anything of somebody else.
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        if is_ours && let Ok(Some(_held)) = lock(&entry.path()) {
            let _left = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_behind_goes_and_what_is_used_stays() {
        let parent = tempfile::tempdir().unwrap();
        let used = CopyFolder::make_in(parent.path()).unwrap();
        fs::write(used.path().join("source.db"), "in use").unwrap();
        let named = |name: &str| parent.path().join(format!("{PREFIX}{name}"));
        let left = named(&Uuid::new_v4().to_string());
        fs::create_dir(&left).unwrap();
        fs::write(left.join("source.db"), "left").unwrap();
        let elsewhere = parent.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let link = named(&Uuid::new_v4().to_string());
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let stranger = named("of-somebody-else");
        fs::create_dir(&stranger).unwrap();
        let second = CopyFolder::make_in(parent.path()).unwrap();
        assert!(!left.exists());
        assert!(used.path().join("source.db").exists() && second.path().exists());
        assert!(link.is_symlink() && elsewhere.exists() && stranger.exists());
        let (one, two) = (used.path().to_owned(), second.path().to_owned());
        drop((used, second));
        assert!(!one.exists() && !two.exists());
    }
}
