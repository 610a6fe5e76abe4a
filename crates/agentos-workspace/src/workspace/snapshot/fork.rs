//! A new workspace that begins where a snapshot was taken: its own branch, at the commit that was checked out, with the
//! files, the index and what was half done.
//!
//! It is made like any other. Until it is whole it is written down as being made, so whoever is killed meanwhile is cleaned
//! up after.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::darkroom::Darkroom;
use super::put_back::Way;
use super::state::Kept;
use super::{Snapshot, SnapshotError, check_kinds, filled};
use crate::files;
use crate::identity::folder_of;
use crate::workspace::furnish::furnish;
use crate::workspace::include::include;
use crate::workspace::isolation;
use crate::workspace::ledger::advance;
use crate::workspace::marker::{FolderIdentity, Marker};
use crate::workspace::persist::persist;
use crate::workspace::points::Point;
use crate::workspace::repository::RepositoryLock;
use crate::workspace::yard::{Open, OpenError, Opened, Wanted, Yard};
use crate::workspace::{State, Workspace, root, verify};

/// Which snapshot a workspace was made from.
#[derive(Debug, Serialize, Deserialize)]
struct Origin {
    commit: String,
}

impl Yard<'_> {
    /// Makes a new workspace of which everything is as it was when the snapshot was taken, but for its branch, which is its
    /// own, and for what git overlooks, which it gets as any new workspace does. What `wanted` says of a base does not
    /// count. Called again, it finds the same workspace and leaves it alone.
    ///
    /// It does not matter whether the workspace is still there of which the snapshot is. A snapshot of a jj workspace needs
    /// another jj workspace.
    ///
    /// # Errors
    /// [`SnapshotError`]; then nothing is left that was not there before.
    pub fn create_from(&self, wanted: &Wanted, snapshot: &Snapshot) -> Result<Open, SnapshotError> {
        persist(|| self.create_once_from(wanted, snapshot))
    }

    fn create_once_from(
        &self,
        wanted: &Wanted,
        snapshot: &Snapshot,
    ) -> Result<Open, SnapshotError> {
        root::check(self.root, self.repository).map_err(OpenError::from)?;
        let lock = self.repository.lock()?;
        self.repair_under(&lock)?;
        let repository = &self.repository.checkout.repository;
        let kept = Kept::load(self.calls(), repository, &snapshot.commit)?;
        check_kinds(wanted.kind, kept.notes.kind)?;
        let known = self.ledger.find(&wanted.id)?;
        if let Some(known) = &known
            && known.state != State::Gone
        {
            let found = verify::verify(self.surroundings, known)?;
            let origin: Option<Origin> = files::load_json(&origin(&found.private))?;
            if origin.is_none_or(|origin| origin.commit != snapshot.commit) {
                return Err(SnapshotError::Taken { id: wanted.id.clone() });
            }
            let (workspace, notes) = (known.clone(), Vec::new());
            return Ok(Open { workspace, how: Opened::Found, notes, lock });
        }
        let no_base = || SnapshotError::NoBase { commit: snapshot.commit.clone() };
        let base = kept.notes.standing.base().ok_or_else(no_base)?;
        let wanted = Wanted { base: Some(base.to_owned()), ..wanted.clone() };
        let mut workspace = self.plan(&lock, &wanted, known)?;
        if !workspace.is_branch_ours {
            let branch = workspace.branch.unwrap_or_default();
            return Err(SnapshotError::BranchTaken { branch });
        }
        advance(self.ledger, &mut workspace, State::Creating)?;
        self.points.pass(Point::Recorded);
        match self.build_from(&lock, &mut workspace, (&kept, snapshot)) {
            Ok(()) => Ok(Open { workspace, how: Opened::Made, notes: Vec::new(), lock }),
            Err(error) => {
                // Whatever can't be taken back now is by the next who comes.
                let _left = self.take_back(&lock, workspace);
                Err(error)
            }
        }
    }

    fn build_from(
        &self,
        lock: &RepositoryLock,
        workspace: &mut Workspace,
        (kept, snapshot): (&Kept, &Snapshot),
    ) -> Result<(), SnapshotError> {
        let site = self.site(Some(lock));
        files::make_folder(workspace.path.parent().unwrap_or(self.root))?;
        isolation::of(workspace.kind).make(&site, workspace)?;
        self.points.pass(Point::Made);
        let (found, _) = verify::look(self.surroundings, workspace)?;
        Marker::of(workspace).write(&found.private)?;
        self.points.pass(Point::Marked);
        workspace.folder = FolderIdentity::of(&workspace.path);
        // What is ours has to be overlooked before it is looked what was not there.
        furnish(workspace, &found, &self.ledger.database())?;
        include(&site, &workspace.path, &found.private).map_err(OpenError::from)?;
        let origin = origin(&found.private);
        filled::write_down(&found.private)?;
        let room = Darkroom::enter(site.porcelain(), workspace, found)?;
        Way { commit: &snapshot.commit, kept, is_home: false, points: self.points }.go(&room)?;
        files::write_json(&origin, &Origin { commit: snapshot.commit.clone() })?;
        drop(room);
        self.points.pass(Point::Filled);
        verify::verify(self.surroundings, workspace)?;
        self.points.pass(Point::Furnished);
        advance(self.ledger, workspace, State::Ready)?;
        self.points.pass(Point::Ready);
        Ok(())
    }
}

fn origin(private: &std::path::Path) -> PathBuf {
    folder_of(private).join("snapshot/origin.json")
}
