//! Lock files of git whose writer is dead.
//!
//! A git that is killed leaves `….lock` files behind, and from then on every git that needs one of them fails. Age proves
//! nothing: a git may hold a lock for as long as its hook runs. What proves it is this: **every process that could have
//! written the lock has ended, and the lock is still the same file.** A git that was started after the lock was first seen
//! did not write it, so it does not matter how many come and go meanwhile; and one that only reads holds no lock.
//!
//! Where not every process that can work on the repository is seen (a container that shares the checkout, a network file
//! system), nothing is proven: such a lock stays, and is told of. A lock is a problem unless a process is seen that may hold it.
//!
//! Removing takes a lock of our own. Otherwise two processes could find the same lock, one remove it, a new git make another
//! one, and the second process remove that.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use agentos_process::at_work::{AtWork, sees_all_in};
use agentos_process::clock::{Moment, moment, pause, time_of_day};
use agentos_process::tool::Answer;
use serde::Serialize;

use crate::files::{self, FileError};
use crate::identity::{folder_of, private_of};
use crate::version_control::bounds::{LOCK_LOOK, LOCK_TIMEOUT};
use crate::workspace::marker::Marker;
use crate::workspace::rescue::private_folders;

/// How long a lock has to stay the same file before it counts as left behind: a program that is not called `git` has it for
/// much less.
pub(crate) const STILL: Duration = Duration::from_millis(500);

/// How old a lock is that is told of although its writer may live.
const STAYS: Duration = Duration::from_secs(60);

/// The programs that take locks in a git directory.
const PROGRAMS: [&str; 2] = ["git", "jj"];

/// The names below `refs` that only AgentOS gives: their locks are its own, or those of a clean-up by the user's git.
pub(crate) const OWN_REFS: [&str; 2] = ["refs/agentos", "refs/heads/agentos"];

/// The lock that git did not get, if that is why it failed.
pub(crate) fn held_lock(answer: &Answer) -> Option<PathBuf> {
    if answer.is_success() {
        return None;
    }
    let said = answer.complaint_text();
    let (_, rest) = said.split_once("Unable to create '")?;
    let (lock, rest) = rest.split_once("': ")?;
    (lock.ends_with(".lock") && rest.starts_with("File exists")).then(|| lock.into())
}

/// What tells a file from every other one, and from itself after a change.
pub(crate) type Identity = (u64, i64, i64, u64);

/// What is at a path; none if there is nothing.
pub(crate) fn identity(path: &Path) -> io::Result<Option<Identity>> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(Some((about.ino(), about.mtime(), about.mtime_nsec(), about.size()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A lock that is looked at until its writer is known to be dead, or it is gone.
#[derive(Debug)]
pub(crate) struct WatchedLock {
    path: PathBuf,
    identity: Identity,
    git_dir: PathBuf,
    /// The processes that were at work on the repository when the lock was first seen.
    suspects: AtWork,
    /// Whether there can be no others.
    are_all: bool,
    since: Moment,
}

impl WatchedLock {
    /// Looks at a lock for the first time. None if it is gone.
    pub(crate) fn new(path: &Path) -> io::Result<Option<Self>> {
        let Some(identity) = identity(path)? else { return Ok(None) };
        let Some(folder) = path.parent() else { return Ok(None) };
        // That of an index of our own may be in no git directory; whoever writes it names it.
        let git_dir = git_dir_around(folder).unwrap_or_else(|| folder.to_owned());
        // Looked for after the lock was: whoever has written it is among them, or dead.
        let suspects = AtWork::look(&PROGRAMS, &places_of(&git_dir))?;
        // A folder that goes with the last lock in it proves nothing.
        let are_all = sees_all_in(folder).unwrap_or(false);
        let path = path.to_owned();
        Ok(Some(Self { path, identity, git_dir, suspects, are_all, since: moment() }))
    }

    /// Whether this is about the lock that is at this path now.
    pub(crate) fn is_about(&self, path: &Path) -> bool {
        self.path == path && identity(path).is_ok_and(|found| found == Some(self.identity))
    }

    /// Whether its writer is dead: everybody who could have written it has ended, and it is still there.
    pub(crate) fn is_stale(&self) -> bool {
        moment().saturating_sub(self.since) >= STILL
            && self.are_all
            && self.suspects.has_ended()
            && self.is_about(&self.path)
    }

    /// What is known of its process.
    fn found(&self) -> FoundLock {
        // Asked for first: where no other process can hold it, one that has ended since is dead for `is_stale` too.
        let holders: Vec<i32> = self.suspects.alive().collect();
        let kind = if self.is_stale() {
            LockKind::StaleLock
        } else if holders.is_empty() && !self.are_all {
            LockKind::UnseenLock
        } else {
            LockKind::HeldLock
        };
        FoundLock { kind, path: self.path.clone(), holders }
    }

    /// Removes it if its writer is dead; whether it did.
    pub(crate) fn remove_if_stale(&self) -> Result<bool, FileError> {
        if !self.is_stale() {
            return Ok(false);
        }
        // Not the folder's own lock: that is held by some who call git.
        let folder = folder_of(&self.git_dir);
        files::make_folder(&folder)?;
        let path = folder.join("stale.lock");
        let alone = File::create(&path).map_err(FileError::io(&path, "can't be made"))?;
        alone.lock().map_err(FileError::io(&path, "can't be locked"))?;
        if !self.is_about(&self.path) {
            return Ok(false);
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FileError::io(&self.path, "can't be removed")(error))
            }
            _ => Ok(true),
        }
    }
}

/// What is known of the process that wrote a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockKind {
    /// It is dead, so the lock can be removed.
    StaleLock,
    /// A process that may have written it is at work.
    HeldLock,
    /// It can't be seen from here: it may be at work in another container, or on another machine.
    UnseenLock,
}

