//! A folder with commands that count themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::directory::Directory;
use agentos_process::exit::Exit;
use agentos_process::launch::stop;
use agentos_process::outcome::Outcome;
use agentos_process::points::NoPoints;
use agentos_process::spec::{CommandSpec, Program};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::part::launcher;

/// Longest wait for something that must happen, on a machine that is busy.
const TIMEOUT_S: i64 = 120;

/// A folder for the commands of one test. Whatever still runs in there is ended with it.
pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The directory of the operation of this name.
    pub(crate) fn operation(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn directory(&self, name: &str) -> Directory {
        Directory::at(&self.operation(name)).expect("a path")
    }

    /// A line for the shell, executed in the folder.
    pub(crate) fn line(&self, line: &str) -> CommandSpec {
        self.spec(Program::Line(line.to_owned()))
    }

    pub(crate) fn spec(&self, program: Program) -> CommandSpec {
        let mut spec = CommandSpec::new(program, self.path()).expect("a mark");
        spec.env.insert("PATH".into(), std::env::var("PATH").expect("a path"));
        spec.limits.grace = Duration::from_millis(300);
        spec
    }

    /// Executes it under this name, or finds it.
    pub(crate) fn execute(&self, name: &str, spec: &CommandSpec) -> Outcome {
        launcher().outcome(&self.operation(name), spec, 1 << 20, &NoPoints).expect("it ends")
    }

    /// Puts it where a client finds it.
    pub(crate) fn describe(&self, name: &str, spec: &CommandSpec) {
        let text = serde_json::to_vec(spec).expect("it can be written");
        fs::write(self.path().join(format!("{name}.spec")), text).expect("it can be kept");
    }

    /// What is in a file of the folder; nothing if there is none.
    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap_or_default()
    }

    /// How often a command counted itself.
    pub(crate) fn count(&self, file: &str) -> usize {
        self.text(file).lines().count()
    }

    /// The processes that wrote down who they are.
    pub(crate) fn pids(&self, file: &str) -> Vec<i32> {
        self.text(file).lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// What clients heard of this operation.
    pub(crate) fn heard(&self, name: &str) -> Vec<String> {
        let start = format!("{name}.heard-");
        let entries =
            fs::read_dir(self.path()).expect("a folder").map(|entry| entry.expect("an entry"));
        let heard = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start));
        heard.map(|entry| fs::read_to_string(entry.path()).expect("text")).collect()
    }

    pub(crate) fn exit(&self, name: &str) -> Option<Exit> {
        self.directory(name).load_exit().expect("it can be read")
    }

    /// Waits until there is an end, without touching anything.
    pub(crate) fn awaited_exit(&self, name: &str) -> Exit {
        eventually(&format!("{name} ends"), || self.exit(name).is_some());
        self.exit(name).expect("it has ended")
    }

    /// The process of the supervisor, once it has begun.
    pub(crate) fn supervisor(&self, name: &str) -> i32 {
        let started = || self.directory(name).load_started().expect("it can be read");
        eventually(&format!("{name} begins"), || started().is_some());
        started().expect("it has begun").supervisor
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for entry in fs::read_dir(self.path()).into_iter().flatten().flatten() {
            if entry.path().join("started.json").exists() {
                let _ended = stop(&entry.path());
            }
        }
    }
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = clock_gettime(ClockId::Monotonic).tv_sec + TIMEOUT_S;
    while !is_so() {
        assert!(clock_gettime(ClockId::Monotonic).tv_sec < until, "waited in vain until {what}");
        let moment = rustix::time::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        let _passed = rustix::thread::nanosleep(&moment);
    }
}

/// Milliseconds since 1970.
pub(crate) fn time_of_day_ms() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    u64::try_from(now.tv_sec * 1_000 + now.tv_nsec / 1_000_000).expect("a time after 1970")
}

fn pid(number: i32) -> Pid {
    Pid::from_raw(number).expect("a pid")
}

/// Whether a process lives. One that is dead and not yet buried does not.
pub(crate) fn is_alive(number: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let is_over = stat.contains(") Z ") || stat.contains(") X ");
    test_kill_process(pid(number)).is_ok() && !is_over
}

pub(crate) fn kill(number: i32) {
    kill_process(pid(number), Signal::KILL).expect("it can be killed");
}
