//! The processes of this machine, as `/proc` shows them.
//!
//! A process is known by its number and the moment at which it began: numbers are used again. A signal goes to exactly
//! the process that was seen, through a descriptor that stands for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use crate::bounds::{EXEC_ROUND, EXEC_WAIT};
use crate::clock::{moment, pause};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// When it began, in ticks since the machine started.
    pub(crate) since_ticks: u64,
    /// It has ended, and its parent has not asked how.
    pub(crate) is_zombie: bool,
    /// It has memory of its own; threads of the kernel have none.
    pub(crate) has_memory: bool,
}

impl Process {
    /// The process of this number, if there is one.
    pub(crate) fn load(pid: i32) -> Option<Self> {
        parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Its environment as it was when it began, if we may see it.
    ///
    /// While a process is replaced by another program (`execve`), its environment reads as empty for a moment. Such a process is
    /// waited for: without its environment it would not be recognised.
    pub(crate) fn environment(&self) -> Vec<u8> {
        let begun = moment();
        loop {
            let Ok(found) = self.read("environ") else { return Vec::new() };
            let is_empty = !self.has_memory || self.is_zombie || has_no_environment(self.pid);
            if !found.is_empty() || is_empty || moment() - begun > EXEC_WAIT {
                return found;
            }
            pause(EXEC_ROUND);
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(format!("/proc/{}/{name}", self.pid))
    }

    /// Sends it signals, if it still is the process that was seen. Whether it was.
    pub(crate) fn signal(&self, signals: &[Signal]) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        let descriptor: Option<OwnedFd> = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => Some(descriptor),
            // An old kernel has none; then the number has to do.
            Err(rustix::io::Errno::NOSYS) => None,
            Err(_) => return false,
        };
        // The descriptor may stand for a process that took over the number after we looked.
        if Self::load(self.pid).is_none_or(|now| now.since_ticks != self.since_ticks) {
            return false;
        }
        let send = |signal: &&Signal| match &descriptor {
            Some(descriptor) => pidfd_send_signal(descriptor, **signal).is_ok(),
            None => kill_process(pid, **signal).is_ok(),
        };
        // The first may have ended it before the second.
        signals.iter().filter(send).count() > 0
    }
}

/// All processes that we can see, by number.
pub(crate) fn load_all() -> io::Result<BTreeMap<i32, Process>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // It may be gone by now.
        found.extend(Process::load(pid).map(|process| (pid, process)));
    }
    Ok(found)
}

/// Whether a process of this group is alive. Where processes can't be listed, none is.
pub(crate) fn is_group_alive(group: i32) -> bool {
    let is_member = |process: &Process| process.group == group && !process.is_zombie;
    load_all().is_ok_and(|all| all.values().any(is_member))
}

/// Everything below these processes, themselves not included unless they are below each other.
pub(crate) fn below(all: &BTreeMap<i32, Process>, tops: &BTreeSet<i32>) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in all.values() {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = BTreeSet::new();
    let mut waiting: Vec<i32> = tops.iter().copied().collect();
    while let Some(pid) = waiting.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                waiting.push(*child);
            }
        }
    }
    found
}

/// Sends signals to everything alive below this process. How many there were.
pub(crate) fn signal_below(top: i32, signals: &[Signal]) -> io::Result<u32> {
    let all = load_all()?;
    let below = below(&all, &BTreeSet::from([top]));
    let alive = below.iter().filter_map(|pid| all.get(pid)).filter(|process| !process.is_zombie);
    Ok(alive.map(|process| u32::from(process.signal(signals))).sum())
}

/// Whether a process has no environment, or none any more, rather than none yet.
fn has_no_environment(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // One that is gone, or exits, has no memory.
    memory_of(&stat).is_none_or(|memory| memory.is_empty())
}

/// Where a program has its code and its environment. The kernel sets the first after it has copied the second.
struct Memory {
    code: u64,
    environment: Range<u64>,
}

impl Memory {
    fn is_empty(&self) -> bool {
        self.code != 0 && self.environment.is_empty()
    }
}

fn memory_of(stat: &str) -> Option<Memory> {
    let mut fields = stat.rsplit_once(") ")?.1.split_ascii_whitespace().skip(20);
    let mut next = |skipped| fields.nth(skipped)?.parse::<u64>().ok();
    let size = next(0)?;
    let (code, start, end) = (next(2)?, next(23)?, next(0)?);
    (size > 0).then_some(Memory { code, environment: start..end })
}

/// `pid (name) state parent group session …`; the name may have any bytes in it, so what counts begins behind its end.
fn parse(pid: i32, text: &str) -> Option<Process> {
    let mut fields = text.rsplit_once(") ")?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let since_ticks = fields.nth(15)?.parse().ok()?;
    let has_memory = fields.next()? != "0";
    let is_zombie = matches!(state, "Z" | "X");
    Some(Process { pid, parent, group, session, since_ticks, is_zombie, has_memory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_confuse() {
        let text = "7 (a) b) S 3 5 6 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 10";
        let found = parse(7, text).unwrap();
        assert_eq!((found.pid, found.parent, found.group, found.session), (7, 3, 5, 6));
        assert_eq!((found.since_ticks, found.is_zombie, found.has_memory), (4242, false, true));
        assert!(!parse(7, &text.replace("4242 9", "4242 0")).unwrap().has_memory);
        assert_eq!(parse(7, "7 (a"), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test waits for what it has started")]
    fn the_environment_of_a_process_that_becomes_another_program_is_seen() {
        // It replaces itself again and again, so that many looks meet it in the middle. The kernel copies the arguments before
        // the environment, and many variables take it long.
        let script = "[ $1 -gt 0 ] && exec sh -c \"$0\" \"$0\" $(($1 - 1)); read line";
        let mut child = std::process::Command::new("sh")
            .args(["-c", script, script, "1000"])
            .envs((0..20_000).map(|number| (format!("V{number}"), "")))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = Process::load(i32::try_from(child.id()).unwrap()).unwrap();
        // The first look may come before the first program.
        let looks: Vec<Vec<u8>> = (0..10_000).map(|_| process.environment()).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(looks.iter().all(|look| !look.is_empty()));
    }

    #[test]
    fn a_process_without_an_environment_is_told_from_one_that_has_none_yet() {
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let memory = memory_of(&own).unwrap();
        assert!(memory.code != 0 && !memory.environment.is_empty());
        let without = Memory { code: 1, environment: 7..7 };
        let not_yet = Memory { code: 0, environment: 7..7 };
        assert!(without.is_empty() && !not_yet.is_empty());
        assert!(memory_of("7 (a").is_none());
    }

    #[test]
    fn this_process_is_found_below_its_parent() {
        let all = load_all().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = all[&own].parent;
        assert!(below(&all, &BTreeSet::from([parent])).contains(&own));
        assert!(!below(&all, &BTreeSet::from([own])).contains(&own));
    }
}
