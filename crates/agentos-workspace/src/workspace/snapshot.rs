//! Snapshots: everything in a workspace at one moment, byte for byte, and the way back to it.
//!
//! Rolling a step back, forking a run and saying what a step has changed all stand on this. A snapshot has the files (also
//! those that git does not know, but none that it was told to overlook), their modes, folders with nothing in them, the
//! index, what is checked out, what is half done, and the repositories inside. The snapshots of a run are a
//! chain of commits under one ref of the repository: they outlive the workspace, and go when the run is pruned.
//!
//! - Taking one of a workspace in which nothing has changed costs one look at all files, as `git status` does.
//! - It is on the disk before the ref says so.
//! - **Only while nobody works in the workspace.** Somebody who writes meanwhile is noticed, and then there is no snapshot;
//!   but whoever calls has to see to it that nobody does.
//! - Taking and returning may be repeated after a crash, with the same label or to the same snapshot. A workspace that is
//!   halfway back lets nobody take a snapshot of it.

pub mod bounds;
mod chain;
mod darkroom;
mod difference;
mod error;
pub mod filled;
mod fork;
mod jujutsu;
mod label;
mod look;
mod nested;
mod notes;
mod put_back;
mod standing;
mod state;
mod vanished;

use std::fs;
use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::persist::persist;
use super::plumbing::{Plumbing, Stand};
use super::points::Point;
use super::porcelain::Porcelain;
use super::verify;
use super::yard::Yard;
use super::{Kind, Workspace};
use crate::{files, identity};
use bounds::LOOKS;
use chain::{Chain, Picture};
use darkroom::{Darkroom, zero_ended};
use look::Looked;
use notes::Standing;
use put_back::Way;
use state::{Kept, Last};

pub use difference::Comparison;
pub use error::SnapshotError;
pub use label::{Label, Side, Snapshot};

/// The file that says so while a workspace is on its way back.
const RETURNING: &str = "returning.json";

/// What is written down while a workspace is on its way back.
#[derive(Debug, Serialize, Deserialize)]
struct Returning {
    snapshot: Snapshot,
}