/// A lock that was found in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundLock {
    /// What is known of its process.
    pub kind: LockKind,
    /// Where it is.
    pub path: PathBuf,
    /// The processes that are seen of which one may hold it.
    pub holders: Vec<i32>,
}

impl FoundLock {
    /// Whether its process is dead, so that it can be removed.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.kind == LockKind::StaleLock
    }

    /// Whether it goes by itself, as far as can be seen: when the process that may hold it is done.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.kind == LockKind::HeldLock
    }
}

impl fmt::Display for FoundLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        let pids: Vec<String> = self.holders.iter().map(ToString::to_string).collect();
        match self.kind {
            LockKind::StaleLock => write!(f, "{path} is the lock of a git that died"),
            LockKind::HeldLock if pids.is_empty() => {
                write!(f, "{path} is a lock of git, and another process has just changed it")
            }
            LockKind::HeldLock => write!(
                f,
                "{path} is a lock of git that stays; it may belong to a git that is at work: process {}",
                pids.join(", ")
            ),
            LockKind::UnseenLock => write!(
                f,
                "{path} is a lock of git that stays; whether its git lives can't be seen from here, because another container or \
                 machine may share the repository; remove it if no git is at work there"
            ),
        }
    }
}

/// Looks once more at the lock that is in the way of a call, and removes it if its writer is dead. `watched` is what was seen
/// of it before.
pub(crate) fn look_again(lock: &Path, watched: &mut Option<WatchedLock>) -> Result<(), FileError> {
    match watched.as_ref().filter(|watched| watched.is_about(lock)) {
        Some(watched) => drop(watched.remove_if_stale()?),
        None => {
            let looked = WatchedLock::new(lock);
            *watched = looked.map_err(FileError::io(lock, "can't be looked at"))?;
        }
    }
    Ok(())
}

/// The locks in a repository that dead processes have left on what AgentOS needs, and those that have stayed for a minute: on its
/// own refs, the list of packed refs, and the index, `HEAD` and branch of its workspaces. All of them are looked at for half a
/// second together; without any, that takes no time.
#[must_use]
pub fn find(repository: &Path) -> Vec<FoundLock> {
    let mut found = vec![repository.join("packed-refs.lock")];
    for name in OWN_REFS {
        collect(&repository.join(name), &mut found);
    }
    for private in private_folders(repository) {
        if is_of_workspace(&private) {
            found.extend(locks_of(&private, repository));
        }
    }
    found.sort_unstable();
    found.dedup();
    let told = watch(found).into_iter().filter_map(|lock| {
        let found = lock.found();
        let stays = || lock.is_about(&lock.path) && age_of(&lock.path) >= STAYS;
        (found.is_stale() || stays()).then_some(found)
    });
    told.collect()
}

/// The locks on the index, `HEAD` and branch of the checkout at this root, and on the packed refs, that stay because it can't be seen
/// whether their gits live: a program that has failed there may have needed one, and would fail again. Without any lock this takes
/// no time.
#[must_use]
pub fn find_unseen_in(root: &Path) -> Vec<FoundLock> {
    let Some(private) = private_of(root) else { return Vec::new() };
    let watched = watch(locks_before(&private));
    let found = watched.iter().filter(|lock| lock.is_about(&lock.path)).map(WatchedLock::found);
    found.filter(|lock| lock.kind == LockKind::UnseenLock).collect()
}

