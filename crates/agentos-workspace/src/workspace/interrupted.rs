//! What killed processes have left of workspaces, as far as it can be seen without changing anything: for `doctor`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use agentos_process::shell_word::quoted_path;

use super::id::WorkspaceId;
use super::repository;
use super::{State, Workspace};

/// What was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// It was being made.
    Making,
    /// It was being restored from the backup with this number.
    Restoring(u32),
    /// It was being removed.
    Removing,
    /// It is gone and has a backup with this number, and something else is in its place.
    PlaceTaken(u32),
}

/// A workspace of which something was not finished, or can't be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// Which.
    pub id: WorkspaceId,
    /// Where it belongs.
    pub path: PathBuf,
    /// What was not finished.
    pub unfinished: Unfinished,
}

/// Looks through what is written down. What a process that lives is about to do is not told.
#[must_use]
pub fn find(workspaces: &[Workspace]) -> Vec<Interrupted> {
    workspaces.iter().filter_map(Interrupted::of).collect()
}

impl Interrupted {
    fn of(workspace: &Workspace) -> Option<Self> {
        let unfinished = match (workspace.state, workspace.owed) {
            (State::Creating, Some(number)) => Unfinished::Restoring(number),
            (State::Creating, None) => Unfinished::Making,
            (State::Trashed, _) => Unfinished::Removing,
            (State::Gone, Some(number)) if is_taken(&workspace.path) => {
                Unfinished::PlaceTaken(number)
            }
            _ => return None,
        };
        // A process that makes or removes one has the repository's lock.
        let is_told = !repository::is_locked(&workspace.repository);
        let (id, path) = (workspace.id.clone(), workspace.path.clone());
        is_told.then_some(Self { id, path, unfinished })
    }
}

/// Whether a workspace could not be made here.
fn is_taken(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            fs::read_dir(path).is_ok_and(|mut inside| inside.next().is_some())
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Where what is in the way of a workspace may be moved to.
fn away(path: &Path) -> PathBuf {
    let mut away = path.as_os_str().to_owned();
    away.push(".old");
    away.into()
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, path) = (&self.id, &self.path);
        match self.unfinished {
            Unfinished::Making => write!(
                f,
                "the workspace {id} was being made when its process was killed; the next command that makes, removes or \
                 restores a workspace takes it back"
            ),
            Unfinished::Restoring(number) => write!(
                f,
                "the workspace {id} was being restored when its process was killed; `agentos workspace restore {id} {number}` \
                 does it again"
            ),
            Unfinished::Removing => write!(
                f,
                "the workspace {id} was being removed when its process was killed; the next command that makes, removes or \
                 restores a workspace finishes that"
            ),
            Unfinished::PlaceTaken(number) => write!(
                f,
                "the workspace {id} can't come back from its backup {number}, because something else is in its place; move \
                 that away: mv {} {}",
                quoted_path(path),
                quoted_path(&away(path))
            ),
        }
    }
}
