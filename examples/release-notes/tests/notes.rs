//! The example as its user sees it: the binary, killed in the middle and resumed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use agentos_testing::repo::Playground;
use agentos_testing::wait::wait_until;
use serde_json::Value;

/// The notes, each with as many lines as it takes long.
const NOTES: [(&str, usize); 4] = [("login", 1), ("search", 2), ("themes", 40), ("help", 60)];

/// How long each line takes, in milliseconds.
const PAUSE: &str = "100";

struct Desk {
    playground: Playground,
}

impl Desk {
    fn new() -> Self {
        let playground = Playground::new();
        let root = playground.repository("repo");
        fs::create_dir(root.join("notes")).expect("a folder");
        for (name, lines) in NOTES {
            let text = format!("The {name} is better.\n{}", "More.\n".repeat(lines - 1));
            fs::write(root.join(format!("notes/{name}.md")), text).expect("a note");
        }
        Self { playground }
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
    // It asks before it writes, so it can't come to its end before it is killed.
    let arguments = [&arguments[..], &["--pause", PAUSE, "--ask"]].concat();
    let mut running = desk.program(&arguments).spawn().expect("it starts");
    let mut told = BufReader::new(running.stdout.take().expect("a pipe")).lines();
    let is_done = |line: &String| line.contains(" polish ") && line.contains(": completed");
    let done = told.by_ref().map(|line| line.expect("text")).filter(is_done).take(2);
    assert_eq!(done.count(), 2, "it ended before it could be killed");
    running.kill().expect("it is killed");
    running.wait().expect("it is gone");
    let before = desk.polished();
    assert!(before.len() >= 2, "two were told of: {before:?}");
    desk.succeeds(&["resume", "release-notes", "--detach"]);
    wait_until("it asks", || desk.run()["waiting"]["kind"] == "approval");
    desk.succeeds(&["approve", "release-notes"]);
    wait_until("it is over", || desk.run()["status"] == "COMPLETED");
    let after = desk.polished();
    assert_eq!(after.len(), NOTES.len());
    assert!(before.iter().all(|done| after.contains(done)), "{before:?} {after:?}");
    let written = fs::read_to_string(desk.playground.at("repo/CHANGES.md")).expect("the notes");
    let lines = "- The help is better.\n- The login is better.\n- The search is better.\n- The themes is better.\n";
    assert_eq!(written, format!("# Version 1.0\n\n{lines}"));
}
