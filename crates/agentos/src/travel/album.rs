//! The snapshots of runs, as the repository has them.

use agentos_core::id::Seq;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::RunRecord;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::snapshot::{Label, Side, Snapshot, SnapshotError};

use crate::error::{CommandError, Result};
use crate::workspace::desk::Desk;

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

/// Forgets the snapshots of a run.
pub(crate) async fn forget(desk: &Desk, run: String) -> Result<()> {
    desk.work(move |yard| yard.drop_snapshots(&run).map(drop)).await
}

/// The files as they were at this position: those of the first snapshot that a run took at or after it. What people take
/// meanwhile does not count, since something may be at work then.
pub(crate) fn first_from(chain: &[Snapshot], at: Seq) -> Option<&Snapshot> {
    let own = chain.iter().filter(|found| {
        matches!(found.label.side, Side::Before | Side::RolledBack | Side::End)
            && found.label.position >= at.0
    });
    own.min_by_key(|found| (found.label.position, found.number))
}

impl From<SnapshotError> for CommandError {
    fn from(error: SnapshotError) -> Self {
        Self::failed(error.to_string())
    }
}
