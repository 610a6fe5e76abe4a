//! What these tests share: a stand with a home and real repositories, the binary in a cleared environment, and waiting
//! for something to become true.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::SystemTime;

use agentos_testing::repo::Playground;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) use agentos_testing::wait::{TIMEOUT, wait_until};

/// A home, and room for repositories.
pub(crate) struct Stand {
    playground: Playground,
}

/// How a command ended, and what it said.
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

    /// Everything that a user sees of it, with the lines in the order of the alphabet: what is told while a run goes on
    /// depends on when somebody looked.
    pub(crate) fn seen_in_any_order(&self) -> String {
        let without_time = |line: &str| {
            let is_timed = line.as_bytes().get(2) == Some(&b':');
            line.get(if is_timed { 9 } else { 0 }..).unwrap_or(line).to_owned()
        };
        let mut lines: Vec<String> = self.out.lines().map(without_time).collect();
        lines.sort_unstable();
        format!("{}\n", lines.join("\n"))
    }

    /// Everything that a user sees of it.
    pub(crate) fn seen(&self) -> String {
        let code = self.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        format!("{}--- stderr\n{}--- exit {code}\n", self.out, self.err)
    }
}

impl Stand {
    pub(crate) fn new() -> Self {
        Self { playground: Playground::new() }
    }

    /// A stand, and a repository with one commit in it.
    pub(crate) fn with_repository() -> (Self, PathBuf) {
        let stand = Self::new();
        let root = stand.repository("repo");
        (stand, root)
    }

    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        self.playground.repository(name)
    }

    pub(crate) fn empty_repository(&self, name: &str) -> PathBuf {
        self.playground.empty_repository(name)
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.playground.folder(name)
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.playground.at(path)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.playground.home()
    }

    pub(crate) fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        self.playground.git(folder, arguments)
    }

    /// What a program that is called here sees of the environment.
    pub(crate) fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment = self.playground.environment();
        environment.insert("TZ".into(), "UTC".into());
        // Most of these tests look at what workflows do in the checkout itself.
        environment.insert("AGENTOS_WORKSPACE_KIND".into(), "none".into());
        environment
    }

    /// The binary with the workflows for tests, called in a folder.
    pub(crate) fn call(&self, folder: &Path, arguments: &[&str]) -> Call {
        self.call_program(&workshop(), folder, arguments)
    }

    /// Another program, called as the binary would be.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits for what it has started, or kills it"
    )]
    pub(crate) fn call_program(&self, program: &Path, folder: &Path, arguments: &[&str]) -> Call {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        command.env_clear().envs(self.environment());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Call { command, input: None }
    }

    /// Calls the binary and waits for its end.
    pub(crate) fn run(&self, folder: &Path, arguments: &[&str]) -> Done {
        self.call(folder, arguments).done()
    }

    /// All runs of the folder's database.
    pub(crate) fn runs(&self, folder: &Path) -> Vec<Value> {
        let listing = self.run(folder, &["status", "--json", "--limit", "1000"]).exits(0);
        listing.document()["items"].as_array().expect("a list").clone()
    }

    /// The only run of a workflow, once there is one.
    pub(crate) fn only(&self, folder: &Path, workflow: &str) -> Value {
        let mut found = None;
        wait_until(&format!("there is a run of {workflow}"), || {
            found = self.runs(folder).into_iter().find(|run| run["workflow"] == workflow);
            found.is_some()
        });
        found.expect("it was found")
    }

    /// The document of a run.
    pub(crate) fn show(&self, folder: &Path, run: &str) -> Value {
        self.run(folder, &["show", "--json", run]).exits(0).document()
    }

    /// Waits until a run has this status.
    pub(crate) fn until_status(&self, folder: &Path, run: &str, status: &str) -> Value {
        let mut document = Value::Null;
        wait_until(&format!("{run} is {status}"), || {
            document = self.show(folder, run);
            document["status"] == status
        });
        document
    }

    /// The background executors that were started here: their process ids.
    pub(crate) fn executors(&self) -> Vec<i32> {
        let mark = self.playground.path().to_string_lossy().into_owned();
        let processes = fs::read_dir("/proc").expect("Linux").flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            words.contains("\0executor\0--database\0") && words.contains(&mark)
        };
        numbers.filter(is_ours).collect()
    }

    /// Kills the background executors, and waits until they have given up what they had locked.
    pub(crate) fn kill_executors(&self) {
        let executors = self.executors();
        for pid in &executors {
            kill(*pid, Signal::KILL);
        }
        wait_until("the executors are dead", || !executors.iter().any(|pid| is_alive(*pid)));
    }

    /// All processes that were started here, directly or by another one, and live: their home is here.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let mark = format!("HOME={}\0", self.home().display());
        let processes = fs::read_dir("/proc").expect("Linux").flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|part| part == mark.as_bytes())
        };
        numbers.filter(is_ours).collect()
    }
}

impl Drop for Stand {
    /// An executor waits as long as a run does.
    fn drop(&mut self) {
        for pid in self.executors() {
            kill(pid, Signal::KILL);
        }
    }
}

