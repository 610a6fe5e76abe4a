//! Ending an owner that hangs.
//!
//! An owner that lives keeps its runs, however long it says nothing. Whoever decides that it hangs ends its process
//! first: one that only slept would wake up and go on with what it had in mind. The process is the one that holds the
//! lock, which the kernel knows, and it has to be the one that has written itself into the lock file, if both are numbers
//! of one namespace. Where the two do not agree nobody is killed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use agentos_core::id::OwnerId;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::lock;
use super::owner::Owners;

/// How long a killed process may take to be gone: it may have to write out what it had in memory.
const TIMEOUT_MS: u32 = 10_000;
const LOOK_MS: u32 = 5;

/// How often the list of locks is read before somebody is taken to be missing in it.
const LOOKS: u32 = 20;

/// How often it is read before a file counts as one that no process has open.
const POSIX_LOOKS: u32 = 3;

/// What became of an owner that was to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerEnd {
    /// It was dead already.
    WasDead,
    /// Its process was killed, and is gone.
    Killed,
}

/// Whether an owner lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerLife {
    /// It does not: its runs are free.
    Dead,
    /// It does.
    Alive {
        /// Its process; none if that can't be seen from here.
        pid: Option<i32>,
    },
}

/// Why an owner could not be ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EndOwnerError {
    /// It is this very process.
    #[error("{owner} is this process itself")]
    Itself {
        /// The owner.
        owner: OwnerId,
    },
    /// It lives, but the kernel does not tell who it is: it is in another container, or this system has no `/proc`.
    #[error("{owner} lives, but its process can't be seen from here; end it where it runs")]
    Unseen {
        /// The owner.
        owner: OwnerId,
    },
    /// It may not be killed, or does not die.
    #[error("{owner} (process {pid}) could not be ended: {message}")]
    Alive {
        /// The owner.
        owner: OwnerId,
        /// Its process.
        pid: i32,
        /// Why.
        message: String,
    },
}

/// Kills the process that holds this owner's lock, and waits until it is gone.
pub(super) fn end_owner(owners: &Owners, owner: OwnerId) -> Result<OwnerEnd, EndOwnerError> {
    let path = owners.lock_file(owner);
    if !is_held(&path) {
        return Ok(OwnerEnd::WasDead);
    }
    let pid = find_holder(&path).ok_or(EndOwnerError::Unseen { owner })?;
    if pid == rustix::process::getpid() {
        return Err(EndOwnerError::Itself { owner });
    }
    let alive = |message: String| {
        let pid = pid.as_raw_nonzero().get();
        EndOwnerError::Alive { owner, pid, message }
    };
    // A descriptor stays with its process: should the pid be used again meanwhile, nobody else is hit.
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| alive(error.to_string()))?;
    if find_holder(&path) != Some(pid) {
        return if is_held(&path) {
            Err(EndOwnerError::Unseen { owner })
        } else {
            Ok(OwnerEnd::WasDead)
        };
    }
    pidfd_send_signal(&process, Signal::KILL).map_err(|error| alive(error.to_string()))?;
    for _ in 0..TIMEOUT_MS / LOOK_MS {
        if !is_held(&path) {
            return Ok(OwnerEnd::Killed);
        }
        pause();
    }
    Err(alive("it was killed and still holds its lock".to_owned()))
}

/// Whether an owner lives, and as which process, if that can be seen from here.
pub(super) fn owner_life(owners: &Owners, owner: OwnerId) -> OwnerLife {
    let path = owners.lock_file(owner);
    if !is_held(&path) {
        return OwnerLife::Dead;
    }
    OwnerLife::Alive { pid: find_holder(&path).map(|pid| pid.as_raw_nonzero().get()) }
}

fn is_held(path: &Path) -> bool {
    // What can't be looked at counts as held: nothing is taken away from somebody who may live.
    lock::is_held(path).unwrap_or(true)
}

/// What an owner has written into its lock file about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    pid: i32,
    /// The namespace in which that is its number.
    #[serde(default)]
    namespace: Option<String>,
}

impl Said {
    pub(super) fn of_this_process() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        let namespace = namespace.map(|name| name.to_string_lossy().into_owned());
        Self { pid, namespace }
    }

    pub(super) fn text(&self) -> String {
        // Numbers and names can't fail to be written; whoever reads nothing here is more careful.
        serde_json::to_string(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// Whether the process that the kernel sees may be the one that has written this. In another namespace it has another
    /// number, which says nothing.
    fn agrees_with(&self, pid: Pid, here: Option<&str>) -> bool {
        let is_elsewhere = self.namespace.is_some() && self.namespace.as_deref() != here;
        is_elsewhere || self.pid == pid.as_raw_nonzero().get()
    }
}

/// A file as `/proc/locks` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    major: u32,
    minor: u32,
    inode: u64,
}

impl Place {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
        Some(Self { major, minor, inode: found.ino() })
    }
}

/// The kernel gives out the list of locks in parts. While other locks come and go, one may be left out between two of them.
fn find_holder(path: &Path) -> Option<Pid> {
    for _ in 0..LOOKS {
        let found = holder(path);
        if found.is_some() || !is_held(path) {
            return found;
        }
        pause();
    }
    None
}

/// The process that holds the lock of this file, as the kernel sees it, if that is who has written into it.
fn holder(path: &Path) -> Option<Pid> {
    let place = Place::of(path)?;
    let said: Said = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let pid = locks.lines().find_map(|line| holder_in(line, place))?;
    let here = Said::of_this_process().namespace;
    said.agrees_with(pid, here.as_deref()).then_some(pid)
}

