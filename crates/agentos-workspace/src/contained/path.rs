//! A path as a workflow names it, and what it leads to.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use super::PATH_BYTES;
use super::error::ContainedError;
use super::root::Root;

/// How much of a path that is none is shown, in characters.
const SHOWN: usize = 80;

/// A path that was asked for.
pub(super) struct Asked<'a> {
    /// As it was written.
    pub(super) text: &'a str,
    /// The folder that it is in.
    pub(super) root: &'a Root,
    /// Relative to that folder.
    pub(super) relative: PathBuf,
    /// Whether it is one of the run's inputs.
    pub(super) is_context: bool,
}

/// Something that was found: the folder that it is in, and its name there.
pub(super) struct Found {
    pub(super) folder: Dir,
    /// None for the root itself.
    pub(super) name: Option<OsString>,
    /// Its path from the root.
    pub(super) real: PathBuf,
}

impl<'a> Asked<'a> {
    pub(super) fn parse(
        text: &'a str,
        workspace: &'a Root,
        context: Option<&'a Root>,
    ) -> Result<Self, ContainedError> {
        check_text(text)?;
        let path = Path::new(text);
        if path.is_relative() {
            return Ok(Self { text, root: workspace, relative: path.into(), is_context: false });
        }
        // The inputs first: they may be below the workspace, and stay what they are.
        let inside = context
            .and_then(|context| Some((context, context.relative(path)?, true)))
            .or_else(|| Some((workspace, workspace.relative(path)?, false)));
        let (root, relative, is_context) = inside.ok_or_else(|| outside(text))?;
        Ok(Self { text, root, relative: relative.into(), is_context })
    }

    /// The path, never empty.
    pub(super) fn relative(&self) -> &Path {
        or_here(&self.relative)
    }

    /// Where it leads, all links followed.
    pub(super) fn resolve(&self) -> Result<PathBuf, ContainedError> {
        let real = self.root.dir.canonicalize(self.relative());
        let real = real.map_err(ContainedError::of(self.text, "can't be looked at"))?;
        Ok(real.components().filter(|part| matches!(part, Component::Normal(_))).collect())
    }

    /// What is there, all links followed.
    pub(super) fn find(&self) -> Result<Found, ContainedError> {
        self.find_at(&self.resolve()?)
    }

    /// What is at a real path. If a link has taken the place of one of its parts by now, it is refused.
    pub(super) fn find_at(&self, real: &Path) -> Result<Found, ContainedError> {
        let parent = real.parent().unwrap_or_else(|| Path::new(""));
        let name = real.file_name().map(OsStr::to_owned);
        Ok(Found { folder: self.folder(parent)?, name, real: real.to_owned() })
    }

    /// Opens a folder by its real path: nothing is followed.
    pub(super) fn folder(&self, real: &Path) -> Result<Dir, ContainedError> {
        let opened = self.root.dir.try_clone();
        let mut dir = opened.map_err(ContainedError::of(self.text, "can't be opened"))?;
        let mut walked = PathBuf::new();
        for part in real {
            walked.push(part);
            dir =
                dir.open_dir_nofollow(part).map_err(|error| match dir.symlink_metadata(part) {
                    Ok(found) if !found.is_dir() && !found.is_symlink() => ContainedError::Kind {
                        path: self.shown(&walked),
                        is: super::read::kind(found.file_type()),
                        wanted: "a folder",
                    },
                    _ => self.swapped(error),
                })?;
        }
        Ok(dir)
    }

    /// What an error means where there was a folder a moment ago.
    pub(super) fn swapped(&self, error: std::io::Error) -> ContainedError {
        match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => outside(self.text),
            _ => ContainedError::of(self.text, "can't be opened")(error),
        }
    }

    /// Refuses what belongs to others.
    pub(super) fn check_change(&self, real: &Path) -> Result<(), ContainedError> {
        match self.root.guard.around(real) {
            None => Ok(()),
            Some(part) => Err(ContainedError::Protected { path: self.text.to_owned(), part }),
        }
    }
}

pub(super) fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn outside(text: &str) -> ContainedError {
    ContainedError::Outside { path: text.to_owned() }
}

/// Refuses texts that no tool around takes for a path, or takes for two.
pub(super) fn check_text(text: &str) -> Result<(), ContainedError> {
    let why = if text.is_empty() {
        "it is empty; `.` is the workspace itself"
    } else if text.len() > PATH_BYTES {
        "it is longer than 4096 bytes"
    } else if text.contains(char::is_control) {
        "there is a line break or another control character in it"
    } else {
        return Ok(());
    };
    let mut path: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        path.push('…');
    }
    Err(ContainedError::Path { path, why })
}