impl Yard<'_> {
    /// Takes a snapshot of a workspace. If there is one with this label, that is the answer, and nothing happens.
    ///
    /// Nobody may be at work in the workspace.
    ///
    /// # Errors
    /// [`SnapshotError`]; then there is no snapshot, and the workspace is as it was.
    pub fn take_snapshot(
        &self,
        workspace: &Workspace,
        label: &Label,
        at: Timestamp,
    ) -> Result<Snapshot, SnapshotError> {
        label.check()?;
        persist(|| self.take_once(workspace, label, at))
    }

    fn take_once(
        &self,
        workspace: &Workspace,
        label: &Label,
        at: Timestamp,
    ) -> Result<Snapshot, SnapshotError> {
        let room = self.darkroom(workspace)?;
        if let Some(half) = files::load_json::<Returning>(&returning(&room))? {
            let (path, number) = (workspace.path.clone(), half.snapshot.number);
            return Err(SnapshotError::HalfReturned { path, number });
        }
        let chain = Chain::of(&room, &label.run)?;
        if let Some(known) = chain.find(label) {
            return Ok(known.clone());
        }
        let last = usable_last(&room, &chain)?;
        let next = develop(&room, &last)?;
        self.points.pass(Point::Developed);
        let picture = Picture { tree: &next.tree, state: &next.state };
        let snapshot = chain.append(picture, (label, at), self.points)?;
        let (run, commit) = (label.run.clone(), snapshot.commit.clone());
        Last { run, commit, ..next }.write(&room)?;
        room.stand_at(Some(&snapshot.commit))?;
        self.points.pass(Point::Taken);
        Ok(snapshot)
    }

    /// The snapshots of a run, the first first. It does not matter whether the workspace is still there.
    ///
    /// # Errors
    /// [`SnapshotError`]
    pub fn snapshots(&self, run: &str) -> Result<Vec<Snapshot>, SnapshotError> {
        label::check_run(run)?;
        chain::load(self.calls(), &self.repository.checkout.repository, run)
    }

    /// Forgets the snapshots of a run; whether there were any. What nothing else leads to goes with git's next clean-up.
    ///
    /// # Errors
    /// [`SnapshotError`]
    pub fn drop_snapshots(&self, run: &str) -> Result<bool, SnapshotError> {
        label::check_run(run)?;
        let repository = &self.repository.checkout.repository;
        let Some(tip) = chain::tip(self.calls(), repository, run)? else { return Ok(false) };
        let name = chain::reference(run);
        let how = ["update-ref", "-d", "--", &name, &tip];
        Plumbing(self.calls()).call(Stand::repository(repository), how)?;
        Ok(true)
    }

    /// Makes a workspace what it was: files, modes and folders, the index, what was checked out and where that branch was,
    /// what was half done. What is overlooked stays as it is. Commits that were made since are left to later snapshots and
    /// to git's own logs.
    ///
    /// If it does not come to its end, it has to be called again with the same snapshot. Nobody may be at work in the
    /// workspace.
    ///
    /// # Errors
    /// [`SnapshotError`]
    pub fn return_to(
        &self,
        workspace: &Workspace,
        snapshot: &Snapshot,
    ) -> Result<(), SnapshotError> {
        persist(|| self.go_back(&self.darkroom(workspace)?, snapshot))
    }

    fn go_back(&self, room: &Darkroom<'_>, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let workspace = room.workspace;
        let kept = Kept::load(room.porcelain, &workspace.repository, &snapshot.commit)?;
        check_kinds(workspace.kind, kept.notes.kind)?;
        if let Standing::Git { head, branch, .. } = &kept.notes.standing {
            standing::check_branch(room, branch.as_deref())?;
            fetch_missing(room, head.as_deref(), &snapshot.commit)?;
        }
        let note = returning(room);
        files::write_json(&note, &Returning { snapshot: snapshot.clone() })?;
        Last::forget(room);
        self.points.pass(Point::Returning);
        Way { commit: &snapshot.commit, kept: &kept, is_home: true, points: self.points }
            .go(room)?;
        self.points.pass(Point::Returned);
        fs::remove_file(&note).map_err(darkroom::io_error(&note))
    }

    /// The snapshot that a workspace is halfway back to, because whoever began to return to it was killed. Until it has
    /// returned, its files are neither the ones nor the others.
    ///
    /// # Errors
    /// [`SnapshotError`]
    pub fn half_returned(&self, workspace: &Workspace) -> Result<Option<Snapshot>, SnapshotError> {
        let room = self.darkroom(workspace)?;
        let half: Option<Returning> = files::load_json(&returning(&room))?;
        Ok(half.map(|half| half.snapshot))
    }

    /// Finishes a return that did not come to its end, if there is one; where it led to. Of several who come at once, one
    /// does it, and the others wait.
    ///
    /// # Errors
    /// [`SnapshotError`]; then the workspace is still halfway back.
    pub fn finish_return(&self, workspace: &Workspace) -> Result<Option<Snapshot>, SnapshotError> {
        persist(|| {
            let room = self.darkroom(workspace)?;
            let half: Option<Returning> = files::load_json(&returning(&room))?;
            let Some(Returning { snapshot }) = half else { return Ok(None) };
            self.go_back(&room, &snapshot)?;
            Ok(Some(snapshot))
        })
    }

    fn calls(&self) -> Porcelain<'_> {
        Porcelain { surroundings: self.surroundings, lock: None }
    }

    fn darkroom<'a>(&'a self, workspace: &'a Workspace) -> Result<Darkroom<'a>, SnapshotError> {
        let found = verify::verify(self.surroundings, workspace)?;
        Darkroom::enter(self.calls(), workspace, found)
    }
}

/// Where it is written down that a workspace is on its way back.
fn returning(room: &Darkroom<'_>) -> PathBuf {
    room.folder.join(RETURNING)
}

/// Whether a workspace seems to be halfway back to a snapshot, without a question to git.
#[must_use]
pub fn is_half_returned(workspace: &Workspace) -> bool {
    let private = identity::private_of(&workspace.path);
    let folder = private.map(|private| identity::folder_of(&private).join("snapshot"));
    folder.is_some_and(|folder| folder.join(RETURNING).exists())
}

fn check_kinds(wanted: Kind, found: Kind) -> Result<(), SnapshotError> {
    if (wanted == Kind::Jj) == (found == Kind::Jj) {
        return Ok(());
    }
    Err(SnapshotError::OtherKind { found, wanted })
}

