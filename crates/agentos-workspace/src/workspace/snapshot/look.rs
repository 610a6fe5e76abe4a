//! What is in a workspace, and what of it has changed since the index of snapshots was last written.
//!
//! git says what has changed and what it was told to overlook. A walk finds what git does not keep: modes, folders with
//! nothing in them, and the repositories inside the workspace, which say themselves what is overlooked in them.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::SnapshotError;
use super::bounds::{ENTRIES, FILE_BYTES};
use super::darkroom::{Darkroom, io_error};
use crate::workspace::Kind;
use crate::workspace::plumbing::{Plumbing, Stand, parts, path};
use crate::workspace::survey::Status;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Files that the index does not know.
    pub(super) new: Vec<PathBuf>,
    /// Files that are not as the index has them.
    pub(super) changed: Vec<PathBuf>,
    /// Files that are not there any more.
    pub(super) removed: Vec<PathBuf>,
    /// Of those that are new, repositories of which nothing is known yet.
    unknown: Vec<PathBuf>,
    /// Whether the index is not that of the last snapshot.
    pub(super) is_ahead: bool,
    ignored: HashSet<PathBuf>,
    /// What a walk has found.
    pub(super) walked: Walked,
}

/// What git does not say.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Files whose mode says more than git keeps.
    pub(super) modes: Vec<(PathBuf, u32)>,
    /// Folders with nothing in them that is kept, or of an unusual mode.
    pub(super) folders: Vec<(PathBuf, u32)>,
    /// Folders with a repository in them.
    pub(super) nested: Vec<PathBuf>,
    /// Files in those.
    inside: HashSet<PathBuf>,
    entries: usize,
}

impl Looked {
    /// Looks at everything.
    pub(super) fn at(room: &Darkroom<'_>) -> Result<Self, SnapshotError> {
        let how = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--ignore-submodules=all",
            "--no-renames",
            "--no-ahead-behind",
        ];
        let said = room.call(how)?;
        let mut looked = Self::parse(&said);
        let private = if room.workspace.kind == Kind::Jj { ".jj" } else { ".git" };
        // jj does not tell git to overlook its folder.
        looked.new.retain(|name| !name.starts_with(private));
        let mut walk = Walk { room, private, found: Walked::default() };
        walk.folder(Path::new(""), &looked.ignored, false)?;
        looked.walked = walk.found;
        looked.settle_nested();
        Ok(looked)
    }

    /// Adds what git was told to overlook and then told to keep nevertheless (`git add --force`). Asked only if the index of
    /// the workspace may have changed.
    pub(super) fn add_forced(
        &mut self,
        room: &Darkroom<'_>,
        is_index_changed: bool,
    ) -> Result<(), SnapshotError> {
        if !is_index_changed || self.ignored.is_empty() || room.workspace.kind == Kind::Jj {
            return Ok(());
        }
        let root = &room.workspace.path;
        let said = Plumbing(room.porcelain).call(Stand::checkout(root), ["ls-files", "-z"])?;
        let forced = parts(&said).map(path).filter(|name| {
            name.ancestors().any(|above| self.ignored.contains(above))
                && fs::symlink_metadata(root.join(name)).is_ok_and(|about| !about.is_dir())
        });
        let forced: Vec<PathBuf> = forced.collect();
        self.new.extend(forced);
        Ok(())
    }

    /// Whether there is something that the index does not have.
    pub(super) fn is_news(&self) -> bool {
        !self.new.is_empty() || !self.changed.is_empty() || !self.removed.is_empty()
    }

    fn parse(said: &[u8]) -> Self {
        let mut looked = Self::default();
        for line in parts(said) {
            let rest = line.get(2..).unwrap_or_default();
            match line.first() {
                Some(b'?') => match rest.strip_suffix(b"/") {
                    Some(folder) => looked.unknown.push(path(folder)),
                    None => looked.new.push(path(rest)),
                },
                Some(b'!') => {
                    looked.ignored.insert(path(rest.strip_suffix(b"/").unwrap_or(rest)));
                }
                Some(b'1') => looked.tracked(rest, line.splitn(9, |byte| *byte == b' ').last()),
                _ => {}
            }
        }
        looked
    }

    fn tracked(&mut self, letters: &[u8], name: Option<&[u8]>) {
        let Some(name) = name.map(path) else { return };
        self.is_ahead |= letters.first().is_some_and(|letter| *letter != b'.');
        match letters.get(1) {
            Some(b'.') | None => {}
            Some(b'D') => self.removed.push(name),
            Some(_) => self.changed.push(name),
        }
    }

    /// What is new in a repository inside the workspace is what that repository says.
    fn settle_nested(&mut self) {
        let Self { new, unknown, ignored, walked, .. } = self;
        if walked.nested.is_empty() {
            return;
        }
        let is_nested = |name: &Path| walked.nested.iter().any(|root| name.starts_with(root));
        new.retain(|name| !is_nested(name) || walked.inside.contains(name));
        let mut known: HashSet<PathBuf> = new.iter().cloned().collect();
        for name in &walked.inside {
            let is_unknown = unknown.iter().any(|root| name.starts_with(root))
                || name.ancestors().any(|above| ignored.contains(above));
            if is_unknown && known.insert(name.clone()) {
                new.push(name.clone());
            }
        }
    }

    /// Refuses what can't be kept.
    pub(super) fn check(&self, root: &Path) -> Result<(), SnapshotError> {
        for name in self.new.iter().chain(&self.changed) {
            let whole = root.join(name);
            let Ok(about) = fs::symlink_metadata(&whole) else { continue };
            if about.len() > FILE_BYTES {
                let bytes = about.len();
                return Err(SnapshotError::TooLarge { path: whole, bytes });
            }
            let last = name.file_name().unwrap_or_default();
            let is_link = about.is_symlink() && last.eq_ignore_ascii_case(".gitmodules");
            if is_link || name.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
                return Err(SnapshotError::Unkeepable { path: whole });
            }
        }
        Ok(())
    }
}

