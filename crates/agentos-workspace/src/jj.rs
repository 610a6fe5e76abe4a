//! What jj's folders say about a workspace.
//!
//! A workspace is the nearest folder with a `.jj` in it, which is all that jj looks for too; so it is found without
//! starting jj, and without jj being installed. `.jj/repo` is the repository itself in the workspace that it was made
//! with, and a file with the path to it in every other one.
//!
//! jj has no branch that is checked out. Which bookmark the work in a workspace belongs to is therefore written down beside
//! its files (`load_branch`).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::files::{self, FileError};
use crate::identity::folder_of;

/// Longest that a file with a path in it may be, in bytes.
const PATH_BYTES: u64 = 64 << 10;

/// Why a workspace can't be used.
#[derive(Debug, Error)]
pub enum JjError {
    /// Its repository is not where the workspace says.
    #[error("{} is a jj workspace whose repository can't be found: {}: {source}", root.display(), path.display())]
    Repository {
        /// The workspace.
        root: PathBuf,
        /// What can't be read.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its root.
    pub root: PathBuf,
    /// The git directory under the repository, or the repository itself if there is none.
    pub repository: PathBuf,
    /// The workspace that the repository was made with.
    pub main_root: PathBuf,
}

impl Workspace {
    /// Whether the repository was made with this workspace.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.root == self.main_root
    }
}

/// Reads what the workspace at this root says.
///
/// # Errors
/// [`JjError`]
pub fn load_workspace(root: &Path) -> Result<Workspace, JjError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| JjError::Repository { root: root.to_owned(), path, source }
    };
    let jj = root.join(".jj");
    let named = jj.join("repo");
    let is_main = fs::metadata(&named).map_err(failed(&named))?.is_dir();
    let target = if is_main { named } else { jj.join(load_path(&named).map_err(failed(&named))?) };
    let repository = target.canonicalize().map_err(failed(&target))?;
    // `{main root}/.jj/repo`
    let main_root = if is_main { root } else { repository.ancestors().nth(2).unwrap_or(root) };
    let main_root = main_root.to_owned();
    let store = repository.join("store");
    let git_target = store.join("git_target");
    let repository = match load_path(&git_target) {
        Ok(git) => {
            let git = store.join(git);
            git.canonicalize().map_err(failed(&git))?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => repository,
        Err(error) => return Err(failed(&git_target)(error)),
    };
    Ok(Workspace { root: root.to_owned(), repository, main_root })
}

/// A text or a name where jj reads a revset: without quotes it would read much into it.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenBranch {
    branch: String,
}

fn branch_file(root: &Path) -> PathBuf {
    folder_of(&root.join(".jj")).join("branch.json")
}

/// The bookmark that the work in a workspace belongs to, if it was ever said.
///
/// # Errors
/// [`FileError`]
pub(crate) fn load_branch(root: &Path) -> Result<Option<String>, FileError> {
    Ok(files::load_json::<WrittenBranch>(&branch_file(root))?.map(|written| written.branch))
}

/// Says which bookmark the work in a workspace belongs to from now on.
///
/// # Errors
/// [`FileError`]
pub(crate) fn write_branch(root: &Path, branch: &str) -> Result<(), FileError> {
    files::make_folder(&folder_of(&root.join(".jj")))?;
    files::write_json(&branch_file(root), &WrittenBranch { branch: branch.to_owned() })
}

/// The path that a file holds.
fn load_path(file: &Path) -> io::Result<PathBuf> {
    if fs::metadata(file)?.len() > PATH_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too long for a path"));
    }
    let bytes = fs::read(file)?;
    Ok(PathBuf::from(OsStr::from_bytes(bytes.trim_ascii_end())))
}
