//! A short program, run to its end: git, jj, and others that answer a question.
//!
//! The caller waits, so everything is bounded: the time, and what is kept of the answer. A program that takes too long is
//! killed with everything it started. No thread and no runtime is needed: this is on the way of every command line.
//!
//! A program that the tool leaves in the background (a daemon of git) may hold the pipes open; once the tool itself has
//! ended nobody waits for that.

mod pipe;
mod record;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use thiserror::Error;

use crate::bounds::{KILL_ROUND, LAST_WORDS_BYTES, LEFTOVERS, PAUSE_WHEN_KILLED, RUNS_WHEN_KILLED};
use crate::clock::pause;
use crate::processes::is_group_alive;
use pipe::{Pipe, wait_for_news};
pub use record::FailedProgram;
use record::ProgramRecord;

/// How long a tool may take unless it is said otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Most that a tool may say unless it is said otherwise, in bytes.
pub const OUTPUT_BYTES: usize = 4 << 20;

/// How much of what a tool complains of is kept, in bytes.
pub const COMPLAINT_BYTES: usize = 64 << 10;

/// Why a tool gave no answer.
#[derive(Debug, Error)]
pub enum ToolError {
    /// There is no such program.
    #[error("`{program}` was not found; install it, or add its folder to PATH")]
    NotFound {
        /// Its name.
        program: String,
    },
    /// The file is there and can't be executed.
    #[error("`{program}` can't be executed; check the permissions of that file")]
    NotExecutable {
        /// Its name.
        program: String,
    },
    /// The folder that it was to be started in is not there.
    #[error("`{program}` can't be started in {}: {source}", folder.display())]
    Folder {
        /// Its name.
        program: String,
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system refused.
    #[error("`{program}` can't be run: {source}")]
    Io {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It did not end in time, and was killed.
    #[error("`{command}` did not end within {} s and was killed", after.as_secs_f32())]
    TimedOut {
        /// What was run.
        command: String,
        /// The limit.
        after: Duration,
    },
    /// A signal ended it, or a program that it needs, each time it was run: that says something about the machine, and is no
    /// answer.
    #[error("{}", told_of_kill(command, source))]
    Killed {
        /// What was run.
        command: String,
        /// What ended it.
        source: Box<KilledRun>,
    },
    /// It said more than anybody wants to keep, and was killed.
    #[error("`{command}` said more than {limit} bytes and was killed")]
    TooMuchOutput {
        /// What was run.
        command: String,
        /// The limit.
        limit: usize,
    },
}

/// The signal that ended a tool, as the last link in the chain of every error that is made of [`ToolError::Killed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("signal {signal}")]
pub struct KilledBySignal {
    /// The signal.
    pub signal: i32,
    /// Whether it ended a program that git had started (a hook, a filter), and not git itself. All that is known of such a program
    /// is its exit code, so it may have ended so by itself.
    pub is_helper: bool,
}

fn told_of_kill(command: &str, KilledRun { program, said, source }: &KilledRun) -> String {
    let of = program.as_ref().map(|program| format!(": {program}")).unwrap_or_default();
    let why = if source.signal == 9 { "; the machine may be out of memory" } else { "" };
    let words = if said.is_empty() { "" } else { "; its last words: " };
    format!("`{command}{of}` was ended by signal {}{why}{words}{said}", source.signal)
}

/// The signal that ended a tool, if that is what an error comes from.
#[must_use]
pub fn killed_by(error: &(dyn std::error::Error + 'static)) -> Option<KilledBySignal> {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.into_iter().find_map(|error| error.downcast_ref::<KilledBySignal>().copied())
}

/// A run of a tool that a signal ended, or a program of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("ended by {source}")]
pub struct KilledRun {
    /// The program, if it was not the tool itself.
    pub program: Option<String>,
    /// The end of what was complained of; empty if nothing was.
    pub said: String,
    /// The signal.
    pub source: KilledBySignal,
}

impl KilledRun {
    /// The error for it: it is no answer to this command.
    #[must_use]
    pub fn error(self, command: String) -> ToolError {
        ToolError::Killed { command, source: Box::new(self) }
    }
}

/// How a tool ended, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// All that it wrote to its output.
    pub output: Vec<u8>,
    /// The beginning of what it complained of, at most [`COMPLAINT_BYTES`].
    pub complaint: Vec<u8>,
    /// Whether it had more to say than was wanted, and was killed.
    pub is_cut: bool,
    /// The earlier run of it that a signal ended ([`Tool::run_until_answered`]), which may have done some of its work.
    pub killed_before: Option<KilledRun>,
    /// The program that it had started and that ended badly, if it ended badly itself and [`Tool::recording_programs`].
    pub failed_program: Option<FailedProgram>,
}

impl Answer {
    const fn of(status: ExitStatus, output: Vec<u8>, complaint: Vec<u8>) -> Self {
        let (is_cut, killed_before, failed_program) = (false, None, None);
        Self { status, output, complaint, is_cut, killed_before, failed_program }
    }

    /// Whether it ended well.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status.success()
    }

    /// The signal that ended it, or a program that git had started and waited for (a filter, a hook, a helper), by git's own
    /// record ([`Tool::recording_programs`]). Not if we have killed it ourselves.
    #[must_use]
    pub fn killed_by(&self) -> Option<KilledBySignal> {
        if self.is_cut || self.is_success() {
            return None;
        }
        let itself = self.status.signal().map(|signal| KilledBySignal { signal, is_helper: false });
        let helper = self.failed_program.as_ref().and_then(FailedProgram::killed_by);
        itself.or_else(|| helper.map(|signal| KilledBySignal { signal, is_helper: true }))
    }

    /// The same with what is told of it.
    #[must_use]
    pub fn killed_run(&self) -> Option<KilledRun> {
        let source = self.killed_by()?;
        let program = self.failed_program.as_ref().filter(|_| source.is_helper);
        let program = program.map(|program| program.name.clone());
        Some(KilledRun { program, said: self.last_words(), source })
    }

    /// The end of what it complained of, without git's advice: the reason is there.
    #[must_use]
    pub fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.complaint);
        let lines: Vec<&str> =
            text.trim().lines().filter(|line| !line.starts_with("hint:")).collect();
        let said = lines.join("\n");
        let start = said.ceil_char_boundary(said.len().saturating_sub(LAST_WORDS_BYTES));
        said[start..].trim().to_owned()
    }

    /// What it complained of, for people: without the white space around it.
    #[must_use]
    pub fn complaint_text(&self) -> String {
        let text = String::from_utf8_lossy(&self.complaint).trim().to_owned();
        match (text.is_empty(), self.status.signal()) {
            (true, Some(signal)) => format!("it was ended by signal {signal}"),
            (true, None) => format!("it ended with {}", self.status),
            (false, _) => text,
        }
    }
}

