//! The snapshots of a run: a chain of commits under one ref, `refs/agentos/runs/{run}`, in the repository.
//!
//! A commit's first parent is the snapshot before it, its second one holds what is no file. What the chain says is in the
//! messages of its commits. It is also kept beside the index of snapshots, so that it need not be read again.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::SnapshotError;
use super::bounds::{LINKS, SNAPSHOTS};
use super::darkroom::{Darkroom, io_error};
use super::label::{Label, Snapshot};
use crate::workspace::plumbing::{Plumbing, Stand, parts};
use crate::workspace::points::{Point, Points};
use crate::workspace::porcelain::{Porcelain, line};

/// What every chain's ref begins with.
const REFS: &str = "refs/agentos/runs/";

/// The only form of a message that there is so far.
const VERSION: u32 = 1;

/// What the commit is called on which every chain stands: without it, the first snapshot would have no other first parent
/// than what it holds.
const BEGINNING: &str = "agentos: before the first snapshot";

/// What a commit of the chain says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    version: u32,
    number: u32,
    label: Label,
    at: i64,
}

/// The ref of a run's chain.
pub(super) fn reference(run: &str) -> String {
    format!("{REFS}{run}")
}

/// The snapshots of a run, the first first.
pub(super) fn load(
    porcelain: Porcelain<'_>,
    repository: &Path,
    run: &str,
) -> Result<Vec<Snapshot>, SnapshotError> {
    let (plumbing, stand) = (Plumbing(porcelain), Stand::repository(repository));
    let Some(tip) = tip(porcelain, repository, run)? else { return Ok(Vec::new()) };
    let how = ["log", "-z", "--first-parent", "--format=%H%n%B", &tip, "--"];
    let said = plumbing.call(stand, how)?;
    let mut chain: Vec<Snapshot> = Vec::new();
    for part in parts(&said) {
        let text = String::from_utf8_lossy(part);
        if !text.contains(BEGINNING) {
            chain.push(read(&text)?);
        }
    }
    chain.reverse();
    Ok(chain)
}

/// The last commit of a run's chain.
pub(super) fn tip(
    porcelain: Porcelain<'_>,
    repository: &Path,
    run: &str,
) -> Result<Option<String>, SnapshotError> {
    let name = reference(run);
    if let Some(id) = loose(repository, &name) {
        return Ok(Some(id));
    }
    let how = ["rev-parse", "--verify", "--quiet", &name];
    Ok(Plumbing(porcelain).ask(Stand::repository(repository), how)?.map(|said| line(&said)))
}

/// What a ref's own file says, if it has one: that counts before everything else, and asking git takes longer.
pub(super) fn loose(git_dir: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(git_dir.join(name)).ok()?;
    let id = text.trim_end();
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

fn read(text: &str) -> Result<Snapshot, SnapshotError> {
    let (commit, message) = text.split_once('\n').unwrap_or((text, ""));
    let damaged = |why: String| SnapshotError::Damaged { commit: commit.to_owned(), why };
    let last = message.trim_end().lines().last().unwrap_or_default();
    let said: Said = serde_json::from_str(last).map_err(|error| damaged(error.to_string()))?;
    if said.version > VERSION {
        return Err(damaged("a newer program wrote it".to_owned()));
    }
    let Said { number, label, at, .. } = said;
    Ok(Snapshot { commit: commit.to_owned(), number, label, at: Timestamp(at) })
}

/// The chain of a run, seen from a darkroom.
pub(super) struct Chain<'a> {
    room: &'a Darkroom<'a>,
    run: &'a str,
    links: Vec<Snapshot>,
}

/// What a snapshot is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Picture<'a> {
    pub(super) tree: &'a str,
    /// The commit of what is no file.
    pub(super) state: &'a str,
}

