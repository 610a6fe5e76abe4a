//! Buries whatever dies below the supervisor, and knows when nothing is left.
//!
//! The system tells a process only of its own children. But whatever loses its parents becomes our child, so as long as
//! anything lives there is a child, and "no child" is the proof that nothing is left.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, wait};

use crate::bounds::KILL_ROUND;
use crate::clock::pause;
use crate::processes::signal_below;

/// Those who died.
#[derive(Debug)]
pub(super) struct Reaper {
    child: Option<Pid>,
    /// Becomes readable when the command itself has ended.
    exit: Option<OwnedFd>,
    status: Option<WaitStatus>,
    is_empty: bool,
}

impl Reaper {
    pub(super) fn new(child: u32) -> Self {
        let child = i32::try_from(child).ok().and_then(Pid::from_raw);
        let exit = child.and_then(|child| pidfd_open(child, PidfdFlags::empty()).ok());
        Self { child, exit, status: None, is_empty: false }
    }

    /// Becomes readable when the command itself has ended; where the system can't tell, one has to look.
    pub(super) fn exit(&self) -> Option<BorrowedFd<'_>> {
        self.exit.as_ref().map(|exit| exit.as_fd())
    }

    /// How the command itself ended, once it did.
    pub(super) const fn status(&self) -> Option<WaitStatus> {
        self.status
    }

    /// Whether nothing was left the last time that the dead were buried.
    pub(super) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Buries all who are dead.
    pub(super) fn bury(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.child => {
                    self.status = Some(status);
                    self.exit = None;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return,
                Err(_) => {
                    self.is_empty = true;
                    return;
                }
            }
        }
    }
}

/// Kills everything below this process and buries it.
pub(super) fn end_everything() {
    while !matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD)) {
        let _killed = signal_below(getpid().as_raw_nonzero().get(), &[Signal::KILL]);
        pause(KILL_ROUND);
    }
}
