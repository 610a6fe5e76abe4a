//! Where the checkouts of a repository keep their runs, without asking each of them.
//!
//! git lists its worktrees; everything else is read from files in their private folders. A worktree that is being made or
//! removed at this moment is simply not seen. Nothing is made.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::checkout::{Checkout, CheckoutError, Kind};
use crate::identity::{Identity, MAIN, private_of};
use crate::link::Link;
use crate::state::{DATABASE, FOLDER};
use crate::surroundings::Surroundings;

/// A checkout beside the one that somebody stands in, or that one itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sibling {
    /// Its root.
    pub root: PathBuf,
    /// `main`, its id, or the id of the workspace that it is; none if nobody has used it yet.
    pub worktree: Option<String>,
    /// The project, if somebody has used it.
    pub project: Option<Uuid>,
    /// Whether AgentOS made it.
    pub is_workspace: bool,
    /// The database of its runs, which may not be there; none if they are in a shared store.
    pub database: Option<PathBuf>,
}

/// Every checkout of the repository, the main one first.
///
/// # Errors
/// [`CheckoutError`] if git can't be asked.
pub fn siblings(
    surroundings: &Surroundings,
    checkout: &Checkout,
) -> Result<Vec<Sibling>, CheckoutError> {
    if is_alone(checkout) {
        return Ok(vec![sibling(checkout, &checkout.root)]);
    }
    let listed = checkout.siblings(surroundings)?;
    let there = listed.iter().filter(|listed| !listed.is_prunable);
    Ok(there.map(|listed| sibling(checkout, &listed.root)).collect())
}

/// Whether there is no other worktree; the usual case, and git need not be asked.
fn is_alone(checkout: &Checkout) -> bool {
    checkout.kind == Kind::Git
        && checkout.is_main
        && !checkout.repository.join("worktrees").exists()
}

fn sibling(from: &Checkout, root: &Path) -> Sibling {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let own = || root.join(FOLDER).join(DATABASE);
    let private = if root == from.root { Some(from.private.clone()) } else { private_of(&root) };
    let Some(private) = private.and_then(|private| private.canonicalize().ok()) else {
        let database = Some(own());
        return Sibling { root, worktree: None, project: None, is_workspace: false, database };
    };
    let is_main = private == from.repository;
    let (kind, repository) = (from.kind, from.repository.clone());
    let checkout = Checkout { root: root.clone(), kind, repository, private, is_main };
    // What can't be read now can't be read by its own commands either, and they say why.
    let link = Link::load(&checkout).ok().flatten();
    let identity = Identity::load(&checkout).ok().flatten();
    let workspace = link.as_ref().and_then(|link| link.workspace_id.clone());
    let database = match &link {
        Some(link) => Some(PathBuf::from(&link.database)).filter(|path| path.is_absolute()),
        None => Some(own()),
    };
    let known = identity.as_ref().map(|identity| identity.worktree.clone());
    Sibling {
        is_workspace: workspace.is_some(),
        worktree: workspace.or(known).or_else(|| is_main.then(|| MAIN.to_owned())),
        project: identity.map(|identity| identity.project),
        root,
        database,
    }
}
