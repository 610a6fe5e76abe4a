//! Whether a program is at work somewhere: for those who find a lock and ask whose it is.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::processes::{Process, load_all};

/// Processes that were at work somewhere when they were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork(Vec<Process>);

impl AtWork {
    /// The processes of these programs (or of some that are called `{program}-…`) that work on something in these folders: they
    /// stand there, or their environment or command line names a path there. One whose folder we may not see may work anywhere.
    /// A git that only reads is none of them, however long it stays: it holds no lock of a ref or an index.
    ///
    /// # Errors
    /// The processes of this machine can't be listed.
    pub fn look(programs: &[&str], folders: &[PathBuf]) -> io::Result<Self> {
        let folders: Vec<PathBuf> =
            folders.iter().map(|folder| folder.canonicalize().unwrap_or(folder.clone())).collect();
        let is_meant = |process: &Process| {
            !process.is_zombie
                && programs.iter().any(|program| is_called(process.pid, program))
                && !only_reads(process.pid)
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
        self.alive().next().is_none()
    }

    /// The numbers of those that have not ended.
    pub fn alive(&self) -> impl Iterator<Item = i32> {
        let is_alive = |seen: &&Process| {
            Process::load(seen.pid)
                .is_some_and(|now| !now.is_zombie && now.since_ticks == seen.since_ticks)
        };
        self.0.iter().filter(is_alive).map(|seen| seen.pid)
    }
}

/// Verbs of git that take no lock. `status` and `diff` do: they write the index again.
const READING: [&str; 17] = [
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "credential-cache--daemon",
    "for-each-ref",
    "fsmonitor--daemon",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "rev-list",
    "rev-parse",
    "show",
    "show-ref",
];

/// Options of git itself whose value is the next word.
const WITH_VALUE: [&str; 7] =
    ["-C", "-c", "--attr-source", "--config-env", "--git-dir", "--namespace", "--work-tree"];

/// Whether a process is a git that only reads, by its command line.
fn only_reads(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    if let Some(verb) = program.strip_prefix("git-") {
        return READING.contains(&verb);
    }
    while let Some(word) = words.next().filter(|_| program == "git") {
        if WITH_VALUE.contains(&&*word) {
            words.next();
        } else if !word.starts_with('-') {
            return READING.contains(&&*word);
        }
    }
    false
}

/// The PID namespace of a machine itself, by the number that the kernel gives it.
const MACHINE: &str = "pid:[4026531836]";

/// Kinds of file systems that no other machine writes to, by the numbers that the kernel gives them: ext4, XFS, Btrfs, tmpfs, F2FS,
/// ZFS, bcachefs.
const LOCAL: [u64; 7] =
    [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E];

/// That of a container's own files.
const OVERLAY: u64 = 0x794C_7630;

/// Whether this process sees every process that can work in a folder. It does not if another machine can (a network file
/// system), a process outside of this container (which sees the folder, but not that process), or if processes are hidden.
///
/// # Errors
/// The folder can't be looked at.
pub fn sees_all_in(folder: &Path) -> io::Result<bool> {
    let kind = |path: &Path| -> io::Result<u64> {
        Ok(u64::try_from(rustix::fs::statfs(path)?.f_type).unwrap_or_default())
    };
    let namespace = fs::read_link("/proc/self/ns/pid")?;
    let is_private = if namespace == Path::new(MACHINE) {
        LOCAL.contains(&kind(folder)?) || kind(folder)? == OVERLAY
    } else {
        // What was not mounted into a container is its own.
        let root = Path::new("/");
        kind(root)? == OVERLAY && fs::metadata(folder)?.dev() == fs::metadata(root)?.dev()
    };
    Ok(is_private && Process::load(1).is_some())
}

fn is_called(pid: i32, program: &str) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let rest = name.trim_end().strip_prefix(program);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn cwd_of(pid: i32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

/// The same for a process that sees other mounts, where the same folder may have another path: by the numbers of folders.
fn works_in_by_number(process: &Process, folders: &[PathBuf]) -> bool {
    let number = |path: &Path| fs::metadata(path).map(|about| (about.dev(), about.ino()));
    let meant: Vec<_> = folders.iter().filter_map(|folder| number(folder).ok()).collect();
    let is_inside = |path: PathBuf| {
        let is_folder = path.is_dir();
        let mut path =
            if is_folder { path } else { path.parent().map_or(path.clone(), Path::to_owned) };
        let mut below = None;
        loop {
            match number(&path) {
                Ok(found) if meant.contains(&found) => return true,
                // The root is above itself.
                Ok(found) if below == Some(found) => return false,
                Ok(found) => below = Some(found),
                Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
            }
            path.push("..");
        }
    };
    let (cwd, root) = (format!("/proc/{}/cwd", process.pid), format!("/proc/{}/root", process.pid));
    if is_inside(PathBuf::from(&cwd)) {
        return true;
    }
    let words = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let words = [words, process.environment()].concat();
    words.split(|byte| *byte == 0).any(|word| {
        let values = [Some(word), word.splitn(2, |byte| *byte == b'=').nth(1)];
        values.into_iter().flatten().filter(|value| !value.is_empty()).any(|value| {
            let value = Path::new(OsStr::from_bytes(value));
            is_inside(match value.strip_prefix("/") {
                Ok(inner) => Path::new(&root).join(inner),
                Err(_) => Path::new(&cwd).join(value),
            })
        })
    })
}

fn works_in(process: &Process, folders: &[PathBuf]) -> bool {
    let mounts = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt"));
    let theirs = mounts(&process.pid.to_string());
    if theirs.is_ok_and(|theirs| mounts("self").ok() != Some(theirs)) {
        return works_in_by_number(process, folders);
    }
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
