//! Workspaces for child runs that ask for their own.

use agentos_core::entry::Home;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::homes::{Homes, OwnHome};
use agentos_engine::workspaces::workspace_of;
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::Kind;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::yard::Wanted;
use async_trait::async_trait;

use super::desk::Desk;
use crate::error::{CommandError, Result};

/// Makes them at a desk, if there is one.
pub(crate) struct DeskHomes {
    pub(crate) desk: Option<Desk>,
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl Homes for DeskHomes {
    async fn own(&self, child: RunId, home: Home) -> std::result::Result<OwnHome, Failure> {
        self.make(child, home).await.map_err(|error| {
            let message = format!("the child run has no workspace of its own: {}", error.message);
            Failure::new(FailureKind::Error, message)
        })
    }

    async fn begun(&self, child: RunId, own: OwnHome) {
        drop(own.held);
        if let Err(error) = self.occupy(child, &own.workspace_id).await {
            tracing::warn!(run = %child, error = %error.message, "it is not written down who works in a workspace");
        }
    }
}

impl DeskHomes {
    /// As its parent's is: of the same kind, in the same repository, from the commit that the parent's is at.
    async fn make(&self, child: RunId, home: Home) -> Result<OwnHome> {
        let desk =
            self.desk.clone().ok_or_else(|| CommandError::failed("this is no repository"))?;
        let parents = desk.find_at(&home.workspace_path).await?;
        let parents = parents.filter(|known| known.state.is_there());
        let kind = match &parents {
            Some(parents) => parents.kind,
            None if desk.repository().is_git() => Kind::Worktree,
            None => Kind::Jj,
        };
        let desk = match parents.as_ref().filter(|parents| parents.kind != Kind::Clone) {
            Some(parents) => desk.standing_in(&parents.path)?,
            None => desk,
        };
        let id: WorkspaceId =
            home.run_id.parse().map_err(|error| CommandError::failed(format!("{error}")))?;
        let wanted = Wanted {
            id,
            kind,
            is_kind_said: true,
            base: None,
            run: Some(child.to_string()),
            now: SystemClock.now(),
        };
        let open = desk.work(move |yard| yard.open(&wanted)).await?;
        let workspace_path = open.workspace.path.to_string_lossy().into_owned();
        Ok(OwnHome {
            home: Home { workspace_path, setup: desk.setup_of(&open.workspace), ..home },
            workspace_id: open.workspace.id.to_string(),
            branch: open.workspace.branch,
            held: Box::new(open.lock),
        })
    }

    async fn occupy(&self, child: RunId, workspace: &str) -> Result<()> {
        let Some(desk) = self.desk.clone() else { return Ok(()) };
        let run = self.store.run_detail(child).await?.run;
        let found = self.store.workspace(workspace).await?;
        let Some(found) = found.as_ref().and_then(workspace_of) else { return Ok(()) };
        desk.of(&found)?.occupy(&run, found).await.map(|_| ())
    }
}