struct Walk<'a> {
    room: &'a Darkroom<'a>,
    /// The name at the root that is no part of the files.
    private: &'static str,
    found: Walked,
}

impl Walk<'_> {
    /// Walks over a folder; whether there is anything in it that is kept.
    fn folder(
        &mut self,
        folder: &Path,
        ignored: &HashSet<PathBuf>,
        is_nested: bool,
    ) -> Result<bool, SnapshotError> {
        let whole = self.room.workspace.path.join(folder);
        let is_root = folder.as_os_str().is_empty();
        let mut is_kept = false;
        let inside = match fs::read_dir(&whole) {
            // Somebody is at work; whether that matters is seen later.
            Err(error) if error.kind() == ErrorKind::NotFound && !is_root => return Ok(false),
            inside => inside.map_err(io_error(&whole))?,
        };
        for entry in inside {
            let entry = entry.map_err(io_error(&whole))?;
            let name = entry.file_name();
            if name == ".git" || (is_root && name == self.private) {
                continue;
            }
            let inside = folder.join(&name);
            if ignored.contains(&inside) {
                continue;
            }
            self.found.entries += 1;
            if self.found.entries > ENTRIES {
                return Err(SnapshotError::TooMany { path: self.room.workspace.path.clone() });
            }
            let about = match entry.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                about => about.map_err(io_error(&whole))?,
            };
            is_kept |= match about.is_dir() {
                true => self.inner(&inside, (ignored, is_nested), about.mode() & 0o7777)?,
                false => self.file(inside, &about, is_nested),
            };
        }
        Ok(is_kept)
    }

    fn inner(
        &mut self,
        folder: &Path,
        (ignored, is_nested): (&HashSet<PathBuf>, bool),
        mode: u32,
    ) -> Result<bool, SnapshotError> {
        let whole = self.room.workspace.path.join(folder);
        let is_kept = if whole.join(".git").symlink_metadata().is_ok() {
            self.found.nested.push(folder.to_owned());
            let overlooked = self.overlooked(folder, &whole)?;
            self.folder(folder, &overlooked, true)?;
            true
        } else {
            self.folder(folder, ignored, is_nested)?
        };
        if !is_kept || mode != 0o755 {
            self.found.folders.push((folder.to_owned(), mode));
        }
        Ok(is_kept)
    }

    fn file(&mut self, name: PathBuf, about: &fs::Metadata, is_nested: bool) -> bool {
        // Pipes and sockets hold nothing.
        if !about.is_file() && !about.is_symlink() {
            return false;
        }
        let mode = about.mode() & 0o7777;
        if about.is_file() && mode != usual(mode) {
            self.found.modes.push((name.clone(), mode));
        }
        if is_nested {
            self.found.inside.insert(name);
        }
        true
    }

    /// What a repository inside the workspace overlooks. One that can't be asked overlooks nothing.
    fn overlooked(&self, folder: &Path, whole: &Path) -> Result<HashSet<PathBuf>, SnapshotError> {
        let plumbing = Plumbing(self.room.porcelain);
        let status = Status::load(plumbing, Stand::checkout(whole), whole).ok().flatten();
        let ignored = status.map(|status| status.ignored).unwrap_or_default();
        Ok(ignored.into_iter().map(|name| folder.join(name)).collect())
    }
}

/// The mode that git gives to a file.
pub(super) const fn usual(mode: u32) -> u32 {
    if mode & 0o100 == 0 { 0o644 } else { 0o755 }
}
