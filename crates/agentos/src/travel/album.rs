//! The snapshots of runs, as the repository has them.

use agentos_core::id::{RunId, Seq};
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::{Records as _, RunRecord};
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::snapshot::filled::settle;
use agentos_workspace::workspace::snapshot::{
    Label, Side, Snapshot, SnapshotError, is_half_returned,
};

use crate::error::{CommandError, Result};
use crate::workspace::desk::Desk;
use crate::workspace::tend;

/// Tells what is said of a return that was finished from everything else.
const RETURNED: u128 = 0xA6E7_0013_0000;

/// Whether a run has this workspace to itself, and does not work in that of another one.
pub(crate) fn belongs(workspace: &Workspace, run: &RunRecord) -> bool {
    let holder = workspace.run.as_deref();
    // A run that mends another one takes its workspace over.
    holder == Some(&*run.id.to_string()) || holder.is_some() && holder == run.forked_from.as_deref()
}

/// Takes a snapshot.
pub(crate) async fn take(desk: &Desk, workspace: Workspace, label: Label) -> Result<Snapshot> {
    desk.work(move |yard| yard.take_snapshot(&workspace, &label, SystemClock.now())).await
}

/// The snapshots of a run, in the order in which they were taken.
pub(crate) async fn chain(desk: &Desk, run: String) -> Result<Vec<Snapshot>> {
    desk.work(move |yard| yard.snapshots(&run)).await
}

/// Takes the files back.
pub(crate) async fn return_to(desk: &Desk, workspace: Workspace, to: Snapshot) -> Result<()> {
    desk.work(move |yard| yard.return_to(&workspace, &to)).await
}

/// Sees to it that files are not halfway back to where they were when a run is about to do something with them, and tells it
/// on the run. Nobody may be at work there.
pub(crate) async fn finish_return(
    desk: &Desk,
    store: &SqliteStore,
    (run, workspace): (RunId, &Workspace),
) -> Result<()> {
    if !is_half_returned(workspace) {
        return Ok(());
    }
    let found = workspace.clone();
    let finished = desk.work(move |yard| yard.finish_return(&found)).await?;
    let Some(to) = finished else { return Ok(()) };
    let message = format!(
        "The files were halfway back to where they were, because that had failed or was interrupted. They are back now, as \
         in snapshot {} ({}).",
        to.number, to.label
    );
    let number = RETURNED ^ u128::from(to.number) ^ workspace.nonce.as_u128();
    store.add_comment(tend::said(run, number, message)).await?;
    Ok(())
}

/// Keeps files while their workspace is set up.
pub(crate) async fn put_aside(desk: &Desk, workspace: &Workspace) -> Result<()> {
    let (step, attempt, side, position, note) = (0, 1, Side::ByHand, 0, None);
    let label = Label { run: aside(workspace), step, attempt, side, position, note };
    take(desk, workspace.clone(), label).await.map(drop)
}

/// Puts back what was put aside. It is known where the files are until they are there.
pub(crate) async fn put_back(desk: &Desk, workspace: &Workspace) -> Result<()> {
    if let Some(kept) = chain(desk, aside(workspace)).await?.into_iter().next() {
        return_to(desk, workspace.clone(), kept).await?;
    }
    settle(workspace)?;
    forget(desk, aside(workspace)).await
}

fn aside(workspace: &Workspace) -> String {
    format!("setup-{}", workspace.nonce)
}

/// Forgets the snapshots of a run.
pub(crate) async fn forget(desk: &Desk, run: String) -> Result<()> {
    desk.work(move |yard| yard.drop_snapshots(&run).map(drop)).await
}

/// The files as they were at this position: those of the first snapshot that a run took at or after it. An attempt that was
/// taken back has one of what it left, which stands before that of what came back. What people take meanwhile does not
/// count, since something may be at work then.
pub(crate) fn first_from(chain: &[Snapshot], at: Seq) -> Option<&Snapshot> {
    let own = chain
        .iter()
        .filter(|found| found.label.side != Side::ByHand && found.label.position >= at.0);
    own.min_by_key(|found| (found.label.position, found.number))
}

impl From<SnapshotError> for CommandError {
    fn from(error: SnapshotError) -> Self {
        Self::caused(&error)
    }
}
