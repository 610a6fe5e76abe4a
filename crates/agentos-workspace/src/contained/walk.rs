//! What is in a folder, or matches a pattern: looked for without following a link, and within bounds.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, FileType};
use globset::{GlobBuilder, GlobMatcher};

use super::error::ContainedError;
use super::path::Asked;
use super::{Contained, WALK_DEPTH, WALK_ENTRIES};

/// Files that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    /// The path is that of a file.
    File,
    /// What is in a folder, or matches a pattern.
    Files {
        /// The files, sorted.
        files: Vec<TreeFile>,
        /// How much was left out: symbolic links, and what is no file.
        skipped: usize,
    },
}

/// A file of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path, as it can be asked for.
    pub path: String,
    /// Its path below the folder, or below the part of the pattern that is no pattern.
    pub relative: String,
}

impl Contained {
    /// The files that a path stands for: a file, what is in a folder, or what matches a pattern. At most so many.
    ///
    /// # Errors
    /// The path is refused, there is no such thing, or there are too many.
    pub fn tree(&self, path: &str, limit: usize) -> Result<Tree, ContainedError> {
        let asked = self.asked(path)?;
        let search = match asked.look()? {
            Look::Other(_) => return Ok(Tree::File),
            Look::Folder(search) | Look::Pattern(search) => search,
        };
        let (mut files, mut skipped) = (Vec::new(), 0);
        search.walk(&asked, &mut |relative, kind| {
            let relative = relative.to_str().filter(|text| !text.contains(char::is_control));
            match relative.filter(|_| kind.is_file()) {
                Some(relative) => {
                    let path = asked.shown(&search.base.join(relative));
                    files.push(TreeFile { path, relative: relative.to_owned() });
                }
                None if kind.is_dir() => {}
                None => skipped += 1,
            }
            match files.len() {
                count if count > limit => Err(asked.too_many("files", limit)),
                _ => Ok(()),
            }
        })?;
        if files.is_empty() && search.matcher.is_some() {
            return Err(ContainedError::Missing { path: path.to_owned() });
        }
        files.sort_by(|one, other| one.relative.cmp(&other.relative));
        Ok(Tree::Files { files, skipped })
    }
}

/// What a path or pattern is.
pub(super) enum Look {
    Folder(Search),
    Other(FileType),
    Pattern(Search),
}

/// What to look through.
pub(super) struct Search {
    pub(super) folder: Dir,
    /// The folder's path from the root, as it was asked for.
    pub(super) base: PathBuf,
    /// The folder's real path from the root.
    real: PathBuf,
    /// What is wanted, by paths from the root; everything, if there is none.
    pub(super) matcher: Option<GlobMatcher>,
    /// How many levels of folders can hold something that is wanted.
    pub(super) depth: usize,
}

impl Asked<'_> {
    /// Looks at what is there. A name that is there is no pattern, whatever characters it has.
    pub(super) fn look(&self) -> Result<Look, ContainedError> {
        let missing = match self.find() {
            Ok(found) => return self.look_at(&found),
            Err(error @ ContainedError::Missing { .. }) if is_pattern(self.text) => error,
            Err(error) => return Err(error),
        };
        let parts: Vec<Component<'_>> = self.relative.components().collect();
        let is_plain = |part: &Component<'_>| !is_pattern(&part.as_os_str().to_string_lossy());
        let plain = parts.iter().take_while(|part| is_plain(part)).count();
        let pattern = |why: String| ContainedError::Pattern { pattern: self.text.to_owned(), why };
        if parts[plain..].contains(&Component::ParentDir) {
            return Err(pattern("`..` can't follow a wildcard".to_owned()));
        }
        let base: PathBuf = without_dots(&parts[..plain]);
        let wanted: PathBuf = base.components().chain(parts[plain..].iter().copied()).collect();
        let glob = GlobBuilder::new(&wanted.to_string_lossy())
            .literal_separator(true)
            .build()
            .map_err(|error| pattern(error.kind().to_string()))?;
        let above = Asked { relative: base, ..*self };
        match above.find().and_then(|found| above.look_at(&found)) {
            Ok(Look::Folder(search)) => {
                let (matcher, depth) = (Some(glob.compile_matcher()), levels(&parts[plain..]));
                Ok(Look::Pattern(Search { matcher, depth, ..search }))
            }
            // Nothing matches below a folder that is not there.
            Ok(_) | Err(ContainedError::Missing { .. }) => Err(missing),
            Err(error) => Err(error),
        }
    }

    fn look_at(&self, found: &super::path::Found) -> Result<Look, ContainedError> {
        let failed = || ContainedError::of(self.text, "can't be looked at");
        let Some(name) = &found.name else {
            let folder = self.root.dir.try_clone().map_err(failed())?;
            return Ok(Look::Folder(self.search(folder, PathBuf::new())));
        };
        let kind = found.folder.symlink_metadata(name).map_err(failed())?.file_type();
        if !kind.is_dir() {
            return Ok(Look::Other(kind));
        }
        let folder = found.folder.open_dir_nofollow(name).map_err(|error| self.swapped(error))?;
        Ok(Look::Folder(self.search(folder, found.real.clone())))
    }

    /// Looks for everything below a folder.
    fn search(&self, folder: Dir, real: PathBuf) -> Search {
        Search { folder, base: self.relative.clone(), real, matcher: None, depth: usize::MAX }
    }

    /// A path from the root as it can be asked for again: relative in the workspace, absolute among the inputs.
    pub(super) fn shown(&self, relative: &Path) -> String {
        let relative = without_dots(&relative.components().collect::<Vec<_>>());
        let path = if self.is_context { self.root.absolute(&relative) } else { relative };
        path.to_string_lossy().into_owned()
    }

    pub(super) fn too_many(&self, what: &'static str, limit: usize) -> ContainedError {
        ContainedError::TooMany { path: self.text.to_owned(), what, limit }
    }
}

pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// How deep the files can be that match a pattern. Whatever stands for a `/` may stand for several.
fn levels(pattern: &[Component<'_>]) -> usize {
    let is_open = |part: &Component<'_>| {
        let part = part.as_os_str().to_string_lossy();
        ["**", "[!", "[^"].iter().any(|open| part.contains(open))
    };
    if pattern.iter().any(is_open) { usize::MAX } else { pattern.len() }
}

fn without_dots(parts: &[Component<'_>]) -> PathBuf {
    parts.iter().filter(|part| !matches!(part, Component::CurDir)).collect()
}

type Visit<'a> = dyn FnMut(&Path, FileType) -> Result<(), ContainedError> + 'a;

impl Search {
    /// Shows everything that is wanted, by its path below the folder. What belongs to others is left out.
    pub(super) fn walk(
        &self,
        asked: &Asked<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<(), ContainedError> {
        asked.descend(&self.folder, WALK_ENTRIES, &mut |path, kind| {
            if asked.root.guard.is_place(&self.real.join(path)) {
                return Ok(false);
            }
            let is_wanted = self
                .matcher
                .as_ref()
                .is_none_or(|matcher| !kind.is_dir() && matcher.is_match(self.base.join(path)));
            if is_wanted {
                visit(path, kind)?;
            }
            Ok(path.components().count() < self.depth)
        })
    }
}

/// A folder that is being looked through.
struct Level {
    folder: Dir,
    path: PathBuf,
    /// The folders in it that are still to be looked through.
    below: Vec<OsString>,
}

/// Sees one entry, and says whether to go into it if it is a folder.
type See<'a> = dyn FnMut(&Path, FileType) -> Result<bool, ContainedError> + 'a;

impl Asked<'_> {
    /// Goes through everything below a folder, without following anything. Only the folders on the way to where it is are
    /// open, so that it does not matter how many there are.
    pub(super) fn descend(
        &self,
        folder: &Dir,
        most: usize,
        see: &mut See<'_>,
    ) -> Result<(), ContainedError> {
        let unreadable = || ContainedError::of(self.text, "can't be looked through");
        let mut looked_at = 0;
        let mut levels: Vec<Level> = Vec::new();
        let mut next = Some((folder.try_clone().map_err(unreadable())?, PathBuf::new()));
        loop {
            if let Some((folder, path)) = next.take() {
                let mut below = Vec::new();
                for entry in folder.entries().map_err(unreadable())? {
                    looked_at += 1;
                    if looked_at > most {
                        return Err(self.too_many("entries of folders", most));
                    }
                    let entry = entry.map_err(unreadable())?;
                    let kind = entry.file_type().map_err(unreadable())?;
                    let name = entry.file_name();
                    if see(&path.join(&name), kind)? && kind.is_dir() {
                        below.push(name);
                    }
                }
                levels.push(Level { folder, path, below });
            }
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { return Ok(()) };
            let Some(name) = level.below.pop() else {
                levels.pop();
                continue;
            };
            if depth >= WALK_DEPTH {
                return Err(self.too_many("levels of folders", WALK_DEPTH));
            }
            match level.folder.open_dir_nofollow(&name) {
                Ok(below) => next = Some((below, level.path.join(name))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.swapped(error)),
            }
        }
    }
}
