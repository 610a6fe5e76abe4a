//! Whether a program is at work somewhere: for those who find a lock and ask whose it is.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::processes::{Process, load_all};

/// Processes that were at work somewhere when they were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork(Vec<Process>);

impl AtWork {
    /// The processes of these programs (or of some that are called `{program}-…`) that work on something in these folders: they stand there, or their environment or
    /// command line names a path there. One whose folder we may not see may work anywhere.
    ///
    /// # Errors
    /// The processes of this machine can't be listed.
    pub fn look(programs: &[&str], folders: &[PathBuf]) -> io::Result<Self> {
        let folders: Vec<PathBuf> =
            folders.iter().map(|folder| folder.canonicalize().unwrap_or(folder.clone())).collect();
        let is_meant = |process: &Process| {
            !process.is_zombie
                && programs.iter().any(|program| is_called(process.pid, program))
                && works_in(process, &folders)
        };
        Ok(Self(load_all()?.into_values().filter(is_meant).collect()))
    }

    /// Whether there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of them have ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let is_over = |seen: &Process| {
            Process::load(seen.pid)
                .is_none_or(|now| now.is_zombie || now.since_ticks != seen.since_ticks)
        };
        self.0.iter().all(is_over)
    }
}

fn is_called(pid: i32, program: &str) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let rest = name.trim_end().strip_prefix(program);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn cwd_of(pid: i32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

fn works_in(process: &Process, folders: &[PathBuf]) -> bool {
    let cwd = match cwd_of(process.pid) {
        Ok(cwd) => cwd,
        // It has just ended, unless we may not know.
        Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
    };
    let is_inside = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    if is_inside(&cwd) {
        return true;
    }
    let words = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let words = [words, process.environment()].concat();
    words.split(|byte| *byte == 0).any(|word| {
        // `GIT_DIR=path`, `--git-dir=path`, `path`
        let values = [Some(word), word.splitn(2, |byte| *byte == b'=').nth(1)];
        values.into_iter().flatten().any(|value| {
            let path = cwd.join(OsStr::from_bytes(value));
            is_inside(&path) || path.canonicalize().is_ok_and(|path| is_inside(&path))
        })
    })
}
