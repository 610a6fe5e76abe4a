//! Which workspaces are too large, too old or too many. Without a limit, none are.
//!
//! The longest unused go first. Deciding removes nothing, and whoever removes goes through [`removal`](super::removal), where
//! work that would be lost still counts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use agentos_core::time::Timestamp;
use serde::Serialize;

use super::id::WorkspaceId;
use super::{State, Workspace};
use crate::metadata;

/// What workspaces may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// One of them, in bytes.
    pub max_size: Option<u64>,
    /// All of them, in bytes.
    pub max_total_size: Option<u64>,
    /// How long one may be unused, in milliseconds.
    pub max_age_ms: Option<i64>,
    /// What has to be left on their file system, in bytes.
    pub min_free_disk: Option<u64>,
}

/// Why a workspace has to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It is larger than one may be.
    MaxSize,
    /// It was not used for longer than one may be.
    MaxAge,
    /// All of them are larger than they may be.
    MaxTotalSize,
    /// There is less free disk than there has to be.
    MinFreeDisk,
}

impl Why {
    /// The limit, as it is written in the configuration.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::MaxSize => "workspace.max_size",
            Self::MaxAge => "workspace.max_age",
            Self::MaxTotalSize => "workspace.max_total_size",
            Self::MinFreeDisk => "workspace.min_free_disk",
        }
    }
}

/// A workspace, and what it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weighed {
    /// The workspace.
    pub workspace: Workspace,
    /// What it takes on the disk, in bytes.
    pub bytes: u64,
    /// When it was last used.
    pub used_at: Timestamp,
}

impl Weighed {
    /// Looks how much a workspace takes.
    ///
    /// # Errors
    /// A folder can't be looked at.
    pub fn of(workspace: Workspace) -> io::Result<Self> {
        let bytes = disk_bytes(&workspace.path)?;
        let touched = fs::metadata(workspace.path.join(metadata::FILE));
        let touched = touched.map_or(0, |found| found.mtime().saturating_mul(1000));
        let used_at = Timestamp(workspace.created_at.0.max(touched));
        Ok(Self { workspace, bytes, used_at })
    }
}

/// Which of them has to go next, and why. Those in `stay` can't, but count.
#[must_use]
pub fn next(
    limits: &Limits,
    all: &[Weighed],
    stay: &BTreeSet<WorkspaceId>,
    (now, free): (Timestamp, u64),
) -> Option<(Weighed, Why)> {
    let mut may_go: Vec<&Weighed> =
        all.iter().filter(|weighed| !stay.contains(&weighed.workspace.id)).collect();
    may_go.sort_by_key(|weighed| weighed.used_at);
    let alone = may_go.iter().find_map(|weighed| Some((*weighed, limits.is_over(weighed, now)?)));
    let first = || Some((*may_go.first()?, limits.are_over(all, free)?));
    alone.or_else(first).map(|(weighed, why)| (weighed.clone(), why))
}

/// The limits that what is there exceeds.
#[must_use]
pub fn exceeded(limits: &Limits, all: &[Weighed], (now, free): (Timestamp, u64)) -> Vec<Why> {
    let mut found: Vec<Why> =
        all.iter().filter_map(|weighed| limits.is_over(weighed, now)).collect();
    found.extend(limits.are_over(all, free));
    found.sort_by_key(|why| why.key());
    found.dedup();
    found
}

/// Those among `all` that count for limits which are exceeded.
#[must_use]
pub fn counting(
    limits: &Limits,
    all: &[Weighed],
    exceeded: &[Why],
    now: Timestamp,
) -> Vec<WorkspaceId> {
    let is_of_all = exceeded.iter().any(|why| matches!(why, Why::MaxTotalSize | Why::MinFreeDisk));
    let counts = |weighed: &&Weighed| is_of_all || limits.is_over(weighed, now).is_some();
    all.iter().filter(counts).map(|weighed| weighed.workspace.id.clone()).collect()
}

impl Limits {
    /// Why one has to go, however much the others take. One that is in use is not old.
    fn is_over(&self, weighed: &Weighed, now: Timestamp) -> Option<Why> {
        let age = now.0.saturating_sub(weighed.used_at.0);
        let is_idle = weighed.workspace.state != State::InUse;
        if is_idle && self.max_age_ms.is_some_and(|most| age > most) {
            Some(Why::MaxAge)
        } else if self.max_size.is_some_and(|most| weighed.bytes > most) {
            Some(Why::MaxSize)
        } else {
            None
        }
    }