/// What is known of a lock that git did not get.
pub(crate) fn examine(lock: &Path) -> FoundLock {
    let found = watch([lock.to_owned()]).first().map(WatchedLock::found);
    let gone =
        || FoundLock { kind: LockKind::HeldLock, path: lock.to_owned(), holders: Vec::new() };
    found.unwrap_or_else(gone)
}

/// Removes the locks that dead gits have left on the index, `HEAD` and branch of the checkout at this root, and on the packed refs,
/// before a program begins there. If it is executed `again`, a git of the run may have left them: then also those of the user's
/// own checkout are removed, and gits that could have written one are waited for. Without any lock this takes no time.
///
/// # Errors
/// [`FileError`]
pub fn remove_left_in(root: &Path, again: bool) -> Result<(), FileError> {
    let Some(private) = private_of(root).filter(|private| again || is_of_workspace(private)) else {
        return Ok(());
    };
    let (begun, locks) = (moment(), watch(locks_before(&private)));
    for lock in &locks {
        let can_be_proven = || again && lock.are_all && lock.is_about(&lock.path);
        while !lock.remove_if_stale()? && can_be_proven() && moment() - begun < LOCK_TIMEOUT {
            pause(LOCK_LOOK);
        }
    }
    Ok(())
}

/// Whether this is the private folder of a workspace.
fn is_of_workspace(private: &Path) -> bool {
    matches!(Marker::load(private), Ok(Some(_)))
}

/// Where a checkout's own locks are, and that of its branch. They need not be there.
fn locks_of(private: &Path, common: &Path) -> impl Iterator<Item = PathBuf> {
    let head = fs::read_to_string(private.join("HEAD")).unwrap_or_default();
    let branch = head.strip_prefix("ref: ").map(|name| format!("{}.lock", name.trim_end()));
    let own = ["index.lock", "HEAD.lock"].map(|name| private.join(name));
    own.into_iter().chain(branch.map(|branch| common.join(branch)))
}

/// Where the locks may be that a program needs which works in this checkout.
fn locks_before(private: &Path) -> Vec<PathBuf> {
    let common = common_of(private);
    locks_of(private, &common).chain([common.join("packed-refs.lock")]).collect()
}

/// Looks at those of these locks that are there, for as long as it takes to know which are stale.
fn watch(paths: impl IntoIterator<Item = PathBuf>) -> Vec<WatchedLock> {
    let seen = paths.into_iter().filter_map(|path| WatchedLock::new(&path).ok().flatten());
    let watched: Vec<WatchedLock> = seen.collect();
    if !watched.is_empty() {
        pause(STILL);
    }
    watched
}

/// How long ago a file was written, by the wall clock: for people, and no proof.
fn age_of(path: &Path) -> Duration {
    let written = fs::metadata(path).and_then(|about| about.modified()).ok();
    let written = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    time_of_day().saturating_sub(written)
}

/// Removes a lock whose writer is dead; whether it did.
///
/// # Errors
/// [`FileError`]
pub fn remove(path: &Path) -> Result<bool, FileError> {
    let found = WatchedLock::new(path).map_err(FileError::io(path, "can't be looked at"))?;
    let Some(lock) = found else { return Ok(false) };
    pause(STILL);
    lock.remove_if_stale()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, is_folder) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
        if is_folder {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "lock") {
            found.push(path);
        }
    }
}

/// The git directory that a folder is, or is in.
fn git_dir_around(folder: &Path) -> Option<PathBuf> {
    let is_git_dir = |folder: &&Path| {
        let has = |name: &str| folder.join(name).exists();
        has("HEAD") && (has("objects") || has("commondir"))
    };
    folder.ancestors().find(is_git_dir).map(Path::to_owned)
}

/// The git directory that a worktree's own one shares with the others.
fn common_of(git_dir: &Path) -> PathBuf {
    let common = fs::read_to_string(git_dir.join("commondir"));
    let common = common.map_or_else(|_| git_dir.to_owned(), |told| git_dir.join(told.trim_end()));
    common.canonicalize().unwrap_or(common)
}

/// The folders that a process which works on a repository stands in or names: its git directory and all of its worktrees.
fn places_of(git_dir: &Path) -> Vec<PathBuf> {
    let common = common_of(git_dir);
    let mut places = vec![common.clone()];
    if common.file_name().is_some_and(|name| name == ".git") {
        places.extend(common.parent().map(Path::to_owned));
    }
    let config = fs::read_to_string(common.join("config")).unwrap_or_default();
    let elsewhere = config.lines().find_map(|line| line.trim().strip_prefix("worktree = "));
    places.extend(elsewhere.map(|root| common.join(root)));
    for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
        let link = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
        places.extend(entry.path().join(link.trim_end()).parent().map(Path::to_owned));
    }
    places
}
