//! A control group for a command: the one thing that nothing below a process can leave by itself.
//!
//! A supervisor that lives needs none, because whatever loses its parents becomes its child. After one was killed, a group
//! still knows everything of the command, also what has cleared its environment, made a session of its own and lost its
//! parents. It exists only where the second version of control groups is mounted and may be written to.
//!
//! The supervisor moves into the new group, starts the child there, and moves back: a process can't be started in another
//! group by safe means. Moving may take some milliseconds, so a command has to ask for it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::token::Token;

/// A control group of one command.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
}

impl Group {
    /// Makes a group below our own, and moves us into it. Nothing where that is not possible.
    pub(crate) fn enter(token: &Token) -> Option<Self> {
        let own = own()?;
        let group = Self { path: own.join(format!("agentos-{}", token.as_str())) };
        fs::create_dir(&group.path).ok()?;
        match move_into(&group.path) {
            Ok(()) => Some(group),
            Err(_) => {
                group.remove();
                None
            }
        }
    }

    /// A group that somebody else has made.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves us back to where we came from.
    pub(crate) fn leave(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), move_into)
    }

    /// The processes in it.
    pub(crate) fn members(&self) -> BTreeSet<i32> {
        let members = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        members.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Takes it away, if nothing is in it.
    pub(crate) fn remove(&self) {
        let _removed = fs::remove_dir(&self.path);
    }
}

fn move_into(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

/// Our own group.
fn own() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let inside = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(mount(&mounts)?.join(inside))
}

/// Where the second version of control groups is mounted: `… root place options - kind …`.
fn mount(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let place = before.split(' ').nth(4)?;
        after.starts_with("cgroup2 ").then(|| PathBuf::from(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_the_second_version_is_found() {
        let mounts = "25 30 0:23 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      26 30 0:24 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount("1 2 0:3 / / rw - ext4 /dev/vda rw\n"), None);
    }
}
