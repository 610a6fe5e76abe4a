//! The trash: where workspaces go before they are deleted. A rename on the same file system, so it takes no time and nothing
//! of a workspace is half gone; deleting takes as long as it takes, later, by whoever comes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::Workspace;
use crate::files::{self, FileError};
use crate::{delete, mounts};

/// The folder, beside those of the repositories.
const FOLDER: &str = ".agentos-trash";

/// What became of the trash.
#[derive(Debug, Default)]
pub struct Swept {
    /// How many are deleted.
    pub deleted: usize,
    /// Which are not, and why.
    pub left: Vec<(PathBuf, io::Error)>,
}

/// Moves a workspace into the trash; where it is now.
pub(super) fn put(root: &Path, workspace: &Workspace) -> Result<PathBuf, FileError> {
    let trash = root.join(FOLDER);
    files::make_private_folder(&trash)?;
    check(&trash).map_err(FileError::io(&trash, "can't be used as the trash"))?;
    let place = place_of(&trash, workspace);
    let put = || -> io::Result<()> {
        fs::rename(&workspace.path, &place)?;
        File::open(&trash)?.sync_all()?;
        workspace.path.parent().map_or(Ok(()), |above| File::open(above)?.sync_all())
    };
    put().map_err(FileError::io(&workspace.path, "can't be moved into the trash"))?;
    Ok(place)
}

/// Deletes what one workspace has in the trash, if it has anything there.
pub(super) fn discard(root: &Path, workspace: &Workspace) -> io::Result<()> {
    let trash = root.join(FOLDER);
    match check(&trash) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        checked => checked.and_then(|()| delete(&place_of(&trash, workspace))),
    }
}

/// The folder for all workspaces that one is in.
pub(super) fn root_of(workspace: &Workspace) -> Option<&Path> {
    workspace.path.parent()?.parent()
}

fn place_of(trash: &Path, workspace: &Workspace) -> PathBuf {
    trash.join(format!("{}.{}", workspace.id, workspace.nonce.simple()))
}

/// How many workspaces are in the trash.
#[must_use]
pub fn count(root: &Path) -> usize {
    let inside = fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
    inside.filter(|entry| is_put_there(&entry.file_name())).count()
}

/// Deletes what is in the trash. Links are deleted and not followed, mounts are not crossed. Many may do it at once.
///
/// # Errors
/// The trash can't be looked at. What can't be deleted is no error: it is told.
pub fn sweep(root: &Path) -> io::Result<Swept> {
    let trash = root.join(FOLDER);
    let mut swept = Swept::default();
    match check(&trash) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(swept),
        checked => checked?,
    }
    for entry in fs::read_dir(&trash)? {
        let entry = entry?;
        if !is_put_there(&entry.file_name()) {
            continue;
        }
        let path = entry.path();
        match delete(&path) {
            Ok(()) => swept.deleted += 1,
            Err(error) => swept.left.push((path, error)),
        }
    }
    Ok(swept)
}

/// Whether a name is one that [`put`] gives: whatever else is there is somebody else's.
fn is_put_there(name: &OsStr) -> bool {
    let nonce = name.to_str().and_then(|name| name.rsplit_once('.')).map(|(_, nonce)| nonce);
    nonce.is_some_and(|nonce| nonce.len() == 32 && Uuid::try_parse(nonce).is_ok())
}

/// Only a folder of our own is a trash: what is behind a link is somebody else's.
fn check(trash: &Path) -> io::Result<()> {
    if fs::symlink_metadata(trash)?.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"))
}

/// Deletes what is ours of it. What is mounted somewhere in it is not, and then nothing is deleted.
fn delete(path: &Path) -> io::Result<()> {
    match mounts::below(path).first() {
        Some(mount) => Err(io::Error::new(
            io::ErrorKind::CrossesDevices,
            format!("{} is mounted in it; unmount it first", mount.display()),
        )),
        None => delete::all(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_leads_to_is_not_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mine) = (folder.path().join("root"), folder.path().join("mine"));
        fs::create_dir_all(root.join(".agentos-trash/fix.0123456789abcdef0123456789abcdef/deep"))
            .unwrap();
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("file"), "mine").unwrap();
        std::os::unix::fs::symlink(
            &mine,
            root.join(".agentos-trash/fix.0123456789abcdef0123456789abcdef/deep/link"),
        )
        .unwrap();
        std::os::unix::fs::symlink(
            &mine,
            root.join(".agentos-trash/fix.00000000000000000000000000000000"),
        )
        .unwrap();
        let other = root.join(".agentos-trash/notes.txt");
        fs::write(&other, "not put there by us").unwrap();
        assert_eq!(count(&root), 2);
        let swept = sweep(&root).unwrap();
        assert_eq!((swept.deleted, swept.left.len(), count(&root)), (2, 0, 0));
        assert!(mine.join("file").exists() && other.exists());
    }

    #[test]
    fn a_link_is_no_trash() {
        let folder = tempfile::tempdir().unwrap();
        let (root, mine) = (folder.path().join("root"), folder.path().join("mine"));
        fs::create_dir_all(&root).unwrap();
        assert_eq!(sweep(&root).unwrap().deleted, 0);
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("file"), "mine").unwrap();
        std::os::unix::fs::symlink(&mine, root.join(".agentos-trash")).unwrap();
        assert!(sweep(&root).is_err());
        assert!(mine.join("file").exists());
    }
}