/// A tool that is to be run.
#[derive(Debug, Clone)]
pub struct Tool {
    program: OsString,
    arguments: Vec<OsString>,
    folder: Option<PathBuf>,
    /// All of its environment, if not that of this process.
    environment: Option<BTreeMap<OsString, OsString>>,
    changes: BTreeMap<OsString, Option<OsString>>,
    timeout: Duration,
    output_bytes: usize,
    is_cut_short: bool,
    has_record: bool,
    lock: Option<Arc<File>>,
    /// What it reads, and from where.
    input: Option<(Arc<File>, Option<u64>)>,
}

impl Tool {
    /// A tool of this name, looked for in `PATH`, or at this path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            folder: None,
            environment: None,
            changes: BTreeMap::new(),
            timeout: TIMEOUT,
            output_bytes: OUTPUT_BYTES,
            is_cut_short: false,
            has_record: false,
            lock: None,
            input: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Starts it in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Gives it this environment in place of that of this process.
    #[must_use]
    pub fn only_environment(mut self, environment: BTreeMap<OsString, OsString>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets a variable for it.
    #[must_use]
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.changes.insert(name.into(), Some(value.into()));
        self
    }

    /// Removes a variable from what it sees.
    #[must_use]
    pub fn unset(mut self, name: impl Into<OsString>) -> Self {
        self.changes.insert(name.into(), None);
        self
    }

