//! A run has its workspace while it lives: that is written down when it begins and when it ends, and what it has committed
//! is brought into the repository.
//!
//! Nothing depends on it being done at once. Whoever is killed in between leaves a workspace that is in use by a run that
//! has ended, and the next who comes sees that.

use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::events::Event;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{NewComment, Records as _, RunRecord};
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::isolation::IsolationError;
use agentos_workspace::workspace::ledger::LedgerError;
use agentos_workspace::workspace::occupy::{Ending, OccupyError};
use agentos_workspace::workspace::{State, Workspace, guard, trash};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use uuid::Uuid;

use super::desk::Desk;
use super::removal;
use crate::error::{Cause, CommandError, ErrorKind, Result};
use crate::session::Session;

/// How often a workspace is looked at again that somebody else has changed meanwhile.
const TRIES: usize = 20;

impl From<OccupyError> for CommandError {
    fn from(error: OccupyError) -> Self {
        let message = error.to_string();
        match error {
            OccupyError::Collect(IsolationError::Estranged { .. }) => {
                Self::refused(message).because(Cause::WorkspaceUnusable)
            }
            error => Self::caused(&error),
        }
    }
}

/// A run begins, or goes on, to work in its workspace.
pub(crate) async fn occupy(
    session: &Session,
    store: &SqliteStore,
    run: &RunRecord,
    workspace: Workspace,
) -> Result<()> {
    if !workspace.state.is_there() {
        // There was no room for it yet; it is made when there is.
        return Ok(());
    }
    let desk = Desk::open(session, store)?.of(&workspace)?;
    desk.occupy(run, workspace).await.map(|_| ())
}

/// Somebody else may have driven a run to its end before it was written down that it works in its workspace: then it is left
/// now. The repository must not be locked by the caller.
pub(crate) async fn leave_if_ended(
    session: &Session,
    store: &SqliteStore,
    run: RunId,
) -> Result<()> {
    let desk = Desk::open(session, store)?;
    if desk.is_open(&run.to_string()).await { Ok(()) } else { release(&desk, store, run).await }
}

/// Sees to the workspace of every run that ends, until there are no more events.
pub(crate) async fn follow(desk: Option<Desk>, store: SqliteStore, mut events: Receiver<Event>) {
    loop {
        match events.recv().await {
            Ok(Event::Committed { run, standing, .. }) if standing.is_ended() => {
                if let Some(desk) = &desk
                    && let Err(error) = release(desk, &store, run).await
                {
                    tracing::warn!(%run, %error, "the workspace of a run that has ended");
                }
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// A run has ended, and so has its use of its workspace. Whoever changes the workspace meanwhile is waited for.
async fn release(desk: &Desk, store: &SqliteStore, run: RunId) -> Result<()> {
    for _ in 1..TRIES {
        if try_release(desk, store, run).await?.is_some() {
            return Ok(());
        }
    }
    tracing::warn!(%run, "the workspace of a run that has ended is changed again and again");
    Ok(())
}

/// Nothing, if somebody else has changed the workspace meanwhile.
async fn try_release(desk: &Desk, store: &SqliteStore, run: RunId) -> Result<Option<()>> {
    let id = run.to_string();
    let record = store.run_detail(run).await?.run;
    let known = match record.workspace_id.as_deref().map(str::parse) {
        Some(Ok(workspace)) => desk.find(&workspace).await?,
        _ => None,
    };
    // Somebody who came by may have released it already, but leaves it to the run's owner to clean up.
    let is_its = |workspace: &Workspace| {
        let is_there = matches!(workspace.state, State::InUse | State::Released);
        workspace.run.as_ref() == Some(&id) && is_there
    };
    let Some(mut workspace) = known.filter(is_its) else { return Ok(Some(())) };
    let desk = desk.clone().of(&workspace)?;
    if workspace.state == State::InUse {
        let Some(released) = leave(&desk, store, &record, workspace).await? else {
            return Ok(None);
        };
        workspace = released;
    }
    if desk.cleans_up() {
        clean_up(&desk, store, run, workspace).await?;
    }
    Ok(Some(()))
}

/// Writes down that a run works in its workspace no more. Nothing, if somebody else has changed the workspace meanwhile.
async fn leave(
    desk: &Desk,
    store: &SqliteStore,
    record: &RunRecord,
    mut workspace: Workspace,
) -> Result<Option<Workspace>> {
    let run = record.id;
    let (surroundings, found) = (Arc::clone(desk.surroundings()), workspace.clone());
    let told = tokio::task::spawn_blocking(move || guard::end(&surroundings, &found)).await;
    for (number, line) in told.unwrap_or_default().into_iter().enumerate() {
        store.add_comment(remark(run, number, &line)).await?;
    }
    let ending = Ending { exit_code: None, error: error_of(record) };
    let released = desk.work(move |yard| {
        let told = yard.release(&mut workspace, &ending, SystemClock.now());
        Ok::<_, CommandError>(told.map(|told| (workspace, told)))
    });
    let (workspace, told) = match released.await? {
        Err(OccupyError::Ledger(LedgerError::Outdated { .. })) => return Ok(None),
        released => released?,
    };
    if let Some(told) = told {
        store.add_comment(said(run, 0xA6E7_0004, told)).await?;
    }
    Ok(Some(workspace))
}

/// Removes the workspace of a run that has ended. If work would be lost it stays, and the run says so.
async fn clean_up(
    desk: &Desk,
    store: &SqliteStore,
    run: RunId,
    workspace: Workspace,
) -> Result<()> {
    let path = workspace.path.display().to_string();
    let outcome = removal::clean(desk, workspace, false).await?;
    // What somebody else has removed meanwhile is no workspace that was kept.
    let refusal = outcome.refusal().filter(|refusal| refusal.kind != ErrorKind::NotFound);
    if let Some(refusal) = refusal {
        let message = format!("the workspace {path} was kept: {}", refusal.message);
        return Ok(store.add_comment(said(run, 0xA6E7_0003, message)).await?);
    }
    let root = desk.root().to_owned();
    // Nobody waits for it; what is left is deleted by the next who comes.
    drop(tokio::task::spawn_blocking(move || trash::sweep(&root)));
    Ok(())
}

/// What is remarked on a run about the repository. Remarked again, it is the same remark.
fn remark(run: RunId, number: usize, line: &str) -> NewComment {
    said(run, 0xA6E7_0005 + number as u128, format!("While it ran, in the repository: {line}"))
}

/// What AgentOS says about a run. Said again under the same number, it is the same.
pub(crate) fn said(run: RunId, number: u128, message: String) -> NewComment {
    NewComment {
        id: Uuid::from_u128(run.0.as_u128() ^ number),
        run,
        step: None,
        message,
        metadata: None,
        author: "agentos".to_owned(),
        at: SystemClock.now(),
    }
}

fn error_of(run: &RunRecord) -> Option<String> {
    if run.status == WorkflowStatus::Completed {
        return None;
    }
    let message = run.error.as_ref().and_then(|error| error.get("message")?.as_str());
    Some(message.unwrap_or(run.status.as_str()).to_owned())
}
