//! The example as its user sees it: the binary, killed in the middle and resumed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use agentos_testing::repo::Playground;
use serde_json::Value;

/// The notes, each with as many lines as it takes long.
const NOTES: [(&str, usize); 4] = [("login", 1), ("search", 2), ("themes", 40), ("help", 60)];

/// How long each line takes, in milliseconds.
const PAUSE: &str = "100";

/// How long the test waits for something.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

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

    /// The notes that are finished, and when each was.
    fn polished(&self) -> Vec<(String, String)> {
        let run = self.document(&["show", "release-notes", "--json"]).unwrap_or_default();
        let steps = run["steps"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = |step: &Value| (text(&step["name"]), text(&step["completed_at"]));
        let is_done = |step: &&Value| {
            step["status"] == "COMPLETED" && text(&step["name"]).starts_with("polish")
        };
        steps.iter().filter(is_done).map(of).collect()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "another process gets on, and only looking tells"
    )]
    fn wait_for_some(&self, running: &mut Child) -> Vec<(String, String)> {
        for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
            let done = self.polished();
            if done.len() >= 2 {
                return done;
            }
            let ended = running.try_wait().expect("it can be asked");
            assert!(ended.is_none(), "it ended before it could be killed: {ended:?}");
            std::thread::sleep(LOOK);
        }
        panic!("the run does not get on");
    }
}

#[test]
fn notes_that_were_finished_before_the_process_was_killed_are_not_done_again() {
    let desk = Desk::new();
    let arguments = ["run", "release-notes", "--workspace", "none", "--title", "Version 1.0"];
    let arguments = [&arguments[..], &["--pause", PAUSE]].concat();
    let mut running = desk.program(&arguments).spawn().expect("it starts");
    let before = desk.wait_for_some(&mut running);
    running.kill().expect("it is killed");
    running.wait().expect("it is gone");
    assert!(before.len() < NOTES.len(), "all was finished before anybody could look");

    desk.document(&["resume", "release-notes", "--json"]).expect("it goes on");
    let after = desk.polished();
    assert_eq!(after.len(), NOTES.len());
    assert!(before.iter().all(|done| after.contains(done)), "{before:?} {after:?}");
    let written = fs::read_to_string(desk.playground.at("repo/CHANGES.md")).expect("the notes");
    let lines = "- The help is better.\n- The login is better.\n- The search is better.\n- The themes is better.\n";
    assert_eq!(written, format!("# Version 1.0\n\n{lines}"));
}
