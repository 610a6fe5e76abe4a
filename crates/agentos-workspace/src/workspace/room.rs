//! Whether there is room for one more workspace, asked before anything is made: a disk that is full in the middle costs
//! everybody who works on it.
//!
//! What a workspace takes is what its commit has: the sum of its files, in whole blocks, and one inode each. What is built
//! in it later nobody can know; `min_free_disk` is for that.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::isolation::{IsolationError, Site};
use super::plumbing::{Plumbing, Stand, parts};
use super::{Kind, Workspace};

/// What files take on most file systems, at least.
const BLOCK: u64 = 4_096;

/// With so much free nobody has to count.
const AMPLE_BYTES: u64 = 64 << 30;
const AMPLE_INODES: u64 = 4_000_000;

/// Why there is no room.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no room for the workspace in {}: it takes about {} and {} files, and {} and {} files are free{}; make room \
     (`agentos workspace gc`, `agentos workspace clean`), or name another folder with AI_WORKSPACES_ROOT",
    root.display(),
    Bytes(needed.0),
    needed.1,
    Bytes(free.0),
    free.1,
    least.map(|least| format!(", of which {} are to stay so (workspace.min_free_disk)", Bytes(least))).unwrap_or_default()
)]
pub struct NoRoom {
    /// The folder for workspaces.
    pub root: PathBuf,
    /// Bytes and inodes that it takes.
    pub needed: (u64, u64),
    /// Bytes and inodes that are free.
    pub free: (u64, u64),
    /// How much is to stay free.
    pub least: Option<u64>,
}

struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["kB", "MB", "GB", "TB"];
        let mut amount = self.0 as f64 / 1_000.0;
        let mut unit = 0;
        while amount >= 1_000.0 && unit + 1 < units.len() {
            amount /= 1_000.0;
            unit += 1;
        }
        write!(f, "{amount:.1} {}", units[unit])
    }
}

/// What is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Free {
    bytes: u64,
    /// File systems without a limit say that they have none at all.
    inodes: u64,
}

/// Looks whether there is room for a workspace that is about to be made.
///
/// # Errors
/// git can't be asked what it takes. The answer is inside: there is room, or there is none.
pub(super) fn check(
    site: &Site<'_>,
    root: &Path,
    workspace: &Workspace,
) -> Result<Result<(), NoRoom>, IsolationError> {
    let failed = |source: io::Error| IsolationError::Io {
        path: root.to_owned(),
        what: "can't be looked at",
        source,
    };
    let free = free(root).map_err(failed)?;
    let least = site.policy.min_free_disk;
    let left = free.bytes.saturating_sub(least.unwrap_or(0));
    if left >= AMPLE_BYTES && free.inodes >= AMPLE_INODES {
        return Ok(Ok(()));
    }
    let (bytes, inodes) = needed(site, root, workspace)?;
    if bytes <= left && inodes <= free.inodes {
        return Ok(Ok(()));
    }
    Ok(Err(no_room(root, (bytes, inodes), free, least)))
}

/// There was not as much room as it seemed.
pub(super) fn ran_out(site: &Site<'_>, root: &Path, workspace: &Workspace) -> Option<NoRoom> {
    let free = free(root).ok()?;
    let needed = needed(site, root, workspace).unwrap_or_default();
    Some(no_room(root, needed, free, site.policy.min_free_disk))
}

fn no_room(root: &Path, needed: (u64, u64), free: Free, least: Option<u64>) -> NoRoom {
    NoRoom { root: root.to_owned(), needed, free: (free.bytes, free.inodes), least }
}

/// What is free on the file system that a folder is or will be on.
fn free(folder: &Path) -> io::Result<Free> {
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let found = rustix::fs::statvfs(there)?;
    let inodes = if found.f_files == 0 { u64::MAX } else { found.f_favail };
    Ok(Free { bytes: found.f_bavail.saturating_mul(found.f_frsize), inodes })
}

/// The bytes and inodes of everything at its base.
fn needed(
    site: &Site<'_>,
    root: &Path,
    workspace: &Workspace,
) -> Result<(u64, u64), IsolationError> {
    let repository = &site.repository.checkout.repository;
    // The answer has a line for each file: porcelain calls take less than a large repository has.
    let listing = ["ls-tree", "-r", "-l", "-z", "--full-tree", &workspace.base];
    let listed = Plumbing(site.porcelain()).call(Stand::repository(repository), listing)?;
    let (mut bytes, mut inodes) = (0, 0);
    let mut folders = std::collections::BTreeSet::new();
    for entry in parts(&listed) {
        let text = String::from_utf8_lossy(entry);
        let Some((about, path)) = text.split_once('\t') else { continue };
        let size: u64 =
            about.split_whitespace().nth(3).and_then(|size| size.parse().ok()).unwrap_or(0);
        bytes += size.div_ceil(BLOCK).max(1) * BLOCK;
        inodes += 1;
        let mut path = path;
        while let Some((folder, _)) = path.rsplit_once('/')
            && folders.insert(folder.to_owned())
        {
            inodes += 1;
            bytes += BLOCK;
            path = folder;
        }
    }
    if workspace.kind == Kind::Clone && !is_same_file_system(repository, root) {
        bytes += objects(site)?;
    }
    Ok((bytes, inodes))
}

/// A clone elsewhere has its own copy of all objects.
fn objects(site: &Site<'_>) -> Result<u64, IsolationError> {
    let repository = &site.repository.checkout.repository;
    let git_dir = format!("--git-dir={}", repository.display());
    let told = site.porcelain().git(repository, [&git_dir, "count-objects", "-v"])?;
    let text = String::from_utf8_lossy(&told).into_owned();
    let of = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.and_then(|kibibytes| kibibytes.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    Ok((of("size") + of("size-pack")) << 10)
}

fn is_same_file_system(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| {
        let there = path.ancestors().find(|folder| folder.is_dir())?;
        there.metadata().ok().map(|found| found.dev())
    };
    device(one) == device(other)
}

/// Whether something failed because the disk is full.
#[must_use]
pub fn is_full_disk(message: &str) -> bool {
    // git says no more than the last when it can't write all of a file that it could make.
    let words = ["No space left on device", "Disk quota exceeded", "unable to write file "];
    words.iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_words() {
        let free = Free { bytes: 1_500, inodes: 3 };
        let told = no_room(Path::new("/w"), (12_345_678, 40), free, Some(1_000)).to_string();
        assert!(told.contains(
            "it takes about 12.3 MB and 40 files, and 1.5 kB and 3 files are free, of which 1.0 kB"
        ));
    }
}
