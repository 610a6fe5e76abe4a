//! Whether a process has been killed and is still there.
//!
//! A killed process keeps its file locks until the kernel has run it for the last time, which takes long on a busy machine. The
//! holder of a lock that is ending does nothing any more; its lock is free soon.

use std::fmt;
use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::processes::Process;

/// The flag of `/proc/PID/stat` by which the kernel marks a process that exits (`PF_EXITING`).
const EXITING: u64 = 0x4;

/// SIGKILL in the sets of pending signals of `/proc/PID/status`.
const KILL_BIT: u64 = 1 << (9 - 1);

/// A process, for a file that others read: its number, and the namespace in which that is its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessMark {
    pid: i32,
    namespace: String,
}

impl ProcessMark {
    /// This process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self { pid: i32::try_from(std::process::id()).unwrap_or(0), namespace: namespace() }
    }

    /// Reads what [`Display`](fmt::Display) has written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (pid, namespace) = text.trim().split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, namespace: namespace.to_owned() })
    }

    /// Whether the process exits, has exited, or has been sent SIGKILL. False for a process of another container.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.namespace == namespace() && is_ending(self.pid)
    }
}

impl fmt::Display for ProcessMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.namespace)
    }
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid");
    link.map_or_else(|_| String::new(), |link| link.to_string_lossy().into_owned())
}

/// Whether the process of this number, of this container, exits, has exited, or has been sent SIGKILL. False where that can't be
/// seen.
#[must_use]
pub fn is_ending(pid: i32) -> bool {
    match Process::load(pid) {
        Some(process) => process.is_zombie || is_exiting(pid) || has_been_killed(pid),
        // Processes of other users may be hidden.
        None => Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH)),
    }
}

fn is_exiting(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let flags =
        stat.rsplit_once(") ").and_then(|(_, fields)| fields.split(' ').nth(6)?.parse().ok());
    flags.is_some_and(|flags: u64| flags & EXITING != 0)
}

fn has_been_killed(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().filter_map(|line| {
        let set = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(set.trim(), 16).ok()
    });
    pending.into_iter().any(|set| set & KILL_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_ending() {
        let mark = ProcessMark::of_this_process();
        assert!(!mark.is_ending());
        assert_eq!(ProcessMark::parse(&format!("{mark}\n")), Some(mark));
        assert_eq!(ProcessMark::parse("7"), None);
    }

    #[test]
    fn a_process_of_another_container_is_not_ending() {
        let there = ProcessMark { pid: i32::MAX, namespace: "pid:[1]".to_owned() };
        assert!(!there.is_ending());
        assert!(ProcessMark { namespace: namespace(), ..there }.is_ending());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test waits for what it has started")]
    fn a_killed_process_is_ending_before_its_parent_has_asked_for_it() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(!is_ending(pid));
        child.kill().unwrap();
        assert!(is_ending(pid));
        child.wait().unwrap();
        assert!(is_ending(pid));
    }
}
