//! Working in a workspace, and leaving it: what is written down, and what its metadata file says meanwhile.

use agentos_core::time::Timestamp;
use thiserror::Error;

use super::isolation::{self, IsolationError};
use super::ledger::{LedgerError, advance};
use super::marker::FolderIdentity;
use super::yard::Yard;
use super::{State, Workspace, guard};
use crate::files::FileError;
use crate::metadata::{Document, Status, written};

/// Why it could not be written down that somebody works in a workspace, or does so no longer.
#[derive(Debug, Error)]
pub enum OccupyError {
    /// It can't be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The metadata file can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// What was done can't be brought into the repository.
    #[error("what was done in the workspace can't be brought into the repository: {0}")]
    Collect(#[from] IsolationError),
}

/// What somebody does in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// The run, by its id.
    pub run: Option<String>,
    /// The run, as people call it.
    pub run_id: Option<String>,
    /// The workflow.
    pub workflow: Option<String>,
    /// The command, where it is no run.
    pub command: Option<Vec<String>>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ending {
    /// The exit status of a command.
    pub exit_code: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
}

impl Yard<'_> {
    /// Somebody begins to work in it.
    ///
    /// # Errors
    /// [`OccupyError`]
    pub fn occupy(
        &self,
        workspace: &mut Workspace,
        work: &Work,
        now: Timestamp,
    ) -> Result<(), OccupyError> {
        workspace.run.clone_from(&work.run);
        advance(self.ledger, workspace, State::InUse)?;
        guard::begin(self.surroundings, workspace)?;
        let new = Document::new(workspace, self.ledger.database());
        Document {
            status: Status::Running,
            workflow: work.workflow.clone(),
            run_id: work.run_id.clone(),
            command: work.command.clone(),
            started_at: Some(written(now)),
            ..new
        }
        .write(&workspace.path)?;
        Ok(())
    }

    /// Whoever worked in it is done. What was committed on its branch is in the repository afterwards; if it is not where
    /// somebody would look for it, the answer says where. Whoever calls has asked [`guard::end`] before: the repository may
    /// need it.
    ///
    /// # Errors
    /// [`OccupyError`]
    pub fn release(
        &self,
        workspace: &mut Workspace,
        ending: &Ending,
        now: Timestamp,
    ) -> Result<Option<String>, OccupyError> {
        advance(self.ledger, workspace, State::Released)?;
        if FolderIdentity::of(&workspace.path).is_none() {
            // Somebody has removed it; there is nothing to say, and nobody to say it to.
            return Ok(None);
        }
        let known = Document::load(&workspace.path).ok().flatten();
        let known = known.unwrap_or_else(|| Document::new(workspace, self.ledger.database()));
        let is_well = ending.error.is_none() && ending.exit_code.is_none_or(|code| code == 0);
        Document {
            status: if is_well { Status::Done } else { Status::Error },
            finished_at: Some(written(now)),
            exit_code: ending.exit_code,
            error: ending.error.clone(),
            ..known
        }
        .write(&workspace.path)?;
        let lock = self.repository.lock()?;
        Ok(isolation::of(workspace.kind).collect(&self.site(Some(&lock)), workspace)?)
    }
}
