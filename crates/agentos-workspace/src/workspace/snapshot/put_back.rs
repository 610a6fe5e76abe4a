//! The way back: files, folders and modes as they were, then what git or jj know.
//!
//! Everything here may be done again, from whatever state somebody who was killed has left it in: nothing is looked up that
//! was changed before, and it is written down where the way leads.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::bounds::LOOKS;
use super::darkroom::{Darkroom, io_error};
use super::look::{Looked, usual};
use super::notes::Standing;
use super::state::Kept;
use super::{SnapshotError, jujutsu, nested, standing};
use crate::workspace::backup::manifest::Mode;
use crate::workspace::points::{Point, Points};

/// Where to, and what from.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    /// The snapshot's commit.
    pub(super) commit: &'a str,
    pub(super) kept: &'a Kept,
    /// Whether the workspace is the one that the snapshot was taken of.
    pub(super) is_home: bool,
    pub(super) points: &'a dyn Points,
}

impl Way<'_> {
    /// Makes everything as it was.
    pub(super) fn go(self, room: &Darkroom<'_>) -> Result<(), SnapshotError> {
        if let Standing::Jj { parents, change, .. } = &self.kept.notes.standing {
            jujutsu::stand_on(room, (parents, change))?;
        }
        open_folders(&room.workspace.path, &Looked::at(room)?)?;
        self.put_files(room)?;
        self.points.pass(Point::PutBack);
        self.clear(room)?;
        self.points.pass(Point::Cleared);
        self.put_standing(room)?;
        let root = File::open(&room.workspace.path).map_err(io_error(&room.workspace.path))?;
        rustix::fs::syncfs(root).map_err(|error| io_error(&room.workspace.path)(error.into()))
    }

    fn put_files(self, room: &Darkroom<'_>) -> Result<(), SnapshotError> {
        room.call(["read-tree", "--reset", self.commit])?;
        room.call(["checkout-index", "--all", "--force", "--index", "--quiet"])?;
        room.stand_at(Some(self.commit))?;
        nested::put_back(room, &self.kept.nested, self.is_home)
    }

    /// Takes away what was not there, by the rules of the snapshot for what is overlooked.
    fn clear(self, room: &Darkroom<'_>) -> Result<(), SnapshotError> {
        let root = &room.workspace.path;
        let wanted: Vec<PathBuf> =
            self.kept.notes.nested.iter().map(|nested| nested.path.path()).collect();
        for _ in 0..LOOKS {
            let looked = Looked::at(room)?;
            let strangers: Vec<_> =
                looked.walked.nested.iter().filter(|found| !wanted.contains(found)).collect();
            if !looked.is_news() && strangers.is_empty() {
                return self.put_modes(root, &looked);
            }
            for name in &looked.new {
                let whole = root.join(name);
                fs::remove_file(&whole).map_err(io_error(&whole))?;
            }
            for stranger in strangers {
                nested::remove_repository(&root.join(stranger))?;
            }
            if !looked.changed.is_empty() || !looked.removed.is_empty() {
                room.call(["checkout-index", "--all", "--force", "--index", "--quiet"])?;
            }
        }
        Err(SnapshotError::Restless { path: root.clone() })
    }

    fn put_modes(self, root: &Path, looked: &Looked) -> Result<(), SnapshotError> {
        let notes = &self.kept.notes;
        let (files, folders) = (by_path(&notes.modes), by_path(&notes.folders));
        let mut found: Vec<_> = looked.walked.folders.iter().collect();
        // What is deeper goes first.
        found.sort_by(|one, other| other.cmp(one));
        for (name, mode) in found {
            let whole = root.join(name);
            if !folders.contains_key(name) && fs::remove_dir(&whole).is_err() && *mode != 0o755 {
                set_mode(&whole, 0o755)?;
            }
        }
        for (name, mode) in &looked.walked.modes {
            if !files.contains_key(name) {
                set_mode(&root.join(name), usual(*mode))?;
            }
        }
        for (name, mode) in &files {
            set_mode(&root.join(name), *mode)?;
        }
        for name in folders.keys() {
            let whole = root.join(name);
            fs::create_dir_all(&whole).map_err(io_error(&whole))?;
        }
        // The deepest first here too: one that nobody may enter would be in the way.
        let mut folders: Vec<_> = folders.into_iter().collect();
        folders.sort_by(|one, other| other.cmp(one));
        for (name, mode) in folders {
            set_mode(&root.join(name), mode)?;
        }
        set_mode(root, notes.mode)
    }

    fn put_standing(self, room: &Darkroom<'_>) -> Result<(), SnapshotError> {
        match &self.kept.notes.standing {
            Standing::Jj { description, bookmark, .. } => {
                jujutsu::record(room, description)?;
                if self.is_home {
                    jujutsu::put_bookmark(room, bookmark.as_deref())?;
                }
                Ok(())
            }
            Standing::Git { head, branch, index } => {
                let private = &room.found.private;
                standing::put_private(private, &self.kept.private)?;
                standing::put_index(private, self.kept.index.clone().zip(*index))?;
                if self.is_home {
                    standing::put_head(room, (head.as_deref(), branch.as_deref()))?;
                }
                Ok(())
            }
        }
    }
}

fn by_path(modes: &[Mode]) -> HashMap<PathBuf, u32> {
    modes.iter().map(|mode| (mode.path.path(), mode.mode)).collect()
}

fn set_mode(path: &Path, mode: u32) -> Result<(), SnapshotError> {
    let about = fs::symlink_metadata(path).map_err(io_error(path))?;
    if about.is_symlink() || about.mode() & 0o7777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(io_error(path))
}

/// Lets us into folders that somebody has closed, so that they can be put in order.
fn open_folders(root: &Path, looked: &Looked) -> Result<(), SnapshotError> {
    for (name, mode) in &looked.walked.folders {
        if mode & 0o700 != 0o700 {
            set_mode(&root.join(name), mode | 0o700)?;
        }
    }
    Ok(())
}