impl<'a> Chain<'a> {
    /// Reads the chain of a run: the copy of it, if it is up to date.
    pub(super) fn of(room: &'a Darkroom<'a>, run: &'a str) -> Result<Self, SnapshotError> {
        let repository = &room.workspace.repository;
        let tip = tip(room.porcelain, repository, run)?;
        let mut chain = Self { room, run, links: chain_copy(&room.folder.join("chain")) };
        let known = chain.links.last().map(|last| &last.commit);
        if known != tip.as_ref() || chain.links.first().is_some_and(|first| first.label.run != run)
        {
            chain.links = load(room.porcelain, repository, run)?;
            let lines: Vec<String> = chain.links.iter().map(to_line).collect();
            let path = room.folder.join("chain");
            fs::write(&path, lines.concat()).map_err(io_error(&path))?;
        }
        Ok(chain)
    }

    /// The commit of the last one.
    pub(super) fn tip(&self) -> Option<&String> {
        self.links.last().map(|last| &last.commit)
    }

    /// The snapshot with this label.
    pub(super) fn find(&self, label: &Label) -> Option<&Snapshot> {
        self.links.iter().rev().find(|link| link.label == *label)
    }

    /// Makes the chain longer by one.
    pub(super) fn append(
        mut self,
        picture: Picture<'_>,
        (label, at): (&Label, Timestamp),
        points: &dyn Points,
    ) -> Result<Snapshot, SnapshotError> {
        for _ in 0..LINKS {
            if let Some(known) = self.find(label) {
                // Somebody else was faster.
                return Ok(known.clone());
            }
            let last = self.links.last();
            let number = last.map_or(1, |last| last.number + 1);
            if number > SNAPSHOTS {
                return Err(SnapshotError::ChainTooLong { run: self.run.to_owned() });
            }
            let before = last.map(|last| last.commit.clone());
            let commit = self.commit(picture, before.as_deref(), (number, label, at))?;
            points.pass(Point::Chained);
            let snapshot = Snapshot { commit, number, label: label.clone(), at };
            match self.link(&snapshot.commit, before.as_deref()) {
                Ok(()) => {
                    self.note(&snapshot)?;
                    return Ok(snapshot);
                }
                Err(error) => {
                    let (room, run) = (self.room, self.run);
                    self = Self::of(room, run)?;
                    if self.links.last().map(|last| &last.commit) == before.as_ref() {
                        return Err(error);
                    }
                }
            }
        }
        Err(SnapshotError::Restless { path: self.room.workspace.path.clone() })
    }

    fn commit(
        &self,
        picture: Picture<'_>,
        before: Option<&str>,
        (number, label, at): (u32, &Label, Timestamp),
    ) -> Result<String, SnapshotError> {
        let said = Said { version: VERSION, number, label: label.clone(), at: at.0 };
        let said = serde_json::to_string(&said)
            .map_err(|error| SnapshotError::Label { why: error.to_string() })?;
        let message = format!("agentos: {label}\n\n{said}");
        let before = match before {
            Some(before) => before.to_owned(),
            None => {
                let nothing = self.room.write_nothing()?;
                self.room.word(["commit-tree", &nothing, "-m", BEGINNING])?
            }
        };
        let mut words = vec!["commit-tree", picture.tree, "-m", &message];
        for parent in [&*before, picture.state] {
            words.extend(["-p", parent]);
        }
        self.room.word(words)
    }

    fn link(&self, commit: &str, before: Option<&str>) -> Result<(), SnapshotError> {
        let stand = Stand::repository(&self.room.workspace.repository);
        let how = ["-c", "core.fsync=committed,reference", "update-ref", "--"];
        let name = reference(self.run);
        let how = how.into_iter().chain([&*name, commit, before.unwrap_or_default()]);
        Plumbing(self.room.porcelain).call(stand, how)?;
        Ok(())
    }

    /// The copy of the chain is only a copy: what is lost of it is read again.
    fn note(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let path = self.room.folder.join("chain");
        let file = fs::OpenOptions::new().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(to_line(snapshot).as_bytes()));
        written.map_err(io_error(&path))
    }
}

fn to_line(snapshot: &Snapshot) -> String {
    let text = serde_json::to_string(snapshot).unwrap_or_default();
    format!("{text}\n")
}

/// Reads a copy; one that can't be read is none.
fn chain_copy(path: &Path) -> Vec<Snapshot> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let links: Option<Vec<_>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
    links.unwrap_or_default()
}
