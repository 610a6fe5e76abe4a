//! After something was executed in a workspace: the repository that it shares is looked at, and a setup that succeeded is
//! written down.
//!
//! A command or an agent can make the repository unusable for everybody (`core.bare = true`). The next git would fail, so
//! it is put right at once, and the run says so.

use std::sync::Arc;

use agentos_core::entry::{Home, OperationResult};
use agentos_core::id::{RunId, Try};
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use agentos_workspace::workspace::{Kind, Workspace, guard, setup};
use async_trait::async_trait;

use super::CheckedWorkspaces;
use crate::clock::{Clock as _, SystemClock};
use crate::library::prelude;
use crate::performer::{Order, Performed, Performer, Ticket};
use crate::remark::remark;

/// Performs what somebody else performs, and looks at the workspace afterwards.
#[derive(Clone)]
pub struct Watched<P> {
    performer: P,
    grounds: CheckedWorkspaces,
}

impl<P: Performer> Watched<P> {
    /// The same, with a look afterwards.
    pub const fn new(performer: P, grounds: CheckedWorkspaces) -> Self {
        Self { performer, grounds }
    }

    async fn look(&self, run: RunId, home: &Home, is_set_up: bool) -> Result<(), String> {
        let known = self.grounds.workspace(home).await.map_err(|failure| failure.message)?;
        let Some(workspace) = known.filter(|known| known.kind == Kind::Worktree || is_set_up)
        else {
            return Ok(());
        };
        if is_set_up {
            setup::has_been_done(&workspace, &home.setup).map_err(|error| error.to_string())?;
        }
        for (number, line) in (0..).zip(self.mend(workspace).await?) {
            // One after the other.
            let at = Timestamp(SystemClock.now().0.saturating_add(number));
            let message = format!("While it ran, in the repository: {line}");
            let comment = remark(run, &format!("{} {line}", at.0), (message, at));
            self.grounds.records().add_comment(comment).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    async fn mend(&self, workspace: Workspace) -> Result<Vec<String>, String> {
        let surroundings = Arc::clone(self.grounds.surroundings());
        let looked = tokio::task::spawn_blocking(move || guard::check(&surroundings, &workspace));
        looked.await.map_err(|error| error.to_string())
    }
}

#[async_trait]
impl<P: Performer> Performer for Watched<P> {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        let (run, home) = (order.run, order.home.clone());
        let is_setup = prelude::is_setup(&home, &order.operation);
        let performed = self.performer.perform(order, ticket).await;
        let is_well = matches!(&performed, Performed::Ended(OperationResult::Ok { .. }));
        if let Performed::Ended(_) = &performed
            && home.workspace_path != home.project_path
            && let Err(error) = self.look(run, &home, is_setup && is_well).await
        {
            tracing::warn!(%run, error, "the workspace can't be looked at");
        }
        performed
    }

    fn is_begun(&self, run: RunId, operation: &OperationId, r#try: Try) -> bool {
        self.performer.is_begun(run, operation, r#try)
    }

    async fn stop(&self, run: RunId, operation: &OperationId, r#try: Try) {
        self.performer.stop(run, operation, r#try).await;
    }
}
