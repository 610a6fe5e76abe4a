//! Ending an owner that hangs.
//!
//! An owner that lives keeps its runs, however long it says nothing. Whoever decides that it hangs ends its process
//! first: one that only slept would wake up and go on with what it had in mind. The process is the one that holds the
//! lock, which the kernel knows; what is written in the lock file is only a hint.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use agentos_core::id::OwnerId;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use thiserror::Error;

use super::lock;
use super::owner::Owners;

/// How long a killed process may take to be gone: it may have to write out what it had in memory.
const PATIENCE_MS: u32 = 10_000;
const LOOK_MS: u32 = 5;

/// What became of an owner that was to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerEnd {
    /// It was dead already.
    WasDead,
    /// Its process was killed, and is gone.
    Killed,
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
    let pid = holder(&path).ok_or(EndOwnerError::Unseen { owner })?;
    if pid == rustix::process::getpid() {
        return Err(EndOwnerError::Itself { owner });
    }
    let alive = |message: String| {
        let pid = pid.as_raw_nonzero().get();
        EndOwnerError::Alive { owner, pid, message }
    };
    // A descriptor stays with its process: should the pid be used again meanwhile, nobody else is hit.
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| alive(error.to_string()))?;
    if holder(&path) != Some(pid) {
        return if is_held(&path) {
            Err(EndOwnerError::Unseen { owner })
        } else {
            Ok(OwnerEnd::WasDead)
        };
    }
    pidfd_send_signal(&process, Signal::KILL).map_err(|error| alive(error.to_string()))?;
    for _ in 0..PATIENCE_MS / LOOK_MS {
        if !is_held(&path) {
            return Ok(OwnerEnd::Killed);
        }
        pause();
    }
    Err(alive("it was killed and still holds its lock".to_owned()))
}

fn is_held(path: &Path) -> bool {
    // What can't be looked at counts as held: nothing is taken away from somebody who may live.
    lock::is_held(path).unwrap_or(true)
}

/// The process that holds the lock of this file, as the kernel sees it.
fn holder(path: &Path) -> Option<Pid> {
    let inode = fs::metadata(path).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| holder_in(line, inode))
}

/// The holder named in a line like `5: FLOCK  ADVISORY  WRITE 8712 fe:00:4719 0 EOF`. Who waits has an arrow in his.
fn holder_in(line: &str, inode: u64) -> Option<Pid> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, _, mode) = (words.next()?, words.next()?, words.next()?);
    let (pid, place) = (words.next()?, words.next()?);
    let found = place.rsplit(':').next()?.parse::<u64>().ok()?;
    let is_holder = kind == "FLOCK" && mode == "WRITE" && found == inode;
    // Processes of other namespaces have the number 0 here.
    is_holder.then(|| pid.parse().ok().and_then(Pid::from_raw)).flatten()
}

fn pause() {
    let length = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_MS) * 1_000_000 };
    let _interrupted = rustix::thread::nanosleep(&length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_among_those_who_wait() {
        let pid = |line| holder_in(line, 4_719).map(|pid| pid.as_raw_nonzero().get());
        assert_eq!(pid("5: FLOCK  ADVISORY  WRITE 8712 fe:00:4719 0 EOF"), Some(8_712));
        assert_eq!(pid("5: -> FLOCK  ADVISORY  WRITE 8713 fe:00:4719 0 EOF"), None);
        assert_eq!(pid("5: FLOCK  ADVISORY  READ 8712 fe:00:4719 0 EOF"), None);
        assert_eq!(pid("5: FLOCK  ADVISORY  WRITE 0 fe:00:4719 0 EOF"), None);
        assert_eq!(pid("5: FLOCK  ADVISORY  WRITE 8712 fe:00:4720 0 EOF"), None);
        assert_eq!(pid("6: POSIX  ADVISORY  WRITE 8712 fe:00:4719 0 EOF"), None);
        assert_eq!(pid("nothing"), None);
    }
}
