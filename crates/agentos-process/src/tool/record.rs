//! What became of the programs that a git has started, by git's own record of them.
//!
//! git says little of a program that ends badly: of a hook nothing, of a long-running filter that it failed, of one that ends
//! while it introduces itself that the other end hung up. But git keeps a record, if it is asked to (`GIT_TRACE2_EVENT`), with the
//! exit code of each program: 128 and the signal if a signal ended it, which is also what a shell says of a program of its own.
//!
//! **Which programs count.** Those of the git that was called, and of the gits that it is made of (`git worktree add` calls
//! `git reset`). What a hook or a filter calls in turn is its own affair: it decides how it ends.
//!
//! **Where the record is.** In a folder of its own in the temporary directory, which goes with the call: what a hook leaves in
//! the background keeps the path, and must not find another file there. Where there is no room for it there is no record, and
//! the call is made without.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use rustix::process::{Signal, geteuid, getpid};
use serde::Deserialize;

use crate::bounds::{PROGRAM_NAME_BYTES, RECORD_BYTES, RECORD_FOLDERS, RECORD_STAYS};
use crate::clock::time_of_day;

/// Where git is told to write its record.
pub(super) const VARIABLE: &str = "GIT_TRACE2_EVENT";

/// Says that this process was started by a git with a record of its own.
pub(super) const PARENT_VARIABLE: &str = "GIT_TRACE2_PARENT_SID";

const PREFIX: &str = "agentos-git-";

/// What git records if it can't write to a filter that it has just started.
const NOT_HEARD: [&str; 4] = [
    "Could not write client identification",
    "Could not write requested version",
    "Could not write requested capability",
    "Could not write flush packet",
];

/// A program that git has started and that ended badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedProgram {
    /// The name of a hook, or else how the program was called.
    pub name: String,
    /// Whether it is a hook.
    pub is_hook: bool,
    /// Its exit code, as a shell has it.
    pub code: i32,
}

impl FailedProgram {
    /// The signal that has ended it, or a program that it waited for.
    pub(super) fn killed_by(&self) -> Option<i32> {
        killed_by_code(self.code)
    }
}

/// The signal that has ended a program from outside, by its exit code as a shell has it. A program that ends by another signal
/// than those has crashed by itself, and would do so again.
fn killed_by_code(code: i32) -> Option<i32> {
    let signals = [Signal::KILL, Signal::TERM].map(Signal::as_raw);
    signals.into_iter().find(|signal| code == 128 + signal)
}

/// The record of one call.
pub(super) struct ProgramRecord(PathBuf);

impl ProgramRecord {
    pub(super) fn create() -> io::Result<Self> {
        static LEFT: Once = Once::new();
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let parent = std::env::temp_dir().canonicalize()?;
        LEFT.call_once(|| remove_left(&parent));
        let (process, number) = (getpid().as_raw_nonzero(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(format!("{PREFIX}{process}-{number}-{}", time_of_day().as_nanos()));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.join("record")
    }

    /// The program that ended badly, as far as is known: the first hook, or else the first that a signal has ended.
    pub(super) fn load_failed(&self) -> Option<FailedProgram> {
        let mut reader = BufReader::new(File::open(self.path()).ok()?.take(RECORD_BYTES));
        let (mut reading, mut line) = (Reading::default(), Vec::new());
        while reader.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            if let Ok(event) = serde_json::from_slice(&line) {
                reading.take(event);
            }
            line.clear();
        }
        reading.hook.or(reading.killed)
    }
}

impl Drop for ProgramRecord {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// Removes what processes that were killed have left: no call takes as long as that.
fn remove_left(parent: &Path) {
    let user = geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().take(RECORD_FOLDERS) {
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !is_one {
            continue;
        }
        let is_left = entry.metadata().is_ok_and(|found| {
            let changed = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let is_old = changed.is_some_and(|at| time_of_day().saturating_sub(at) > RECORD_STAYS);
            is_old && found.is_dir() && found.uid() == user
        });
        if is_left {
            let _stays = fs::remove_dir_all(entry.path());
        }
    }
}

/// A line of git's record, as far as it matters here.
#[derive(Deserialize)]
struct Event {
    event: String,
    /// Which git has written it: what it calls in turn has its name before its own.
    sid: String,
    child_id: Option<i64>,
    child_class: Option<String>,
    hook_name: Option<String>,
    argv: Option<Vec<String>>,
    code: Option<i32>,
    fmt: Option<String>,
}

/// A program that has been started.
struct Program {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Git,
    Hook,
    /// A filter that is started once for many files.
    LongRunning,
    Other,
}

#[derive(Default)]
struct Reading {
    running: BTreeMap<String, BTreeMap<i64, Program>>,
    /// The gits that could not write to a filter that they had just started: it was gone.
    left: BTreeSet<String>,
    /// The gits that are about to end a filter which did not introduce itself properly: they do that with a signal.
    stopping: BTreeSet<String>,
    hook: Option<FailedProgram>,
    killed: Option<FailedProgram>,
}

impl Reading {
    fn take(&mut self, event: Event) {
        if self.is_beneath_a_program(&event.sid) {
            return;
        }
        match (event.event.as_str(), event.child_id) {
            ("child_start", Some(child)) => {
                let program = Program::of(&event);
                self.running.entry(event.sid).or_default().insert(child, program);
            }
            ("child_exit", Some(child)) => self.ended(&event.sid, child, event.code),
            ("error", _) => {
                let said = event.fmt.unwrap_or_default();
                if NOT_HEARD.contains(&said.as_str()) {
                    self.left.insert(event.sid);
                } else if said.starts_with("initialization for subprocess ")
                    && !self.left.remove(&event.sid)
                {
                    self.stopping.insert(event.sid);
                }
            }
            _ => {}
        }
    }

    fn is_beneath_a_program(&self, sid: &str) -> bool {
        sid.match_indices('/').any(|(end, _)| {
            let children = self.running.get(&sid[..end]);
            children
                .is_some_and(|running| running.values().any(|program| program.kind != Kind::Git))
        })
    }

    fn ended(&mut self, sid: &str, child: i64, code: Option<i32>) {
        let program = self.running.get_mut(sid).and_then(|running| running.remove(&child));
        let (Some(Program { name, kind }), Some(code)) = (program, code) else { return };
        let was_stopped = kind == Kind::LongRunning && self.stopping.remove(sid);
        if code == 0 || was_stopped && code == 128 + Signal::TERM.as_raw() {
            return;
        }
        let failed = FailedProgram { name, is_hook: kind == Kind::Hook, code };
        if failed.is_hook {
            self.hook.get_or_insert(failed);
        } else if failed.killed_by().is_some() {
            self.killed.get_or_insert(failed);
        }
    }
}

impl Program {
    fn of(event: &Event) -> Self {
        let words = event.argv.as_deref().unwrap_or_default();
        let is_git = words.first().is_some_and(|word| word == "git");
        let kind = match (&event.hook_name, event.child_class.as_deref()) {
            (Some(_), _) => Kind::Hook,
            (None, Some("subprocess")) => Kind::LongRunning,
            (None, _) if is_git => Kind::Git,
            (None, _) => Kind::Other,
        };
        let mut name = event.hook_name.clone().unwrap_or_else(|| words.join(" "));
        name.truncate(name.floor_char_boundary(PROGRAM_NAME_BYTES));
        Self { name, kind }
    }
}