/// Whether any process that is seen here holds a POSIX lock on the file, as SQLite does. The kernel gives out the list in parts,
/// and one may be left out between two of them, so it is read more than once.
pub(super) fn has_posix_lock(path: &Path) -> bool {
    let Some(place) = Place::of(path) else { return false };
    let is_locked = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some("POSIX") && words.nth(3).and_then(place_of) == Some(place)
    };
    (0..POSIX_LOOKS).any(|_| {
        // Where the system does not tell, the file counts as locked.
        fs::read_to_string("/proc/locks").map_or(true, |locks| locks.lines().any(is_locked))
    })
}

/// The holder named in a line like `5: FLOCK  ADVISORY  WRITE 8712 fe:00:4719 0 EOF`. Who waits has an arrow in his.
fn holder_in(line: &str, place: Place) -> Option<Pid> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, _, mode) = (words.next()?, words.next()?, words.next()?);
    let (pid, found) = (words.next()?, words.next()?);
    let is_holder = kind == "FLOCK" && mode == "WRITE" && place_of(found)? == place;
    // Processes of other namespaces have the number 0 here.
    is_holder.then(|| pid.parse().ok().and_then(Pid::from_raw)).flatten()
}

/// Reads a place like `fe:00:4719`: a device in two hexadecimal numbers, and an inode. The same inode number is given out
/// again on every device.
fn place_of(text: &str) -> Option<Place> {
    let mut parts = text.split(':');
    let major = u32::from_str_radix(parts.next()?, 16).ok()?;
    let minor = u32::from_str_radix(parts.next()?, 16).ok()?;
    let inode = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some(Place { major, minor, inode })
}

fn pause() {
    let length = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_MS) * 1_000_000 };
    let _interrupted = rustix::thread::nanosleep(&length);
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_among_those_who_wait() {
        let place = Place { major: 0xfe, minor: 0x1a, inode: 4_719 };
        let pid = |line| holder_in(line, place).map(|pid| pid.as_raw_nonzero().get());
        assert_eq!(pid("5: FLOCK  ADVISORY  WRITE 8712 fe:1a:4719 0 EOF"), Some(8_712));
        assert_eq!(pid("5: -> FLOCK  ADVISORY  WRITE 8713 fe:1a:4719 0 EOF"), None);
        assert_eq!(pid("5: FLOCK  ADVISORY  READ 8712 fe:1a:4719 0 EOF"), None);
        assert_eq!(pid("5: FLOCK  ADVISORY  WRITE 0 fe:1a:4719 0 EOF"), None);
        assert_eq!(pid("5: FLOCK  ADVISORY  WRITE 8712 fe:1a:4720 0 EOF"), None);
        assert_eq!(pid("6: POSIX  ADVISORY  WRITE 8712 fe:1a:4719 0 EOF"), None);
        assert_eq!(pid("nothing"), None);
    }

    #[test]
    fn a_file_of_the_same_number_on_another_device_is_another_file() {
        let place = Place { major: 0, minor: 0x2b, inode: 7 };
        let pid = |line| holder_in(line, place).map(|pid| pid.as_raw_nonzero().get());
        assert_eq!(pid("1: FLOCK  ADVISORY  WRITE 1 00:2c:7 0 EOF"), None);
        assert_eq!(pid("1: FLOCK  ADVISORY  WRITE 1 01:2b:7 0 EOF"), None);
        assert_eq!(pid("1: FLOCK  ADVISORY  WRITE 1 7 0 EOF"), None);
        assert_eq!(pid("1: FLOCK  ADVISORY  WRITE 2 00:2b:7 0 EOF"), Some(2));
    }

    #[test]
    fn whoever_is_not_who_has_written_himself_into_the_lock_is_not_the_owner() {
        let (pid, other) = (Pid::from_raw(7).unwrap(), Pid::from_raw(8).unwrap());
        let said = Said { pid: 7, namespace: Some("pid:[1]".into()) };
        assert!(
            said.agrees_with(pid, Some("pid:[1]")) && !said.agrees_with(other, Some("pid:[1]"))
        );
        assert!(said.agrees_with(other, Some("pid:[2]")), "another namespace has other numbers");
        let said: Said = serde_json::from_str("{\"pid\":7}").unwrap();
        assert!(
            said.agrees_with(pid, Some("pid:[1]")) && !said.agrees_with(other, Some("pid:[1]"))
        );
    }

    #[test]
    fn nobody_ends_himself_or_somebody_else_in_place_of_an_owner() {
        let folder = tempfile::tempdir().unwrap();
        let owners = Owners::new(folder.path().join("owners"));
        let id = OwnerId(Uuid::from_u128(7));
        assert_eq!(end_owner(&owners, id), Ok(OwnerEnd::WasDead));
        assert_eq!(owner_life(&owners, id), OwnerLife::Dead);
        let owner = owners.enlist(id).unwrap();
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        assert_eq!(owner_life(&owners, id), OwnerLife::Alive { pid: Some(pid) });
        assert_eq!(end_owner(&owners, id), Err(EndOwnerError::Itself { owner: id }));
        // Now it looks as if another process had made the lock that this one holds.
        let other = Said { pid: 1, ..Said::of_this_process() };
        fs::write(owners.lock_file(id), other.text()).unwrap();
        assert_eq!(end_owner(&owners, id), Err(EndOwnerError::Unseen { owner: id }));
        drop(owner);
        assert_eq!(end_owner(&owners, id), Ok(OwnerEnd::WasDead));
    }
}
