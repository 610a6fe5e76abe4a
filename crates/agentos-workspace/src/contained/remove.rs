//! Removing: what is gone already is no mistake.

use std::io;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

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
        let folder = match asked.find_at(&real) {
            Ok(found) => found.folder,
            // Nothing is below a file.
            Err(ContainedError::Kind { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
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
            asked.check_below(
                &folder.open_dir_nofollow(name).map_err(|error| asked.swapped(error))?,
                &real,
            )?;
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

impl Asked<'_> {
    /// Refuses to remove a folder with something below it that belongs to others.
    fn check_below(&self, folder: &Dir, real: &Path) -> Result<(), ContainedError> {
        self.descend(folder, usize::MAX, &mut |below, _| {
            let found = real.join(below);
            if self.root.guard.is_place(&found) {
                let (path, part) = (self.text.to_owned(), self.shown(&found));
                return Err(ContainedError::Protected { path, part });
            }
            Ok(true)
        })
    }
}
