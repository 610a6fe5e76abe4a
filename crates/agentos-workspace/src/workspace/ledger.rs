//! Where it is written down which workspaces there are.
//!
//! This crate knows no database. Whoever has one keeps the ledger, and promises that what was written survives a crash.

use thiserror::Error;

use super::id::WorkspaceId;
use super::{State, Workspace};

/// Why the ledger could not be used. Nothing was done that is not written down.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// Somebody else has changed the workspace meanwhile.
    #[error("the workspace {id} was changed by somebody else; look at it again")]
    Outdated {
        /// Which.
        id: WorkspaceId,
    },
    /// It can't be read or written.
    #[error("the workspace can't be written down: {0}")]
    Unusable(String),
}

/// How a run stands, as far as its workspace is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStanding {
    /// There is no such run.
    Unknown,
    /// It has not ended.
    Open,
    /// It has.
    Ended,
}

/// Workspaces as they are written down.
pub trait Ledger: Send + Sync {
    /// The workspace of this id.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn find(&self, id: &WorkspaceId) -> Result<Option<Workspace>, LedgerError> {
        Ok(self.all()?.into_iter().find(|workspace| workspace.id == *id))
    }

    /// All of them.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn all(&self) -> Result<Vec<Workspace>, LedgerError>;

    /// Writes one down, if it is still at the version that the caller has (0: not yet written down). The answer is its new
    /// version.
    ///
    /// # Errors
    /// [`LedgerError::Outdated`]
    fn write(&self, workspace: &Workspace) -> Result<u32, LedgerError>;

    /// Forgets one that never came to be.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn forget(&self, id: &WorkspaceId) -> Result<(), LedgerError>;

    /// How the run stands for which a workspace was made, or which works in it.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn run_standing(&self, run: &str) -> Result<RunStanding, LedgerError>;

    /// The database that the ledger is kept in: what a workspace is linked to. A path, or an address.
    fn database(&self) -> String;
}

/// Writes down how a workspace stands from now on.
pub(crate) fn advance(
    ledger: &dyn Ledger,
    workspace: &mut Workspace,
    state: State,
) -> Result<(), LedgerError> {
    debug_assert!(
        workspace.version == 0 || workspace.state.may_become(state) || workspace.state == state
    );
    workspace.state = state;
    workspace.version = ledger.write(workspace)?;
    Ok(())
}
