//! Removing: what is gone already is no mistake.

use std::io;

use cap_fs_ext::DirExt as _;

use super::Contained;
use super::error::ContainedError;
use super::path::Asked;

impl Contained {
    /// Removes a file, a symbolic link (and not what it leads to), or a folder with everything in it. Says whether there
    /// was anything.
    ///
    /// # Errors
    /// The path is refused, it is a folder and that was not said, or the file system refuses.
    pub fn remove(&self, path: &str, recursive: bool) -> Result<bool, ContainedError> {
        let asked = self.asked_to_change(path)?;
        let relative = asked.relative();
        let (Some(name), Some(parent)) = (relative.file_name(), relative.parent()) else {
            let (path, is) = (path.to_owned(), "a folder around others");
            return Err(ContainedError::Kind { path, is, wanted: "the path of one thing in it" });
        };
        let above = Asked { relative: parent.to_owned(), ..asked };
        let real = match above.resolve() {
            Ok(real) => real.join(name),
            Err(ContainedError::Missing { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        asked.check_change(&real)?;
        let folder = asked.find_at(&real)?.folder;
        let failed = |error| match ContainedError::of(path, "can't be removed")(error) {
            ContainedError::Missing { .. } => Ok(false),
            error => Err(error),
        };
        let found = match folder.symlink_metadata(name) {
            Ok(found) => found,
            Err(error) => return failed(error),
        };
        let removed = if !found.is_dir() {
            folder.remove_file_or_symlink(name)
        } else if recursive {
            folder.remove_dir_all(name)
        } else {
            folder.remove_dir(name)
        };
        match removed {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Err(ContainedError::Kind {
                    path: path.to_owned(),
                    is: "a folder with something in it",
                    wanted: "the option `recursive`",
                })
            }
            Err(error) => failed(error),
        }
    }
}
