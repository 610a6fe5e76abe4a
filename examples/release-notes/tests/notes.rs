//! The example as its user sees it: the binary, killed in the middle and resumed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use agentos_testing::repo::Playground;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

/// The notes that can be read from the beginning.
const WRITTEN: [&str; 2] = ["login", "search"];

/// The notes that are pipes at first: reading them ends when the test has replaced them by files.
const UNWRITTEN: [&str; 2] = ["help", "themes"];

struct Desk {
    playground: Playground,
}

impl Desk {
    fn new() -> Self {
        let playground = Playground::new();
        let root = playground.repository("repo");
        fs::create_dir(root.join("notes")).expect("a folder");
        let desk = Self { playground };
        WRITTEN.iter().for_each(|name| desk.write(name));
        for name in UNWRITTEN {
            mknodat(CWD, desk.note(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                .expect("a pipe");
        }
        desk
    }

    fn note(&self, name: &str) -> PathBuf {
        self.playground.at(format!("repo/notes/{name}.md"))
    }

    fn write(&self, name: &str) {
        fs::write(self.note(name), format!("The {name} is better.\n")).expect("a note");
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits for what it has started, or kills it"
    )]
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_release-notes")));
        command.args(arguments).current_dir(self.playground.at("repo"));
        command.env_clear().envs(self.playground.environment());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn document(&self, arguments: &[&str]) -> Option<Value> {
        let Output { status, stdout, .. } = self.program(arguments).output().expect("it starts");
        status.success().then(|| serde_json::from_slice(&stdout).expect("a document"))
    }

    fn succeeds(&self, arguments: &[&str]) {
        let Output { status, stderr, .. } = self.program(arguments).output().expect("it starts");
        assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    }

    fn run(&self) -> Value {
        self.document(&["show", "release-notes", "--json"]).unwrap_or_default()
    }

    /// The notes that are finished, and when each was.
    fn polished(&self) -> Vec<(String, String)> {
        let run = self.run();
        let steps = run["steps"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = |step: &Value| (text(&step["name"]), text(&step["completed_at"]));
        let is_done = |step: &&Value| {
            step["status"] == "COMPLETED" && text(&step["name"]).starts_with("polish")
        };
        steps.iter().filter(is_done).map(of).collect()
    }
}

#[test]
fn notes_that_were_finished_before_the_process_was_killed_are_not_done_again() {
    let desk = Desk::new();
    let arguments = ["run", "release-notes", "--workspace", "none", "--title", "Version 1.0"];
    let mut running = desk.program(&arguments).spawn().expect("it starts");
    let mut told = BufReader::new(running.stdout.take().expect("a pipe")).lines();
    let is_done = |line: &String| line.contains(" polish ") && line.contains(": completed");
    let done = told.by_ref().map(|line| line.expect("text")).filter(is_done).take(2);
    assert_eq!(done.count(), 2, "it ended before it could be killed");
    running.kill().expect("it is killed");
    let status = running.wait().expect("it is gone");
    assert_eq!(status.signal(), Some(9), "it ended before it was killed");
    let before = desk.polished();
    assert_eq!(before.len(), WRITTEN.len(), "it was killed while it read the others: {before:?}");
    for name in UNWRITTEN {
        fs::remove_file(desk.note(name)).expect("a pipe");
        desk.write(name);
    }
    desk.succeeds(&["resume", "release-notes"]);
    assert_eq!(desk.run()["status"], "COMPLETED");
    let after = desk.polished();
    assert_eq!(after.len(), WRITTEN.len() + UNWRITTEN.len());
    assert!(before.iter().all(|done| after.contains(done)), "{before:?} {after:?}");
    let written = fs::read_to_string(desk.playground.at("repo/CHANGES.md")).expect("the notes");
    let lines = "- The help is better.\n- The login is better.\n- The search is better.\n- The themes is better.\n";
    assert_eq!(written, format!("# Version 1.0\n\n{lines}"));
}
