//! Keeps the files of runs while they are driven, and takes them back.
//!
//! A run's files are kept where the run has a workspace to itself: not in the checkout, which is the user's, and not where
//! it works in that of another run, which has its own. What can't be kept does not stop a run (what a killed git
//! could not keep is kept later, and what was about to change the files waits). It is told on the run once,
//! and from then on nothing more is kept: whoever comes after a crash could not tell what was never kept from what was about
//! to be, and would keep it when it has changed already.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentos_core::entry::{Hold, HoldKind};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::shell::Refusal;
use agentos_engine::tool_hold;
use agentos_engine::travel::{Moment, Rollback, Snapshots, refused};
use agentos_engine::workspaces::Keeper as _;
use agentos_store::records::{NewComment, Records as _};
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::snapshot::{Label, Side, is_half_returned};
use async_trait::async_trait;
use serde_json::json;
use uuid::Uuid;

use super::album;
use crate::error::{Cause, CommandError, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;
use crate::workspace::keeper::DeskKeeper;

/// Tells the remark on a run from all others.
const REMARK: u128 = 0xA6E7_0012;

/// How long it is waited before files are kept that a killed git could not keep, where nothing else can wait; it doubles.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// Keeps files at a desk.
pub(crate) struct DeskSnapshots {
    /// The desk, or why there is none.
    desk: std::result::Result<Desk, String>,
    store: SqliteStore,
    is_wanted: bool,
    /// Whose files are kept here, as far as it is known.
    keeps: Mutex<HashMap<RunId, bool>>,
}

impl DeskSnapshots {
    pub(crate) fn new(session: &Session, store: &SqliteStore) -> Self {
        Self {
            desk: Desk::open(session, store).map_err(|error| error.message),
            store: store.clone(),
            is_wanted: session.config.workspace.has_snapshots(),
            keeps: Mutex::default(),
        }
    }

    /// The workspace whose files are kept for a run; none if they are not.
    async fn workspace(&self, moment: &Moment) -> Result<Option<(Desk, Workspace)>> {
        let home = &moment.home;
        if !self.is_wanted || home.workspace_path == home.project_path {
            return Ok(None);
        }
        let desk = self.desk.clone().map_err(CommandError::failed)?;
        let all = desk.all().await?;
        let path = std::path::Path::new(&moment.home.workspace_path);
        let found = all.into_iter().find(|known| known.path == path && known.state.is_there());
        let Some(mut workspace) = found else { return Ok(None) };
        if !self.keeps(moment.run, &workspace).await? {
            return Ok(None);
        }
        if path.symlink_metadata().is_err() {
            workspace = self.bring_back(moment).await?;
        }
        Ok(Some((desk.at(&workspace)?, workspace)))
    }

    /// Makes the workspace if it is not there yet or any more, before something is done in it. Else that would make it: its files
    /// would not be kept first, and a process that takes the run over could not tell that, and would keep what was done
    /// meanwhile as the files that were there before.
    async fn make_if_missing(&self, moment: &Moment) -> Result<std::result::Result<(), Hold>> {
        let Some(desk) = self.desk.as_ref().ok().filter(|_| self.is_wanted) else {
            return Ok(Ok(()));
        };
        let known = desk.find_at(&moment.home.workspace_path).await?;
        let Some(known) = known.filter(|known| !known.state.is_there()) else { return Ok(Ok(())) };
        let detail = self.store.run_detail(moment.run).await?;
        if known.run.is_some() && !album::belongs(&known, &detail.run) {
            return Ok(Ok(()));
        }
        let keeper = DeskKeeper { desk: Some(desk.clone()), store: self.store.clone() };
        match keeper.bring_back(moment.run, &moment.home).await {
            Ok(_) => Ok(Ok(())),
            Err(Refusal::Held(hold)) if moment.can_be_held => Ok(Err(hold)),
            Err(Refusal::Held(Hold { message, .. })) => Err(CommandError::failed(message)),
            Err(Refusal::Failed(failure)) => Err(CommandError::failed(failure.message)),
        }
    }

    /// The workspace, whose folder has vanished.
    async fn bring_back(&self, moment: &Moment) -> Result<Workspace> {
        let keeper = DeskKeeper { desk: self.desk.clone().ok(), store: self.store.clone() };
        match keeper.bring_back(moment.run, &moment.home).await {
            Ok(workspace) => Ok(workspace),
            Err(Refusal::Failed(failure)) => Err(CommandError::failed(failure.message)),
            Err(Refusal::Held(hold)) if hold.kind == HoldKind::Tool => {
                let is_helper = hold.limit.is_some();
                let killed = Cause::ToolKilled { is_helper };
                Err(CommandError::failed(hold.message).because(killed))
            }
            Err(Refusal::Held(hold)) => Err(CommandError::failed(hold.message)),
        }
    }

    async fn keeps(&self, run: RunId, workspace: &Workspace) -> Result<bool> {
        if let Some(known) = self.known().get(&run) {
            return Ok(*known);
        }
        let detail = self.store.run_detail(run).await?;
        let has_given_up = detail.comments.iter().any(|comment| comment.id == remark_id(run));
        let keeps = !has_given_up && album::belongs(workspace, &detail.run);
        self.known().insert(run, keeps);
        Ok(keeps)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, bool>> {
        self.keeps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn try_keep(&self, moment: &Moment) -> Result<()> {
        let Some((desk, workspace)) = self.workspace(moment).await? else { return Ok(()) };
        album::finish_return(&desk, &self.store, (moment.run, &workspace)).await?;
        let side = match moment.before {
            Some(_) => Side::Before,
            None if moment.is_waiting => Side::After,
            None => Side::End,
        };
        album::take(&desk, workspace, label(moment, side)).await?;
        Ok(())
    }

    /// Nothing more is kept of this run.
    async fn give_up(&self, moment: &Moment, why: &str) {
        let run = moment.run;
        self.known().insert(run, false);
        let from = match moment.before {
            Some((step, _)) => format!("from step {step} on"),
            None if moment.is_waiting => "from where it waited on".to_owned(),
            None => "at its end".to_owned(),
        };
        let comment = NewComment {
            id: remark_id(run),
            run,
            step: None,
            message: format!(
                "The files are not kept {from}, so there is no way back to where they were: {why}"
            ),
            metadata: Some(json!({ "not_kept_from": moment.position })),
            author: "agentos".to_owned(),
            at: SystemClock.now(),
        };
        if let Err(error) = self.store.add_comment(comment).await {
            tracing::warn!(%run, %error, "it can't be told that a run's files are not kept");
        }
        tracing::warn!(%run, why, "the run's files are not kept");
    }

    /// What may be better the next time; what a killed tool could not do is tried again.
    async fn trouble(&self, run: RunId, error: &CommandError) -> Refusal {
        let message = format!("the files could not go back to the step's start: {}", error.message);
        match error.cause {
            Some(Cause::ToolKilled { is_helper }) => {
                Refusal::Held(self.hold(run, message, is_helper).await)
            }
            _ => Failure::new(FailureKind::Error, message).into(),
        }
    }

    async fn hold(&self, run: RunId, message: String, is_helper: bool) -> Hold {
        let detail = self.store.run_detail(run).await;
        let since = detail.map_or_else(|_| SystemClock.now(), |detail| detail.run.created_at);
        tool_hold::hold(message, since, is_helper)
    }

    async fn return_to_start(&self, rollback: &Rollback) -> Result<Option<&'static str>> {
        let moment = &rollback.moment;
        let home = &moment.home;
        if home.workspace_path == home.project_path {
            return Ok(Some("the run works in the checkout itself, whose files are yours"));
        }
        if !self.is_wanted {
            return Ok(Some("snapshots are switched off (`workspace.snapshots`)"));
        }
        let Some((desk, workspace)) = self.workspace(moment).await? else {
            return Ok(Some(
                "they were not kept; the run's comments say why, or it works in the workspace of another run",
            ));
        };
        let chain = album::chain(&desk, moment.run.to_string()).await?;
        let kept = album::first_from(&chain, rollback.since);
        let kept = kept.filter(|found| found.label.position < rollback.until.0);
        let Some(kept) = kept.cloned() else {
            return Ok(Some("they were not kept when it began"));
        };
        if !is_half_returned(&workspace) {
            // What the attempt has left is nowhere else.
            album::take(&desk, workspace.clone(), left(rollback)).await?;
        }
        album::return_to(&desk, workspace.clone(), kept).await?;
        album::take(&desk, workspace, label(moment, Side::RolledBack)).await?;
        Ok(None)
    }
}

#[async_trait]
impl Snapshots for DeskSnapshots {
    async fn keep(&self, moment: Moment) -> Result<(), Hold> {
        if moment.before.is_some() {
            match self.make_if_missing(&moment).await {
                Ok(made) => made?,
                Err(error) => {
                    self.give_up(&moment, &error.message).await;
                    return Ok(());
                }
            }
        }
        let mut wait = PAUSE;
        loop {
            let Err(error) = self.try_keep(&moment).await else { return Ok(()) };
            if let Some(Cause::ToolKilled { is_helper }) = error.cause
                && moment.before.is_some()
            {
                let message = format!("the files can't be kept yet: {}", error.message);
                return Err(self.hold(moment.run, message, is_helper).await);
            }
            // Where nothing can wait for it, it is waited here, for a while.
            if !error.is_of_kill() || wait > LONGEST_PAUSE {
                self.give_up(&moment, &error.message).await;
                return Ok(());
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }

    async fn is_done(&self, rollback: &Rollback) -> Result<bool, Refusal> {
        let run = rollback.moment.run;
        let found = match self.workspace(&rollback.moment).await {
            Ok(found) => found,
            Err(error) => return Err(self.trouble(run, &error).await),
        };
        let Some((desk, _)) = found else { return Ok(false) };
        let chain = match album::chain(&desk, run.to_string()).await {
            Ok(chain) => chain,
            Err(error) => return Err(self.trouble(run, &error).await),
        };
        let wanted = label(&rollback.moment, Side::RolledBack);
        Ok(chain.iter().any(|found| {
            let found = &found.label;
            found.side == Side::RolledBack
                && (found.step, found.attempt) == (wanted.step, wanted.attempt)
        }))
    }

    async fn roll_back(&self, rollback: Rollback) -> Result<(), Refusal> {
        match self.return_to_start(&rollback).await {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(refused(&rollback.step, why).into()),
            Err(error) => Err(self.trouble(rollback.moment.run, &error).await),
        }
    }
}

fn remark_id(run: RunId) -> Uuid {
    Uuid::from_u128(run.0.as_u128() ^ REMARK)
}

/// What the attempt has left that is about to be taken back: how the files are where the next one begins.
fn left(rollback: &Rollback) -> Label {
    let next = label(&rollback.moment, Side::After);
    Label { attempt: next.attempt.saturating_sub(1), position: rollback.until.0, ..next }
}

fn label(moment: &Moment, side: Side) -> Label {
    let (step, attempt) = moment.before.map_or((0, 1), |(step, attempt)| (step.0, attempt.0));
    Label {
        run: moment.run.to_string(),
        step,
        attempt,
        side,
        position: moment.position.0,
        note: None,
    }
}
