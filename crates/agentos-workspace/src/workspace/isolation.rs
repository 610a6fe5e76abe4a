//! How a workspace is kept apart: the trait, with one room for each kind.
//!
//! Whoever calls holds the repository's lock wherever something is changed, and has written down what is to happen.

mod clone;
mod jujutsu;
mod worktree;

use std::path::PathBuf;

use thiserror::Error;

use super::id::WorkspaceId;
use super::policy::Policy;
use super::porcelain::{CallError, Porcelain};
use super::repository::{Repository, RepositoryLock};
use super::{Kind, Workspace};
use crate::checkout::{Checkout, CheckoutError};
use crate::files::FileError;
use crate::identity;
use crate::refs::{self, Told};
use crate::surroundings::Surroundings;

pub use clone::LocalClone;
pub(super) use clone::address;
pub use jujutsu::JjWorkspace;
pub(super) use jujutsu::estrangement;
pub use worktree::Worktree;
pub(super) use worktree::forget_inside;

/// Why a workspace can't be made, taken back or brought home.
#[derive(Debug, Error)]
pub enum IsolationError {
    /// A tool did not do what it should.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It is not known what is at a path.
    #[error(transparent)]
    Checkout(#[from] CheckoutError),
    /// The repository is of a sort that this kind can't be made of.
    #[error("{} can't have workspaces of the kind `{kind}`: {why}", repository.display())]
    Unsuitable {
        /// The repository's main checkout.
        repository: PathBuf,
        /// The kind.
        kind: Kind,
        /// Why.
        why: String,
    },
    /// There is no commit yet.
    #[error(
        "{} has no commit yet, and a workspace is made from one; make one, or work in the checkout itself (`--workspace \
         none`)",
        repository.display()
    )]
    NoCommit {
        /// The checkout.
        repository: PathBuf,
    },
    /// The base names no commit, or several.
    #[error("`{base}` names {found} in {}; name another base", repository.display())]
    NoSuchBase {
        /// What was asked for.
        base: String,
        /// How it is instead.
        found: &'static str,
        /// The checkout.
        repository: PathBuf,
    },
    /// jj does not look at it any more.
    #[error(
        "jj does not know what was done in {}: {why}. Its files are there; cleaning the workspace {id} by force backs them \
         up and removes it",
        path.display()
    )]
    Estranged {
        /// Where.
        path: PathBuf,
        /// Which workspace.
        id: WorkspaceId,
        /// Why.
        why: &'static str,
    },
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file system refused.
    #[error("{} {what}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What could not be done.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

/// Where a workspace is made, and with which right.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// What tools see.
    pub surroundings: &'a Surroundings,
    /// The repository.
    pub repository: &'a Repository,
    /// The right to change something in it.
    pub lock: Option<&'a RepositoryLock>,
    /// How workspaces are filled.
    pub policy: &'a Policy,
}

impl<'a> Site<'a> {
    pub(crate) fn porcelain(&self) -> Porcelain<'a> {
        Porcelain { surroundings: self.surroundings, lock: self.lock }
    }
}

/// One way to keep a workspace apart.
pub trait Isolation: Send + Sync {
    /// The kind.
    fn kind(&self) -> Kind;

    /// Refuses a repository of which no workspace of this kind can be made. Changes nothing.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn check(&self, site: &Site<'_>) -> Result<(), IsolationError>;

