//! The ledger of workspaces, kept in the store.
//!
//! Making a workspace waits for git, so it happens on threads that may wait; the store is asked through the runtime. Never
//! to be used on a thread of the runtime itself.

use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_store::log::ReadError;
use agentos_store::records::{self, RecordError, Records, WorkspaceState};
use agentos_store::store::Store;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::ledger::{Ledger, LedgerError, RunStanding};
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::clock::Clock;

/// Workspaces in a store.
pub struct StoreLedger<S> {
    store: Arc<S>,
    runtime: Handle,
    clock: Arc<dyn Clock>,
    /// The project that workspaces are made for.
    project: Option<Uuid>,
    database: String,
}

impl<S: Store + Records> StoreLedger<S> {
    /// The workspaces of a store, of which `database` is the path or address.
    pub fn new(
        store: Arc<S>,
        clock: Arc<dyn Clock>,
        project: Option<Uuid>,
        database: String,
    ) -> Self {
        Self { store, runtime: Handle::current(), clock, project, database }
    }
}

impl<S: Store + Records> Ledger for StoreLedger<S> {
    fn all(&self) -> Result<Vec<Workspace>, LedgerError> {
        let rows = self.runtime.block_on(self.store.workspaces()).map_err(unusable)?;
        Ok(rows.iter().filter_map(workspace_of).collect())
    }

    fn find(&self, id: &WorkspaceId) -> Result<Option<Workspace>, LedgerError> {
        let row = self.runtime.block_on(self.store.workspace(id.as_str())).map_err(unusable)?;
        Ok(row.as_ref().and_then(workspace_of))
    }

    fn write(&self, workspace: &Workspace) -> Result<u32, LedgerError> {
        let row = row_of(workspace, self.project, self.clock.now())?;
        match self.runtime.block_on(self.store.put_workspace(row, workspace.version)) {
            Ok(version) => Ok(version),
            Err(RecordError::Outdated { .. }) => {
                Err(LedgerError::Outdated { id: workspace.id.clone() })
            }
            Err(error) => Err(unusable(error)),
        }
    }

    fn forget(&self, id: &WorkspaceId) -> Result<(), LedgerError> {
        match self.runtime.block_on(self.store.delete_workspace(id.as_str())) {
            Ok(()) | Err(RecordError::NotFound { .. }) => Ok(()),
            Err(error) => Err(unusable(error)),
        }
    }

    fn run_standing(&self, run: &str) -> Result<RunStanding, LedgerError> {
        let Ok(run) = run.parse().map(RunId) else { return Ok(RunStanding::Unknown) };
        match self.runtime.block_on(self.store.head(run)) {
            Ok(head) if head.standing.is_ended() => Ok(RunStanding::Ended),
            Ok(_) => Ok(RunStanding::Open),
            Err(ReadError::NotFound { .. }) => Ok(RunStanding::Unknown),
            Err(error) => Err(unusable(error)),
        }
    }

    fn database(&self) -> String {
        self.database.clone()
    }
}

/// A workspace as its row says; none if this program can't read it.
#[must_use]
pub fn workspace_of(row: &records::Workspace) -> Option<Workspace> {
    let known: Workspace = serde_json::from_value(row.detail.clone()?).ok()?;
    Some(Workspace { version: row.version, ..known })
}

fn row_of(
    workspace: &Workspace,
    project: Option<Uuid>,
    now: Timestamp,
) -> Result<records::Workspace, LedgerError> {
    let status = WorkspaceState::parse(workspace.state.as_str())
        .ok_or_else(|| unusable(format!("`{}` is no state", workspace.state.as_str())))?;
    Ok(records::Workspace {
        id: workspace.id.to_string(),
        project_id: project,
        kind: workspace.kind.to_string(),
        status,
        path: workspace.path.to_string_lossy().into_owned(),
        branch: workspace.branch.clone(),
        base: Some(workspace.base.clone()),
        detail: Some(serde_json::to_value(workspace).map_err(unusable)?),
        version: workspace.version,
        created_at: workspace.created_at,
        updated_at: now,
    })
}

fn unusable(error: impl std::fmt::Display) -> LedgerError {
    LedgerError::Unusable(error.to_string())
}
