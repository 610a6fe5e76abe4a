//! A workspace whose folder has vanished, made again: what its run had in it comes back from the newest snapshot.
//!
//! Its branch may have gone on since, which is more than the snapshot has. Then it stays where it is, and the snapshot is
//! named.

use super::label::Side;
use super::notes::Standing;
use super::state::Kept;
use super::{Snapshot, SnapshotError, filled};
use crate::identity;
use crate::workspace::Workspace;
use crate::workspace::plumbing::{Plumbing, Stand};
use crate::workspace::yard::Yard;

impl Yard<'_> {
    /// Brings back what the run of a workspace had in it, as far as it was kept; what is to be told of that.
    pub(in crate::workspace) fn bring_newest_back(&self, workspace: &Workspace) -> Option<String> {
        let run = workspace.run.as_deref()?;
        let newest = match self.newest(run) {
            Ok(newest) => newest?,
            Err(error) => return Some(format!("the snapshots of its run can't be read: {error}")),
        };
        let Snapshot { number, commit, label, .. } = &newest;
        let of = format!("snapshot {number} of its run ({label})");
        Some(match self.is_ahead(workspace, &newest) {
            Ok(true) => match self.fill(workspace, &newest) {
                Ok(()) => format!("its files are those of {of}"),
                Err(error) => format!("its files could not be brought back from {of}: {error}"),
            },
            Ok(false) => format!(
                "it has what is on its branch, which has gone on since {of}; files that were not committed are in {commit}"
            ),
            Err(error) => format!("its files could not be brought back from {of}: {error}"),
        })
    }

    fn fill(&self, workspace: &Workspace, from: &Snapshot) -> Result<(), SnapshotError> {
        self.return_to(workspace, from)?;
        let private = identity::private_of(&workspace.path);
        private.map_or(Ok(()), |private| filled::write_down(&private))
    }

    fn newest(&self, run: &str) -> Result<Option<Snapshot>, SnapshotError> {
        let chain = self.snapshots(run)?;
        Ok(chain.into_iter().rfind(|found| found.label.side != Side::ByHand))
    }

    /// Whether everything on the branch is in the snapshot too.
    fn is_ahead(&self, workspace: &Workspace, snapshot: &Snapshot) -> Result<bool, SnapshotError> {
        let kept = Kept::load(self.calls(), &workspace.repository, &snapshot.commit)?;
        let Standing::Git { head: Some(head), branch, .. } = &kept.notes.standing else {
            return Ok(false);
        };
        let own = workspace.branch.as_ref().map(|own| format!("refs/heads/{own}"));
        if own.is_none() || *branch != own {
            return Ok(false);
        }
        let (plumbing, stand) = (Plumbing(self.calls()), Stand::checkout(&workspace.path));
        let how = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let Some(tip) = plumbing.ask(stand, how)? else { return Ok(true) };
        let tip = String::from_utf8_lossy(&tip).trim().to_owned();
        // A clone that is new may not have the commit; the repository has it.
        let stand = Stand::repository(&workspace.repository);
        let how = ["merge-base", "--is-ancestor", &tip, head];
        Ok(tip == *head || plumbing.ask(stand, how)?.is_some())
    }
}