    /// Why some have to go, because all of them take too much.
    fn are_over(&self, all: &[Weighed], free: u64) -> Option<Why> {
        let total: u64 = all.iter().map(|weighed| weighed.bytes).sum();
        if self.max_total_size.is_some_and(|most| total > most) {
            Some(Why::MaxTotalSize)
        } else if self.min_free_disk.is_some_and(|least| free < least) {
            Some(Why::MinFreeDisk)
        } else {
            None
        }
    }
}

/// What is free on the file system of a folder, in bytes.
///
/// # Errors
/// It can't be looked at.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// What a folder takes on the disk, in bytes. A file with several names counts once.
fn disk_bytes(folder: &Path) -> io::Result<u64> {
    let (mut bytes, mut folders) = (0, vec![folder.to_owned()]);
    let mut seen = std::collections::HashSet::new();
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            // It is being written to.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let about = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                about => about?,
            };
            if about.nlink() == 1 || about.is_dir() || seen.insert(about.ino()) {
                bytes += about.blocks() * 512;
            }
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Kind;

    fn weighed(id: &str, bytes: u64, used_at: i64) -> Weighed {
        let workspace = Workspace {
            id: id.parse().unwrap(),
            kind: Kind::Worktree,
            state: State::Released,
            path: "/w".into(),
            repository: "/r".into(),
            repo_root: "/r".into(),
            branch: None,
            base: String::new(),
            is_branch_ours: true,
            is_adopted: false,
            nonce: uuid::Uuid::nil(),
            folder: None,
            run: None,
            was_there: false,
            owed: None,
            version: 1,
            created_at: Timestamp(0),
        };
        Weighed { workspace, bytes, used_at: Timestamp(used_at) }
    }

    /// Which have to go, one after the other, if all of them can.
    fn chosen(limits: &Limits, mut free: u64) -> Vec<(String, Why)> {
        let mut all = vec![weighed("new", 10, 90), weighed("old", 20, 10), weighed("mid", 70, 50)];
        let mut chosen = Vec::new();
        while let Some((gone, why)) = next(limits, &all, &BTreeSet::new(), (Timestamp(100), free)) {
            all.retain(|other| other.workspace.id != gone.workspace.id);
            free += gone.bytes;
            chosen.push((gone.workspace.id.to_string(), why));
        }
        chosen
    }

    #[test]
    fn what_stays_counts_and_the_next_one_goes_in_its_place() {
        let all = vec![weighed("new", 10, 90), weighed("old", 20, 10), weighed("mid", 70, 50)];
        let limits = Limits { max_total_size: Some(30), ..Limits::default() };
        let stay = BTreeSet::from(["old".parse().unwrap()]);
        let at = (Timestamp(100), 0);
        let (chosen, why) = next(&limits, &all, &stay, at).unwrap();
        assert_eq!((chosen.workspace.id.as_str(), why), ("mid", Why::MaxTotalSize));
        let stay = all.iter().map(|weighed| weighed.workspace.id.clone()).collect();
        assert_eq!(next(&limits, &all, &stay, at), None);
        assert_eq!(exceeded(&limits, &all, at), [Why::MaxTotalSize]);
        assert_eq!(exceeded(&limits, &all[..2], at), []);
        let both = Limits { max_size: Some(50), min_free_disk: Some(1), ..Limits::default() };
        assert_eq!(exceeded(&both, &all, at), [Why::MaxSize, Why::MinFreeDisk]);
    }

    #[test]
    fn without_limits_nothing_goes() {
        assert_eq!(chosen(&Limits::default(), 0), []);
    }

    #[test]
    fn each_limit_takes_the_longest_unused_first() {
        let is = |limits: Limits, free, wanted: &[(&str, Why)]| {
            let wanted: Vec<(String, Why)> =
                wanted.iter().map(|(id, why)| ((*id).to_owned(), *why)).collect();
            assert_eq!(chosen(&limits, free), wanted, "{limits:?}");
        };
        let none = Limits::default();
        is(Limits { max_size: Some(50), ..none }, 0, &[("mid", Why::MaxSize)]);
        is(Limits { max_age_ms: Some(60), ..none }, 0, &[("old", Why::MaxAge)]);
        is(Limits { max_total_size: Some(85), ..none }, 0, &[("old", Why::MaxTotalSize)]);
        let both = [("old", Why::MaxTotalSize), ("mid", Why::MaxTotalSize)];
        is(Limits { max_total_size: Some(10), ..none }, 0, &both);
        is(Limits { min_free_disk: Some(100), ..none }, 85, &[("old", Why::MinFreeDisk)]);
        is(Limits { min_free_disk: Some(100), ..none }, 100, &[]);
        // What goes for one reason is not counted again.
        let two = Limits { max_age_ms: Some(60), max_total_size: Some(80), ..none };
        is(two, 0, &[("old", Why::MaxAge)]);
    }
}