/// Sends a signal to a process that this test has started; one that is gone is fine.
pub(crate) fn kill(pid: i32, signal: Signal) {
    let _gone = kill_process(Pid::from_raw(pid).expect("an id"), signal);
}

/// Whether a thread of a process has not ended. What a process has locked is free when the last of them has.
pub(crate) fn is_alive(pid: i32) -> bool {
    threads(pid).iter().any(|state| !matches!(state, 'Z' | 'X'))
}

/// How the threads of a process stand: a letter for each.
fn threads(pid: i32) -> Vec<char> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let state = |thread: fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    };
    threads.filter_map(state).collect()
}

/// A command that is about to be called.
pub(crate) struct Call {
    pub(crate) command: Command,
    input: Option<String>,
}

impl Call {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// With something on standard input.
    pub(crate) fn input(mut self, text: &str) -> Self {
        self.input = Some(text.to_owned());
        self.command.stdin(Stdio::piped());
        self
    }

    /// Begins, and leaves it to the test when to look.
    pub(crate) fn start(mut self) -> Process {
        let mut child = self.command.spawn().expect("the program starts");
        if let Some(text) = self.input
            && let Some(mut pipe) = child.stdin.take()
        {
            pipe.write_all(text.as_bytes()).expect("it reads");
        }
        Process { child: Some(child) }
    }

    pub(crate) fn done(self) -> Done {
        self.start().done()
    }
}

/// A program that this test has started, ended with the test at the latest.
pub(crate) struct Process {
    child: Option<Child>,
}

impl Process {
    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it was not waited for yet")
    }

    pub(crate) fn pid(&mut self) -> i32 {
        i32::try_from(self.child().id()).expect("an id")
    }

    pub(crate) fn send(&mut self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// Stops it with SIGSTOP, and waits until it does nothing any more. It has not locked this database then.
    pub(crate) fn stand_still(&mut self, database: &Path) {
        let pid = self.pid();
        wait_until("it stands still and has locked nothing", || {
            kill(pid, Signal::STOP);
            wait_until("it stands still", || threads(pid).iter().all(|state| *state == 'T'));
            let is_free = is_unlocked(database);
            if !is_free {
                kill(pid, Signal::CONT);
            }
            is_free
        });
    }

    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child().try_wait().expect("it can be asked")
    }

    /// Kills it, so that it can do nothing any more. It must not have ended by itself before.
    #[track_caller]
    pub(crate) fn kill(mut self) {
        self.send(Signal::KILL);
        // What it has started may live on, and hold its pipes.
        let status = self.child().wait().expect("it ends");
        assert_eq!(status.signal(), Some(9), "it ended before it was killed: {status}");
    }

    /// Kills it when the files of this folder have changed so often since now, as far as the test sees that. Returns whether
    /// that hit it at work: it may have ended by itself before.
    pub(crate) fn kill_after_changes(mut self, folder: &Path, changes: usize) -> bool {
        let (mut seen, mut left) = (state_of_files(folder), changes);
        while left > 0 && self.has_ended().is_none() {
            let now = state_of_files(folder);
            if now != seen {
                (seen, left) = (now, left - 1);
            }
        }
        self.send(Signal::KILL);
        self.child().wait().expect("it ends").signal() == Some(9)
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

/// A workflow, `tally`, that counts to four in a file, one step for each number, and stays in its second step until the test
/// lets it go on: until then its run is at work, also if the test is much slower than the run.
pub(crate) struct Tally {
    file: PathBuf,
}

const TALLY: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "tally", workspace: "none" }, async (ctx) => {
    const file = ctx.input.file as string;
    for (const number of [1, 2, 3, 4]) {
        await ctx.run(`count ${number}`, async (ctx) => {
            await ctx.shell(`echo ${number} >> ${file}`, { name: "count" });
            if (number !== 2) return;
            let said = "";
            while (said === "") {
                said = (await ctx.shell(`sleep 0.05; [ ! -e ${file}.go ] || echo go`, { name: "look" })).stdout;
            }
        });
    }
});
"#;

impl Tally {
    /// Makes the workflow known in a repository; it counts in a file of this name beside that.
    pub(crate) fn new(stand: &Stand, root: &Path, file: &str) -> Self {
        let folder = root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("tally.ts"), TALLY).expect("a template");
        Self { file: stand.at(file) }
    }

    /// A run of it that has come to its second step.
    pub(crate) fn start(stand: &Stand, root: &Path) -> (Process, Self) {
        let tally = Self::new(stand, root, "counted");
        let process = stand.call(root, &["run", "tally", "--input", &tally.input()]).start();
        tally.wait_until_it_waits();
        (process, tally)
    }

    /// Its input, as the command line takes it.
    pub(crate) fn input(&self) -> String {
        format!("file={}", self.file.display())
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn wait_until_it_waits(&self) {
        wait_until("it is in its second step", || self.counted().len() >= 2);
    }

    /// Lets it go on to its end.
    pub(crate) fn go(&self) {
        fs::write(format!("{}.go", self.file.display()), "").expect("a file");
    }

    /// What was counted so far.
    pub(crate) fn counted(&self) -> Vec<String> {
        lines(&self.file)
    }
}

