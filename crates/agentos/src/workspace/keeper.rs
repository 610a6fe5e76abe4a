//! Who brings back the workspace of a run that goes on: in whatever process, and whether somebody removed it, lost it, or
//! there was no room for it before.

use agentos_core::entry::{Hold, HoldKind, Home};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::shell::Refusal;
use agentos_engine::tool_hold;
use agentos_engine::workspaces::Keeper;
use agentos_store::records::{Records as _, RunRecord};
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::yard::{Open, OpenError, Opened, Wanted};
use async_trait::async_trait;

use super::desk::Desk;
use super::tend;
use crate::error::{Cause, CommandError, Result};
use crate::travel::album;

/// How often it is looked whether there is room by now: more seldom the longer a run has been there, because each look is
/// in its log.
const SOONEST_MS: i64 = 5_000;
const LATEST_MS: i64 = 300_000;

/// Brings them back at a desk, if there is one.
pub(crate) struct DeskKeeper {
    pub(crate) desk: Option<Desk>,
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl Keeper for DeskKeeper {
    async fn bring_back(&self, run: RunId, home: &Home) -> std::result::Result<Workspace, Refusal> {
        match self.open(run, home).await {
            Ok(Ok(workspace)) => Ok(workspace),
            Ok(Err(hold)) => Err(Refusal::Held(hold)),
            Err(error) => {
                let message = format!("the workspace can't be made again: {}", error.message);
                Err(self.refusal(run, &error, (FailureKind::NonRetryable, message)).await)
            }
        }
    }

    async fn finish_return(
        &self,
        run: RunId,
        workspace: &Workspace,
    ) -> std::result::Result<(), Refusal> {
        let finished = match self.desk_of(workspace) {
            Ok(desk) => album::finish_return(&desk, &self.store, (run, workspace)).await,
            Err(error) => Err(error),
        };
        let Err(error) = finished else { return Ok(()) };
        let message = format!(
            "the files in {} are halfway back to where they were, and can't be brought there: {}; nothing was done",
            workspace.path.display(),
            error.message
        );
        Err(self.refusal(run, &error, (FailureKind::NonRetryable, message)).await)
    }

    async fn put_aside(
        &self,
        run: RunId,
        workspace: &Workspace,
    ) -> std::result::Result<(), Refusal> {
        let kept = match self.desk_of(workspace) {
            Ok(desk) => album::put_aside(&desk, workspace).await,
            Err(error) => Err(error),
        };
        let Err(error) = kept else { return Ok(()) };
        Err(self.unsettled(run, &error).await)
    }

    async fn put_back(
        &self,
        run: RunId,
        workspace: &Workspace,
    ) -> std::result::Result<(), Refusal> {
        let back = match self.desk_of(workspace) {
            Ok(desk) => album::put_back(&desk, workspace).await,
            Err(error) => Err(error),
        };
        let Err(error) = back else { return Ok(()) };
        Err(self.unsettled(run, &error).await)
    }
}

impl DeskKeeper {
    /// A desk where the workspace's snapshots are.
    fn desk_of(&self, workspace: &Workspace) -> Result<Desk> {
        let desk = self.desk.clone();
        desk.ok_or_else(|| CommandError::failed("this is no repository"))?.at(workspace)
    }

    /// What becomes of an operation for whose workspace something went wrong: what a killed tool could not do is tried again.
    async fn refusal(
        &self,
        run: RunId,
        error: &CommandError,
        (kind, message): (FailureKind, String),
    ) -> Refusal {
        let Some(Cause::ToolKilled { is_helper }) = error.cause else {
            return Failure::new(kind, message).into();
        };
        let detail = self.store.run_detail(run).await;
        let since = detail.map_or_else(|_| SystemClock.now(), |detail| detail.run.created_at);
        Refusal::Held(tool_hold::hold(message, since, is_helper))
    }

    /// The files can't be put aside or back for the set-up: whichever process drives the run next tries again.
    async fn unsettled(&self, run: RunId, error: &CommandError) -> Refusal {
        let message =
            format!("the files can't be kept while the workspace is set up: {}", error.message);
        self.refusal(run, error, (FailureKind::Error, message)).await
    }

    async fn open(&self, run: RunId, home: &Home) -> Result<std::result::Result<Workspace, Hold>> {
        let desk =
            self.desk.clone().ok_or_else(|| CommandError::failed("this is no repository"))?;
        let known = desk.find_at(&home.workspace_path).await?;
        let known = known.ok_or_else(|| CommandError::failed("it is not known to the database"))?;
        let desk = desk.of(&known)?;
        let record = self.store.run_detail(run).await?.run;
        let is_its = desk.is_of_family(&record, &known).await?;
        let user = if is_its { known.run.clone() } else { None };
        let wanted = Wanted {
            id: known.id.clone(),
            kind: known.kind,
            is_kind_said: true,
            base: None,
            run: Some(user.clone().unwrap_or_else(|| run.to_string())),
            now: SystemClock.now(),
        };
        // Whether it is refused is seen below.
        let opened = desk.work(move |yard| Ok::<_, CommandError>(yard.open(&wanted))).await?;
        let open = match opened {
            Ok(open) => open,
            Err(OpenError::NoRoom(no_room)) => {
                return Ok(Err(hold(no_room.to_string(), record.created_at)));
            }
            Err(error) => return Err(desk.told(error).await),
        };
        let Open { workspace, how, lock, notes } = open;
        drop(lock);
        if how == Opened::Found {
            // Somebody else of this run was faster.
            return Ok(Ok(workspace));
        }
        self.remark(run, &workspace, (known.nonce.is_nil(), &notes)).await?;
        desk.occupy(&self.user(user.as_deref(), record).await?, workspace).await.map(Ok)
    }

    /// The run in whose hands the workspace is.
    async fn user(&self, user: Option<&str>, record: RunRecord) -> Result<RunRecord> {
        match user.and_then(|user| user.parse().ok()).map(RunId) {
            Some(user) if user != record.id => Ok(self.store.run_detail(user).await?.run),
            _ => Ok(record),
        }
    }

    async fn remark(
        &self,
        run: RunId,
        workspace: &Workspace,
        (is_first, notes): (bool, &[String]),
    ) -> Result<()> {
        let path = workspace.path.display();
        let mut message = match is_first {
            true => format!("the workspace {path} was made when there was room for it"),
            false => format!("the workspace {path} was gone; it was made again"),
        };
        for note in notes {
            message.push_str("; ");
            message.push_str(note);
        }
        let number = 0xA6E7_1000 ^ workspace.nonce.as_u128();
        Ok(self.store.add_comment(tend::said(run, number, message)).await?)
    }
}

fn hold(message: String, since: Timestamp) -> Hold {
    let now = SystemClock.now();
    let wait = (now.0.saturating_sub(since.0) / 4).clamp(SOONEST_MS, LATEST_MS);
    let until = Some(Timestamp(now.0.saturating_add(wait)));
    Hold { kind: HoldKind::Disk, message, subject: None, until, limit: None }
}
