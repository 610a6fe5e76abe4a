//! Writing: into a file beside, which then takes the name.
//!
//! The file beside is named after whoever writes ([`Writing::mark`]), so that whoever does the same again after a crash
//! finds it and replaces it, and nothing is left.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _, Permissions, PermissionsExt as _};
use rustix::fs::{Mode, OFlags, fsync, openat};

use super::error::ContainedError;
use super::path::{Asked, Found};
use super::read::check_file;
use super::{Contained, WRITE_BYTES};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writing {
    /// Whether folders that are missing are made.
    pub create_dirs: bool,
    /// Its permissions; otherwise those of the file that was there, or those that new files have.
    pub mode: Option<u32>,
    /// Whether it can be executed. Says nothing if there is a mode.
    pub executable: bool,
    /// Who writes: the same for whoever does the same again.
    pub mark: u64,
}

impl Default for Writing {
    fn default() -> Self {
        Self { create_dirs: true, mode: None, executable: false, mark: 0 }
    }
}

impl Contained {
    /// Writes a file, as a whole.
    ///
    /// # Errors
    /// The path is refused, the content is larger than [`WRITE_BYTES`], or the file system refuses. Then there is what was
    /// there before.
    pub fn write(&self, path: &str, content: &[u8], how: &Writing) -> Result<(), ContainedError> {
        if content.len() > WRITE_BYTES {
            return Err(ContainedError::TooLarge {
                path: path.to_owned(),
                size: content.len() as u64,
                limit: WRITE_BYTES as u64,
                advice: "write it with a command",
            });
        }
        self.replace(path, how, |file| file.write_all(content).map_err(failed_at(path)))
    }

    /// Lets a file be filled, and then take its place.
    pub(super) fn replace(
        &self,
        path: &str,
        how: &Writing,
        fill: impl FnOnce(&mut File) -> Result<(), ContainedError>,
    ) -> Result<(), ContainedError> {
        let asked = self.asked_to_change(path)?;
        let found = asked.find_or_make(how.create_dirs)?;
        let Some(name) = found.name else {
            let wanted = "the path of a file";
            return Err(ContainedError::Kind { path: path.to_owned(), is: "a folder", wanted });
        };
        let before = match found.folder.symlink_metadata(&name) {
            Ok(before) => {
                check_file(path, before.file_type())?;
                Some(before.permissions().mode() & 0o7777)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed_at(path)(error)),
        };
        let beside = Beside { folder: &found.folder, name: beside_name(&name, how.mark) };
        let mut file = beside.create(before, how).map_err(failed_at(path))?;
        let filled = fill(&mut file).and_then(|()| {
            file.sync_all().map_err(failed_at(path))?;
            found.folder.rename(&beside.name, &found.folder, &name).map_err(failed_at(path))
        });
        if let Err(error) = filled {
            // Whatever is left of it is of no use; why it is there is known already.
            let _gone = found.folder.remove_file(&beside.name);
            return Err(error);
        }
        sync(&found.folder).map_err(failed_at(path))
    }
}

pub(super) fn failed_at(path: &str) -> impl Fn(io::Error) -> ContainedError + '_ {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull => {
            let what = "can't be written: make room, then try again";
            ContainedError::Io { path: path.to_owned(), what, source }
        }
        _ => ContainedError::of(path, "can't be written")(source),
    }
}

/// The file that takes the name in the end.
struct Beside<'a> {
    folder: &'a Dir,
    name: OsString,
}

/// At most 255 bytes, as every file system takes.
fn beside_name(name: &OsStr, mark: u64) -> OsString {
    let readable: String = name.to_string_lossy().chars().take(40).collect();
    format!(".{readable}.{mark:016x}.agentos-new").into()
}

impl Beside<'_> {
    fn create(&self, before: Option<u32>, how: &Writing) -> io::Result<File> {
        let wanted = how.mode.or(before.filter(|_| !how.executable)).map(|mode| mode & 0o777);
        let wanted = wanted.or_else(|| before.map(|mode| mode & 0o777 | (mode & 0o444) >> 2));
        let born = match wanted {
            // Nobody else reads it before it has its own permissions.
            Some(_) => 0o600,
            None if how.executable => 0o777,
            None => 0o666,
        };
        match self.folder.remove_file(&self.name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(born).follow(FollowSymlinks::No);
        let file = self.folder.open_with(&self.name, &options)?;
        if let Some(mode) = wanted {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(file.into_std())
    }
}

/// A folder's handle may be one that only finds things, so it is opened once more.
fn sync(folder: &Dir) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(fsync(openat(folder, c".", flags, Mode::empty())?)?)
}

impl Asked<'_> {
    /// The place of a file that is there, or is to be there.
    fn find_or_make(&self, makes_folders: bool) -> Result<Found, ContainedError> {
        match self.resolve() {
            Ok(real) => {
                self.check_change(&real)?;
                self.find_at(&real)
            }
            Err(ContainedError::Missing { .. }) => self.make(makes_folders),
            Err(error) => Err(error),
        }
    }

    /// The place of a file that is not there yet.
    fn make(&self, makes_folders: bool) -> Result<Found, ContainedError> {
        let (base, missing) = self.missing()?;
        let real = base.join(missing.iter().collect::<PathBuf>());
        self.check_change(&real)?;
        let Some((name, folders)) = missing.split_last() else {
            return Err(ContainedError::Missing { path: self.text.to_owned() });
        };
        if !folders.is_empty() && !makes_folders {
            return Err(ContainedError::Missing {
                path: real.parent().unwrap_or(&base).display().to_string(),
            });
        }
        let mut folder = self.folder(&base)?;
        for part in folders {
            match folder.create_dir(part) {
                Ok(()) => sync(&folder).map_err(failed_at(self.text))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed_at(self.text)(error)),
            }
            folder = folder.open_dir_nofollow(part).map_err(|error| self.swapped(error))?;
        }
        Ok(Found { folder, name: Some(name.clone()), real })
    }

    /// The longest part of the path that is there, by its real name, and what is missing.
    fn missing(&self) -> Result<(PathBuf, Vec<OsString>), ContainedError> {
        let mut missing = Vec::new();
        let mut rest = self.relative();
        loop {
            if self.is_link(rest) {
                let (path, wanted) = (self.text.to_owned(), "something that it leads to");
                let is = "a symbolic link that leads nowhere";
                return Err(ContainedError::Kind { path, is, wanted });
            }
            // A path can't go back up out of a folder that is not there.
            let (Some(name), Some(parent)) = (rest.file_name(), rest.parent()) else {
                return Err(ContainedError::Missing { path: self.text.to_owned() });
            };
            missing.push(name.to_owned());
            let parent = super::path::or_here(parent);
            let above = Asked { relative: parent.to_owned(), ..*self };
            match above.resolve() {
                Ok(base) => {
                    missing.reverse();
                    return Ok((base, missing));
                }
                Err(ContainedError::Missing { .. }) => rest = parent,
                Err(error) => return Err(error),
            }
        }
    }

    fn is_link(&self, path: &Path) -> bool {
        self.root.dir.symlink_metadata(path).is_ok_and(|found| found.is_symlink())
    }
}