    /// Kills it after this long.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Kills it once it has said more than this.
    #[must_use]
    pub fn output_bytes(mut self, limit: usize) -> Self {
        self.output_bytes = limit;
        self
    }

    /// Takes the beginning of what it says for an answer: once it has said more than this, it is killed.
    #[must_use]
    pub fn cut_output(mut self, limit: usize) -> Self {
        self.output_bytes = limit;
        self.is_cut_short = true;
        self
    }

    /// Lets git, or what calls it, keep a record of the programs that it starts, so that the answer knows which of them ended badly.
    #[must_use]
    pub fn recording_programs(mut self) -> Self {
        self.has_record = true;
        self
    }

    /// Lets it hold a lock for as long as it lives: if we are killed, the tool goes on, and whoever waits for the lock
    /// waits for the tool. The file has to be empty, because the tool finds it where it would read from.
    #[must_use]
    pub fn holding(mut self, lock: Arc<File>) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Lets it read this file, from where the file stands; run again, it reads the same. It holds no lock then.
    #[must_use]
    pub fn reading(mut self, mut input: File) -> Self {
        // What has no position is read on.
        let begin = input.stream_position().ok();
        self.input = Some((Arc::new(input), begin));
        self
    }

    /// Runs it to its end. Unless it was said otherwise it has nothing to read.
    ///
    /// # Errors
    /// [`ToolError`] if there is no answer. A tool that ends badly has answered.
    pub fn run(&self) -> Result<Answer, ToolError> {
        let mut command = self.command();
        // Where no record can be made it has to do without.
        let record = self.has_record.then(ProgramRecord::create).and_then(io::Result::ok);
        if let Some(record) = &record {
            command.env(record::VARIABLE, record.path()).env_remove(record::PARENT_VARIABLE);
        }
        if let Some((input, Some(begin))) = &self.input {
            let rewound = (&**input).seek(io::SeekFrom::Start(*begin));
            rewound.map_err(|error| self.refused(error))?;
        }
        let input = self.input.as_ref().map(|(input, _)| input);
        if let Some(read) = input.or(self.lock.as_ref()) {
            // A lock belongs to the open file, of which this is another handle.
            command.stdin(read.try_clone().map_err(|error| self.refused(error))?);
        }
        let child = command.spawn().map_err(|error| self.refused(error))?;
        let mut running = Running { child, is_over: false };
        let mut answer = self.listen(&mut running);
        match &mut answer {
            Ok(answer) if !answer.is_success() => {
                answer.failed_program = record.as_ref().and_then(ProgramRecord::load_failed);
            }
            Ok(_) => {}
            Err(_) => {
                let _ended = running.kill();
            }
        }
        answer
    }

