//! Where these tests happen: a repository, the program with workflows that order commands, and what is seen of both from
//! outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use agentos_testing::repo::Playground;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::wait_until;
pub(crate) use crate::support::{is_alive, kill};

/// Says that it runs, begins to speak, waits for the file `go`, and says the rest.
pub(crate) const PATIENT: &str = "echo $$ >> ran; echo one; echo two >&2; \
     while [ ! -e go ]; do sleep 0.02; done; echo three";

/// A repository in which the program is called.
pub(crate) struct Site {
    pub(crate) playground: Playground,
    pub(crate) repo: PathBuf,
}

/// How a call ended, and what it said.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// The same, if it ended so.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// The document that it printed.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl Site {
    pub(crate) fn new() -> Self {
        let playground = Playground::new();
        let repo = playground.repository("repo");
        Self { playground, repo }
    }

    /// The program with these arguments, in a cleared environment.
    #[expect(clippy::disallowed_methods, reason = "a test ends what it has started")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(foundry());
        command.args(arguments).current_dir(&self.repo);
        command.env_clear().envs(self.playground.environment()).env("TZ", "UTC");
        command.env("AGENTOS_WORKSPACE_KIND", "none");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Calls the program and waits for its end.
    pub(crate) fn call(&self, arguments: &[&str]) -> Done {
        Process::start(self.command(arguments)).done()
    }

    /// Begins a run and leaves it to the test when to look. Its own document comes on standard output in the end.
    pub(crate) fn begin(&self, workflow: &str, input: &Value) -> Process {
        Process::start(self.run_command(workflow, input))
    }

    /// What begins a run.
    pub(crate) fn run_command(&self, workflow: &str, input: &Value) -> Command {
        let path = self.repo.join(format!("{workflow}-input.json"));
        let text = input.to_string();
        // Whoever was begun before may be reading it just now.
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            fs::write(&path, text).expect("a file");
        }
        let path = path.to_str().expect("text");
        self.command(&["run", workflow, "--json", "--input-file", path])
    }

    /// Begins a run of [`PATIENT`] and waits until its command has spoken and waits itself.
    pub(crate) fn begin_patient(&self) -> (Process, String) {
        let process = self.begin("forge", &json!({ "command": PATIENT }));
        self.until_spoken("one", 1);
        self.until_spoken("two", 1);
        (process, self.only_run())
    }

    /// Waits until the step logs have a line so many times.
    pub(crate) fn until_spoken(&self, line: &str, times: usize) {
        wait_until(&format!("a step's log says `{line}` {times} times"), || {
            self.spoken().iter().filter(|(_, said)| said == line).count() == times
        });
    }

    /// Lets [`PATIENT`] go on.
    pub(crate) fn go(&self) {
        fs::write(self.repo.join("go"), "").expect("a file");
    }

    /// The processes that have executed [`PATIENT`], in their order.
    pub(crate) fn ran(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.repo.join("ran")).unwrap_or_default();
        text.lines().map(|line| line.parse().expect("a number")).collect()
    }

    /// The readable id of the only run.
    pub(crate) fn only_run(&self) -> String {
        let listing = self.call(&["status", "--json"]).exits(0).document();
        let items = listing["items"].as_array().expect("a list");
        let [run] = &items[..] else { panic!("not one run: {items:#?}") };
        run["run_id"].as_str().expect("a name").to_owned()
    }

    /// The document of a run.
    pub(crate) fn show(&self, run: &str) -> Value {
        self.call(&["show", "--json", run]).exits(0).document()
    }

    /// What commands wrote, with its stream, as the step logs of all runs have it: whole lines.
    pub(crate) fn spoken(&self) -> Vec<(String, String)> {
        let mut said = Vec::new();
        for path in files_below(&self.repo.join(".agent/workflows/executions")) {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if name.starts_with("step-") {
                said.extend(read_spoken(&path));
            }
        }
        said
    }

    /// The folders of runs that have commands.
    pub(crate) fn command_folders(&self) -> Vec<PathBuf> {
        children(&self.repo.join(".agentos/issue_workflow.db.commands"))
    }

    /// The directories of commands, by path.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.command_folders().iter().flat_map(|run| children(run)).collect()
    }

    /// The supervisor of the latest command that has one.
    pub(crate) fn supervisor(&self) -> i32 {
        let started = self.directories().into_iter().filter_map(|directory| {
            let text = fs::read_to_string(directory.join("started.json")).ok()?;
            let started: Value = serde_json::from_str(&text).ok()?;
            Some((started["at_ms"].as_u64()?, started["supervisor"].as_i64()?))
        });
        let (_, pid) = started.max().expect("a command has begun");
        i32::try_from(pid).expect("an id")
    }
}

impl Drop for Site {
    /// Whatever a failed test has left: supervisors end what is below them when they are asked to.
    fn drop(&mut self) {
        for directory in self.directories() {
            let _stopped = fs::write(directory.join("stop"), "");
        }
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The lines of commands in a log file; what came in pieces is put together.
fn read_spoken(path: &Path) -> Vec<(String, String)> {
    let mut said: Vec<(String, String)> = Vec::new();
    let mut open: Vec<(String, String)> = Vec::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        // The last line may be half written.
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let stream = line["stream"].as_str().expect("a stream").to_owned();
        if stream == "log" {
            continue;
        }
        let begun = open.iter().position(|(other, _)| *other == stream);
        let begun = begun.map(|index| open.remove(index).1).unwrap_or_default();
        let text = begun + line["msg"].as_str().expect("a message");
        if line["goes_on"] == true { open.push((stream, text)) } else { said.push((stream, text)) }
    }
    said.extend(open);
    said
}

/// A program that this test has started, ended with the test at the latest.
pub(crate) struct Process {
    child: Option<Child>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        Self { child: Some(command.spawn().expect("the program starts")) }
    }

    pub(crate) fn pid(&self) -> i32 {
        let child = self.child.as_ref().expect("it was not waited for yet");
        i32::try_from(child.id()).expect("an id")
    }

    /// What it says, to be read while it says it.
    pub(crate) fn stdout(&mut self) -> ChildStdout {
        let child = self.child.as_mut().expect("it was not waited for yet");
        child.stdout.take().expect("nobody else reads it")
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut().expect("it was not waited for yet");
        child.try_wait().expect("it can be asked").is_some()
    }

    /// Kills it, so that it can do nothing any more.
    pub(crate) fn kill(self) {
        self.send(Signal::KILL);
        assert_eq!(self.done().code, None, "it was killed");
    }

    /// Waits for the end.
    pub(crate) fn done(mut self) -> Done {
        let child = self.child.take().expect("it was not waited for yet");
        let output = child.wait_with_output().expect("it ends");
        Done {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _gone = child.kill();
            let _gone = child.wait();
        }
    }
}

/// What [`PATIENT`] says when nothing of it is lost or doubled.
pub(crate) fn whole() -> Value {
    json!({ "stdout": "one\nthree\n", "stderr": "two\n", "code": 0 })
}

/// Lines of commands without their order among the streams, which is not promised.
pub(crate) fn sorted(mut said: Vec<(String, String)>) -> Vec<String> {
    said.sort();
    said.into_iter().map(|(stream, line)| format!("{stream}: {line}")).collect()
}

/// The example beside this test, which cargo builds with it.
fn foundry() -> PathBuf {
    let this = std::env::current_exe().expect("this program");
    let target = this.parent().and_then(Path::parent).expect("target/…/deps/it");
    let path = target.join("examples/foundry");
    assert!(path.exists(), "{} is missing: `cargo build --example foundry`", path.display());
    path
}
