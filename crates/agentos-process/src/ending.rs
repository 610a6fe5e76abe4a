//! Whether a process has been killed and is still there.
//!
//! A killed process keeps its file locks until the kernel has run it for the last time, which takes long on a busy machine. The
//! holder of a lock that is ending does nothing any more; its lock is free soon.

use std::fs;

use crate::processes::Process;

/// The flag of `/proc/PID/stat` by which the kernel marks a process that exits (`PF_EXITING`).
const EXITING: u64 = 0x4;

/// SIGKILL in the sets of pending signals of `/proc/PID/status`.
const KILL_BIT: u64 = 1 << (9 - 1);

/// Whether the process of this number exits, has exited, or has been sent SIGKILL. False where that can't be seen.
#[must_use]
pub fn is_ending(pid: i32) -> bool {
    if !fs::exists("/proc/self/stat").unwrap_or(false) {
        return false;
    }
    match Process::load(pid) {
        None => true,
        Some(process) => process.is_zombie || is_exiting(pid) || has_been_killed(pid),
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
        assert!(!is_ending(i32::try_from(std::process::id()).unwrap()));
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
