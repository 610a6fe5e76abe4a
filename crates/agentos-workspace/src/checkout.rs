//! A checkout: the worktree or workspace that somebody stands in.
//!
//! The nearest root counts, whether it is git's or jj's: a repository inside a repository is one of its own, and so is a
//! submodule. Paths are real ones, so that two ways to the same folder find the same checkout. From inside a git
//! directory its worktree is found, unless there is none.
//!
//! Whether anything here looks like a repository is seen without git. If nothing does, git need not be installed; if
//! something does, git's word is needed, and without it there is an error and no guess.

use std::io;
use std::path::{Path, PathBuf};

use agentos_process::shell_word::quoted_path;
use thiserror::Error;

use crate::git::{self, Found, GitError, ListedWorktree};
use crate::jj::{self, JjError};
use crate::surroundings::Surroundings;

/// Why it is not known which checkout somebody stands in.
#[derive(Debug, Error)]
pub enum CheckoutError {
    /// The current folder is gone.
    #[error("the current folder does not exist any more; change into another one")]
    NoCurrentFolder,
    /// The current folder can't be looked at.
    #[error("{} can't be looked at: {source}", folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// git gave no answer that helps.
    #[error(transparent)]
    Git(#[from] GitError),
    /// jj's workspace can't be used.
    #[error(transparent)]
    Jj(#[from] JjError),
    /// A git directory to which no worktree belongs.
    #[error(
        "{} is a bare git repository and has no files of its own; change into one of its worktrees (`git worktree \
         list` names them)",
        git_dir.display()
    )]
    Bare {
        /// The git directory.
        git_dir: PathBuf,
    },
    /// The git directory of a checkout that says it has none.
    #[error(
        "{} says that it is bare (core.bare), although it lies in a checkout; if it should not be: git config --file \
         {} core.bare false",
        git_dir.display(),
        quoted_path(&git_dir.join("config"))
    )]
    BareByAccident {
        /// The git directory.
        git_dir: PathBuf,
    },
    /// A git directory whose worktree can't be told from it.
    #[error("{} is a git directory; change into the worktree that it belongs to", git_dir.display())]
    InsideGitDirectory {
        /// The git directory.
        git_dir: PathBuf,
    },
}

/// What keeps a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// git, perhaps with jj beside it.
    Git,
    /// jj without git in the same folder.
    Jj,
}

/// A worktree or workspace, and the repository that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Its root, a real path.
    pub root: PathBuf,
    /// What keeps it.
    pub kind: Kind,
    /// What makes checkouts one repository: the git directory that they share.
    pub repository: PathBuf,
    /// The folder that is this checkout's alone and no part of its files: its git directory, or `.jj`.
    pub private: PathBuf,
    /// Whether the repository was made with it, rather than it being added to the repository.
    pub is_main: bool,
}

impl Checkout {
    /// The checkout that the current folder is in; none if it is in no repository.
    ///
    /// # Errors
    /// [`CheckoutError`]
    pub fn find(surroundings: &Surroundings) -> Result<Option<Self>, CheckoutError> {
        let folder = surroundings.cwd.as_deref().ok_or(CheckoutError::NoCurrentFolder)?;
        Self::of_folder(surroundings, folder)
    }

    /// The checkout that this folder is in.
    ///
    /// # Errors
    /// [`CheckoutError`]
    pub fn of_folder(
        surroundings: &Surroundings,
        folder: &Path,
    ) -> Result<Option<Self>, CheckoutError> {
        let folder = real_folder(folder)?;
        let jj = folder.ancestors().find(|folder| folder.join(".jj").is_dir());
        let git = folder.ancestors().find(|folder| is_marked_by_git(folder));
        match (git, jj) {
            (Some(git), jj) if jj.is_none_or(|jj| git.starts_with(jj)) => {
                match git::look(surroundings, &folder)? {
                    Some(found) => Self::of_git(surroundings, &found).map(Some),
                    None => jj.map(Self::of_jj).transpose(),
                }
            }
            (_, jj) => jj.map(Self::of_jj).transpose(),
        }
    }

    /// Every checkout of this repository that can be found from here: those that git lists, jj's main one, and this one.
    /// Other workspaces of jj are known to jj alone.
    ///
    /// # Errors
    /// [`CheckoutError`]
    pub fn siblings(
        &self,
        surroundings: &Surroundings,
    ) -> Result<Vec<ListedWorktree>, CheckoutError> {
        let there = |root: PathBuf| ListedWorktree { root, is_prunable: false };
        let mut listed = match self.kind {
            Kind::Git => git::list_worktrees(surroundings, &self.root, &self.repository)?,
            Kind::Jj => vec![there(jj::load_workspace(&self.root)?.main_root)],
        };
        if !listed.iter().any(|listed| listed.root == self.root) {
            listed.push(there(self.root.clone()));
        }
        Ok(listed)
    }

    fn of_git(surroundings: &Surroundings, found: &Found) -> Result<Self, CheckoutError> {
        if let Some(root) = &found.root {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let (private, repository) = (real(&found.git_dir), real(&found.common_dir));
            let is_main = private == repository;
            return Ok(Self { root: real(root), kind: Kind::Git, repository, private, is_main });
        }
        let outer = worktree_of(&found.git_dir).map(|folder| git::look(surroundings, &folder));
        match outer.transpose()?.flatten() {
            Some(outer) if outer.root.is_some() && outer.git_dir == found.git_dir => {
                Self::of_git(surroundings, &outer)
            }
            _ if found.is_bare && is_usual(&found.git_dir) => {
                Err(CheckoutError::BareByAccident { git_dir: found.git_dir.clone() })
            }
            _ if found.is_bare => Err(CheckoutError::Bare { git_dir: found.git_dir.clone() }),
            _ => Err(CheckoutError::InsideGitDirectory { git_dir: found.git_dir.clone() }),
        }
    }

    fn of_jj(root: &Path) -> Result<Self, CheckoutError> {
        let found = jj::load_workspace(root)?;
        let is_main = found.is_main();
        let jj::Workspace { root, repository, .. } = found;
        Ok(Self { private: root.join(".jj"), root, kind: Kind::Jj, repository, is_main })
    }
}

/// The real path of a folder that is there.
pub(crate) fn real_folder(folder: &Path) -> Result<PathBuf, CheckoutError> {
    folder.canonicalize().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => CheckoutError::NoCurrentFolder,
        _ => CheckoutError::Unreadable { folder: folder.to_owned(), source },
    })
}

/// Whether git would look at this folder: it has a `.git`, or is a git directory itself.
fn is_marked_by_git(folder: &Path) -> bool {
    let is_git_dir = || {
        folder.join("HEAD").symlink_metadata().is_ok()
            && folder.join("objects").is_dir()
            && folder.join("refs").is_dir()
    };
    folder.join(".git").symlink_metadata().is_ok()
        || is_git_dir()
        // A linked worktree's own.
        || (folder.join("HEAD").is_file() && folder.join("commondir").is_file())
}

/// The folder whose `.git` leads to this git directory, as far as that can be told from it.
fn worktree_of(git_dir: &Path) -> Option<PathBuf> {
    if let Ok(link) = std::fs::read_to_string(git_dir.join("gitdir")) {
        let link = git_dir.join(link.trim_end());
        return link.parent().map(Path::to_owned);
    }
    git_dir.parent().filter(|_| is_usual(git_dir)).map(Path::to_owned)
}

/// Whether a git directory has the name that it has in a checkout.
fn is_usual(git_dir: &Path) -> bool {
    git_dir.file_name().is_some_and(|name| name == ".git")
}