    /// Runs it to its end, and once more after a pause if a signal ended it, up to [`RUNS_WHEN_KILLED`] times. For
    /// questions, and for what leaves the same however often it is done; an answer after a kill says so.
    ///
    /// # Errors
    /// [`ToolError`] if there is no answer. One that a signal ended has given none.
    pub fn run_until_answered(&self) -> Result<Answer, ToolError> {
        let (mut runs, mut wait, mut killed_before) = (1, PAUSE_WHEN_KILLED, None);
        loop {
            let answer = self.run()?;
            let Some(killed) = answer.killed_run() else {
                return Ok(Answer { killed_before, ..answer });
            };
            if runs == RUNS_WHEN_KILLED {
                return Err(killed.error(self.to_text()));
            }
            (runs, killed_before) = (runs + 1, Some(killed));
            pause(wait);
            wait = wait.saturating_mul(4);
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the door, and the caller waits for the end"
    )]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what it has started can be ended with it.
        command.process_group(0);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment);
        }
        for (name, value) in &self.changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn listen(&self, running: &mut Running) -> Result<Answer, ToolError> {
        let failed = |source| ToolError::Io { program: self.name(), source };
        let deadline = Deadline::after(self.timeout);
        let mut output = Pipe::new(running.child.stdout.take(), self.output_bytes);
        let mut complaint = Pipe::new(running.child.stderr.take(), COMPLAINT_BYTES);
        loop {
            // Looked for before the pipes are: what it has said by its end is in them then.
            let ended = running.ended().map_err(failed)?;
            output.read_what_is_there().map_err(failed)?;
            complaint.read_what_is_there().map_err(failed)?;
            if output.is_over_limit && self.is_cut_short {
                let status = running.kill().map_err(failed)?;
                return Ok(Answer {
                    is_cut: true,
                    ..Answer::of(status, output.kept, complaint.kept)
                });
            }
            if output.is_over_limit {
                let limit = self.output_bytes;
                return Err(ToolError::TooMuchOutput { command: self.to_text(), limit });
            }
            if let Some(status) = ended {
                return Ok(Answer::of(status, output.kept, complaint.kept));
            }
            let left = deadline.left();
            if left.is_zero() {
                let after = self.timeout;
                return Err(ToolError::TimedOut { command: self.to_text(), after });
            }
            wait_for_news(&[&output, &complaint], left).map_err(failed)?;
        }
    }

    fn refused(&self, source: io::Error) -> ToolError {
        let program = self.name();
        if let Some(folder) = &self.folder
            && let Err(source) = folder.read_dir()
        {
            return ToolError::Folder { program, folder: folder.clone(), source };
        }
        match source.kind() {
            io::ErrorKind::NotFound => ToolError::NotFound { program },
            io::ErrorKind::PermissionDenied => ToolError::NotExecutable { program },
            _ => ToolError::Io { program, source },
        }
    }

    fn name(&self) -> String {
        Path::new(&self.program).display().to_string()
    }

    fn to_text(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// What the tool is called and asked, for people.
impl std::fmt::Display for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_text())
    }
}

/// A moment by which something has to be over.
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(timeout: Duration) -> Self {
        Self(now().checked_add(timeout))
    }

    fn left(&self) -> Duration {
        self.0.map_or(Duration::MAX, |moment| moment.saturating_duration_since(now()))
    }
}

#[expect(clippy::disallowed_methods, reason = "the timeout of a real program takes real time")]
fn now() -> Instant {
    Instant::now()
}

struct Running {
    child: Child,
    is_over: bool,
}

impl Running {
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.was_killed()? {
            // What it has started does not go on without it.
            return self.kill().map(Some);
        }
        let status = self.child.try_wait()?;
        self.is_over |= status.is_some();
        Ok(status)
    }

    /// Whether a signal has ended it. Leaves it to be waited for, so that its number and its group are still its own.
    fn was_killed(&self) -> io::Result<bool> {
        let Some(pid) = self.pid() else { return Ok(false) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(pid), options)?;
        Ok(status.is_some_and(|status| status.killed() || status.dumped()))
    }

    /// Its number, which is that of its group, unless it has been waited for.
    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().filter(|_| !self.is_over).and_then(Pid::from_raw)
    }

    /// Ends it with everything it has started, and waits for all of that: a helper of git that is about to die still holds
    /// its lock files.
    fn kill(&mut self) -> io::Result<ExitStatus> {
        let group = self.pid();
        if let Some(group) = group {
            // It may just have ended.
            let _ended = kill_process_group(group, Signal::KILL);
        }
        let status = self.child.wait();
        self.is_over = true;
        let deadline = Deadline::after(LEFTOVERS);
        let is_alive = |group: Pid| is_group_alive(group.as_raw_nonzero().get());
        while group.is_some_and(is_alive) && !deadline.left().is_zero() {
            pause(KILL_ROUND);
        }
        status
    }
}