/// A workflow, `gated`, that counts to four in a file, one step for each number, and goes on from each only when the test
/// lets it. Nothing is added to the log while it waits.
pub(crate) struct Gated {
    file: PathBuf,
}

const GATED: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "gated", workspace: "none" }, async (ctx) => {
    const file = ctx.input.file as string;
    for (const number of [1, 2, 3, 4]) {
        await ctx.run(`count ${number}`, async (ctx) => {
            await ctx.shell(`echo ${number} >> ${file}; while [ ! -e ${file}.go-${number} ]; do sleep 0.02; done`);
        });
    }
});
"#;

impl Gated {
    /// Makes the workflow known in a repository; it counts in a file of this name beside that.
    pub(crate) fn new(stand: &Stand, root: &Path, file: &str) -> Self {
        let folder = root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("gated.ts"), GATED).expect("a template");
        Self { file: stand.at(file) }
    }

    /// Its input, as the command line takes it.
    pub(crate) fn input(&self) -> String {
        format!("file={}", self.file.display())
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn counted(&self) -> Vec<String> {
        lines(&self.file)
    }

    #[track_caller]
    pub(crate) fn wait_until_counted(&self, number: usize) {
        wait_until("it has counted so far", || self.counted().len() == number);
    }

    pub(crate) fn go_on_from(&self, number: usize) {
        fs::write(format!("{}.go-{number}", self.file.display()), "").expect("a file");
    }
}

/// The files below a folder, each with its length and when it was written last. Links are not followed.
fn state_of_files(folder: &Path) -> BTreeMap<PathBuf, (u64, Option<SystemTime>)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            found.insert(entry.path(), (metadata.len(), metadata.modified().ok()));
        }
    }
    found
}

/// Removes a folder in which another process may make files at the same time.
pub(crate) fn remove_folder(path: &Path) {
    wait_until("the folder is removed", || fs::remove_dir_all(path).is_ok() || !path.exists());
}

/// The lines of a file that may not be there.
pub(crate) fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The readable id of a run's document.
pub(crate) fn name(run: &Value) -> String {
    run["run_id"].as_str().expect("a run").to_owned()
}

/// The example beside this test, which cargo builds with it.
pub(crate) fn workshop() -> PathBuf {
    let this = std::env::current_exe().expect("this program");
    let target = this.parent().and_then(Path::parent).expect("target/…/deps/it");
    let path = target.join("examples/workshop");
    assert!(
        path.exists(),
        "{} is missing: `cargo build -p agentos --example workshop`",
        path.display()
    );
    path
}

/// Compares what was seen with what is kept, but for what is different each time.
macro_rules! assert_seen {
    ($stand:expr, $name:expr, $seen:expr) => {{
        let mut settings = insta::Settings::clone_current();
        for (pattern, stand_in) in $crate::support::filters($stand) {
            settings.add_filter(&pattern, stand_in);
        }
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!($name, $seen));
    }};
}
pub(crate) use assert_seen;

/// What is different each time, and what stands for it.
pub(crate) fn filters(stand: &Stand) -> Vec<(String, &'static str)> {
    let filter = |pattern: &str, stand_in| (pattern.to_owned(), stand_in);
    vec![
        (stand.playground.path().to_string_lossy().into_owned(), "[stand]"),
        filter(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        filter(
            r"\b(ask|count|endless|greet|keep|listen|mend|nap|parent|tree)-[a-z]{6}\b",
            "$1-[six]",
        ),
        filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[moment]"),
        filter(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[moment]"),
        filter(r"\b\d\d:\d\d:\d\d\b", "[time]"),
        filter(r" *\b\d+ ms\b", " [span]"),
        filter(r" *\b\d+\.\d s\b", " [span]"),
        filter(r" *\b\d+ m \d\d s\b", " [span]"),
        filter(r#""(duration)": \d+"#, r#""$1": [ms]"#),
        // The longer ago, the wider is the column.
        filter(r"STARTED +TIME", "STARTED   TIME"),
        filter(r"\b(just now|\d+ (second|minute)s? ago)\b", "[ago]"),
        filter(r"\bprocess \d+\b", "process [pid]"),
        filter(r#""[0-9a-f]{32}""#, r#""[hash]""#),
    ]
}

/// Does something to a database that the program would never do. Python has SQLite wherever these tests are run.
pub(crate) fn sqlite(path: &Path, sql: &str) {
    let script = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1],timeout=120); c.executescript(sys.argv[2]); c.close()";
    assert!(python(script, path, sql));
}

/// Whether no process is writing to a database.
fn is_unlocked(database: &Path) -> bool {
    let script = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1],timeout=0,isolation_level=None)\n\
        try: c.execute(sys.argv[2]); c.execute('ROLLBACK')\n\
        except sqlite3.OperationalError: sys.exit(1)";
    python(script, database, "BEGIN IMMEDIATE")
}

fn python(script: &str, path: &Path, argument: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test waits for what it has started")]
    let done = Command::new("python3").args(["-c", script]).arg(path).arg(argument).status();
    done.expect("python3").success()
}