    /// The full id of the commit that a base names; without one, the commit that the checkout has.
    ///
    /// # Errors
    /// [`IsolationError::NoCommit`], [`IsolationError::NoSuchBase`]
    fn resolve(&self, site: &Site<'_>, base: Option<&str>) -> Result<String, IsolationError>;

    /// The commit that a branch of the repository is at; none if there is no such branch.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn tip(&self, site: &Site<'_>, branch: &str) -> Result<Option<String>, IsolationError>;

    /// Makes it at its path, on its branch. The branch is made at the base, unless it is there already: then it goes on
    /// from there.
    ///
    /// # Errors
    /// [`IsolationError`]; what is half made then is left to [`undo`](Self::undo).
    fn make(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError>;

    /// Whether the folder at the workspace's path is what [`make`](Self::make) has made or left half made of this very
    /// workspace. What is not certain to be so stays.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn is_of_this_making(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<bool, IsolationError>;

    /// Takes back what [`make`](Self::make) has done or left half done: only for a workspace that is being made, so nobody's
    /// work is in it, and whose folder is not in its place any more. What is not certain to be of this making stays.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn undo(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError>;

    /// Whether the checkout at its path is this kind of workspace of this repository; what is wrong with it otherwise.
    ///
    /// # Errors
    /// What is wrong.
    fn fits(&self, workspace: &Workspace, found: &Checkout) -> Result<(), String>;

    /// The commit that it has checked out; none if it has none.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn head(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<Option<String>, IsolationError>;

    /// Brings the work on its branch into the repository, if it is not there by itself. Where the branch could not be moved
    /// it is kept beside it, and the answer says where and why.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn collect(
        &self,
        site: &Site<'_>,
        workspace: &Workspace,
    ) -> Result<Option<String>, IsolationError>;

    /// Forgets a workspace whose folder is gone. What is not certain to be this one stays.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn forget(&self, site: &Site<'_>, workspace: &Workspace) -> Result<(), IsolationError>;

    /// Deletes a branch of the repository that is at this commit and that nobody has checked out; whether it did.
    ///
    /// # Errors
    /// [`IsolationError`]
    fn delete_branch(
        &self,
        site: &Site<'_>,
        branch: &str,
        tip: &str,
    ) -> Result<bool, IsolationError>;
}

/// How workspaces of this kind are kept apart.
#[must_use]
pub fn of(kind: Kind) -> &'static dyn Isolation {
    match kind {
        Kind::Worktree => &Worktree,
        Kind::Clone => &LocalClone,
        Kind::Jj => &JjWorkspace,
    }
}

/// Refuses a repository in which git has no checkout.
fn check_for_git(site: &Site<'_>, kind: Kind) -> Result<(), IsolationError> {
    if site.repository.is_git() {
        return Ok(());
    }
    let repository = site.repository.main_root.clone();
    let why = "git has no checkout here; use `jj`".to_owned();
    Err(IsolationError::Unsuitable { repository, kind, why })
}

/// The commit that git takes a name for.
fn commit_in_git(site: &Site<'_>, base: Option<&str>) -> Result<String, IsolationError> {
    let Checkout { root, private, repository, .. } = &site.repository.checkout;
    if base.is_none()
        && let Told::At(head) = refs::load_head(private, repository)
    {
        return Ok(head);
    }
    let name = format!("{}^{{commit}}", base.unwrap_or("HEAD"));
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
    let answer = site.porcelain().try_git(root, asked)?;
    let found = super::porcelain::line(&answer.output);
    let is_id = found.len() >= 40 && found.bytes().all(|byte| byte.is_ascii_hexdigit());
    if answer.is_success() && is_id {
        return Ok(found);
    }
    let repository = root.clone();
    Err(match base {
        None => IsolationError::NoCommit { repository },
        Some(base) => {
            IsolationError::NoSuchBase { base: base.to_owned(), found: "no commit", repository }
        }
    })
}

/// The commit that a branch is at, as git sees it.
fn tip_in_git(site: &Site<'_>, branch: &str) -> Result<Option<String>, IsolationError> {
    let Checkout { root, repository, .. } = &site.repository.checkout;
    let name = format!("refs/heads/{branch}");
    match refs::load_ref(repository, &name) {
        Told::At(tip) => Ok(Some(tip)),
        Told::Nowhere => Ok(None),
        Told::AskGit => {
            let asked = ["rev-parse", "--verify", "--quiet", &name];
            let answer = site.porcelain().try_git(root, asked)?;
            Ok(answer.is_success().then(|| super::porcelain::line(&answer.output)))
        }
    }
}

/// Deletes a branch in git, if it is where it should be.
fn delete_branch_in_git(site: &Site<'_>, branch: &str, tip: &str) -> Result<bool, IsolationError> {
    let (root, name) = (&site.repository.checkout.root, format!("refs/heads/{branch}"));
    let asked = ["for-each-ref", "--format=%(worktreepath)", &name];
    let users = site.porcelain().git(root, asked)?;
    if !super::porcelain::line(&users).is_empty() {
        return Ok(false);
    }
    // git looks once more whether it is there.
    Ok(site.porcelain().try_git(root, ["update-ref", "-d", &name, tip])?.is_success())
}

/// The commit that is checked out at the workspace's path, as git sees it.
fn head_in_git(site: &Site<'_>, workspace: &Workspace) -> Result<Option<String>, IsolationError> {
    let private = identity::private_of(&workspace.path);
    let told = private.map(|private| refs::load_head(&private, &workspace.repository));
    if let Some(Told::At(head)) = told.filter(|_| workspace.kind == Kind::Worktree) {
        return Ok(Some(head));
    }
    let head = crate::git::head(site.surroundings, &workspace.path);
    Ok(head.map_err(CheckoutError::from)?)
}