/// What the last snapshot was made of, if it can be used for the next one of this chain.
fn usable_last(room: &Darkroom<'_>, chain: &Chain<'_>) -> Result<Last, SnapshotError> {
    let last = Last::load(room);
    let is_usable = !last.commit.is_empty() && chain.tip() == Some(&last.commit);
    if is_usable && room.stands_at(&last.commit) {
        return Ok(last);
    }
    let is_kept = !last.run.is_empty()
        && chain::tip(room.porcelain, &room.workspace.repository, &last.run)?.is_some();
    if !is_kept {
        room.forget_indexes();
    }
    room.stand_at(chain.tip().map(String::as_str))?;
    Ok(Last::default())
}

/// Makes objects of everything. What comes back says of which, but not yet in which chain they are.
fn develop(room: &Darkroom<'_>, last: &Last) -> Result<Last, SnapshotError> {
    let developed = try_develop(room, last);
    if matches!(developed, Err(SnapshotError::Restless { .. } | SnapshotError::Call(_))) {
        room.forget_indexes();
    }
    developed
}

fn try_develop(room: &Darkroom<'_>, last: &Last) -> Result<Last, SnapshotError> {
    let mut standing = state::standing_of(room)?;
    let mut is_new = last.tree.is_empty();
    for look in 0..LOOKS {
        let mut looked = Looked::at(room)?;
        let index = index_moment(&standing);
        looked.add_forced(room, look == 0 && (is_new || last.index != index))?;
        looked.check(&room.workspace.path)?;
        is_new |= looked.is_ahead || looked.is_news();
        if looked.is_news() && look % 2 == 1 {
            // Somebody writes. A file that he has changed twice within one tick of the clock, without changing its size,
            // looks as if it were known, and would for ever: everything is read again.
            room.forget_indexes();
            continue;
        }
        if looked.is_news() {
            match learn(room, &looked) {
                // A file may have gone before git could read it.
                Err(SnapshotError::Call(_)) if look + 1 < LOOKS => {}
                learned => learned?,
            }
            continue;
        }
        if room.workspace.kind != Kind::Jj {
            let now = state::standing_of(room)?;
            if now != standing {
                standing = now;
                continue;
            }
        }
        let tree = if is_new { room.word(["write-tree"])? } else { last.tree.clone() };
        let (state, key) = state::keep(room, (standing, &looked.walked), last)?;
        return Ok(Last { tree, state, key, index, ..Last::default() });
    }
    Err(SnapshotError::Restless { path: room.workspace.path.clone() })
}

fn index_moment(standing: &Standing) -> Option<notes::Moment> {
    match standing {
        Standing::Git { index, .. } => *index,
        Standing::Jj { .. } => None,
    }
}

/// Lets the index know what has changed. Somebody who changes it further meanwhile is seen at the next look.
fn learn(room: &Darkroom<'_>, looked: &Looked) -> Result<(), SnapshotError> {
    if !looked.removed.is_empty() {
        let list = zero_ended(looked.removed.iter().map(PathBuf::as_path));
        room.call_with(["update-index", "-z", "--force-remove", "--stdin"], &list)?;
    }
    let root = &room.workspace.path;
    let there: Vec<&Path> = looked
        .new
        .iter()
        .chain(&looked.changed)
        .map(PathBuf::as_path)
        .filter(|name| fs::symlink_metadata(root.join(name)).is_ok_and(|about| !about.is_dir()))
        .collect();
    if !there.is_empty() {
        let how = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
        room.call_with(how, &zero_ended(there))?;
    }
    Ok(())
}

/// A clone may have thrown away commits that it does not need any more; the repository has them.
fn fetch_missing(
    room: &Darkroom<'_>,
    head: Option<&str>,
    commit: &str,
) -> Result<(), SnapshotError> {
    let (Some(head), Kind::Clone) = (head, room.workspace.kind) else { return Ok(()) };
    let (plumbing, stand) = (Plumbing(room.porcelain), Stand::checkout(&room.workspace.path));
    let held = plumbing.word(
        Stand::repository(&room.workspace.repository),
        ["rev-parse", "--verify", &format!("{commit}^2^")],
    )?;
    let is_there = |id: &str| plumbing.ask(stand, ["cat-file", "-e", id]);
    if is_there(head)?.is_some() && is_there(&held)?.is_some() {
        return Ok(());
    }
    let from = room.workspace.repository.to_string_lossy();
    let how = ["-c", "protocol.version=2", "fetch", "--quiet", "--no-tags"];
    let how = how.into_iter().chain(["--no-write-fetch-head", "--no-recurse-submodules"]);
    plumbing.call(stand, how.chain(["--", &*from, &held]))?;
    Ok(())
}
