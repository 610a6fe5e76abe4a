//! git and jj at work on workspaces: calls that change something, and take as long as they take.
//!
//! Questions about a folder are asked in [`crate::git`]. Whatever is started here holds the repository's lock until it
//! ends, also if we are killed before.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::clock::{moment, pause};
use agentos_process::tool::{Answer, KilledRun, Tool, ToolError};
use thiserror::Error;

use super::repository::RepositoryLock;
use crate::files::FileError;
use crate::git::WHERE_VARIABLES;
use crate::stale_lock::{FoundLock, WatchedLock, examine, held_lock, look_again};
use crate::surroundings::Surroundings;
use crate::version_control::bounds::{LOCK_LOOK, LOCK_TIMEOUT};

/// How long a checkout of many files may take.
const TIMEOUT: Duration = Duration::from_secs(900);

/// What git is told in every call: nobody's hooks, daemons or clean-ups.
pub(super) const QUIETLY: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "advice.detachedHead=false",
];

/// Why a tool did not do what it should.
#[derive(Debug, Error)]
pub enum CallError {
    /// It can't be run, or a signal has ended it.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A lock that a dead git has left can't be removed.
    #[error(transparent)]
    Lock(#[from] FileError),
    /// It needs a lock that stays.
    #[error("`{command}` failed in {}: {lock}", folder.display())]
    Locked {
        /// What was called, without what is always said.
        command: String,
        /// Where.
        folder: PathBuf,
        /// The lock.
        lock: Box<FoundLock>,
    },
    /// It said no.
    #[error("`{command}` failed in {}: {said}", folder.display())]
    Refused {
        /// What was called, without what is always said.
        command: String,
        /// Where.
        folder: PathBuf,
        /// What it said.
        said: String,
    },
}

/// Who calls tools, and what they hold meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Porcelain<'a> {
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) lock: Option<&'a RepositoryLock>,
}

impl Porcelain<'_> {
    /// Calls git, and takes any end for an answer.
    pub(crate) fn try_git<A: Into<OsString>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Answer, CallError> {
        run(&self.tool("git", folder).args(QUIETLY).args(arguments))
    }

    /// Calls git, and gives back what it said.
    pub(crate) fn git<A: Into<OsString>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, CallError> {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let answer = self.try_git(folder, arguments.clone())?;
        succeeded("git", folder, &arguments, answer)
    }

    /// Calls jj, and gives back what it said.
    pub(crate) fn jj<A: Into<OsString>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, CallError> {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let tool = self.tool("jj", folder).args(["--no-pager", "--color=never"]);
        let answer = run(&tool.args(arguments.clone()))?;
        succeeded("jj", folder, &arguments, answer)
    }

    pub(super) fn tool(&self, program: &str, folder: &Path) -> Tool {
        let mut tool = Tool::new(program)
            .in_folder(folder)
            .only_environment(self.surroundings.environment.clone())
            // Answers are read by a program, and nobody is there to be asked.
            .set("LC_ALL", "C")
            .set("GIT_OPTIONAL_LOCKS", "0")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("GIT_EDITOR", "false")
            .set("JJ_EDITOR", "false")
            .recording_programs()
            .timeout(TIMEOUT);
        for name in WHERE_VARIABLES {
            tool = tool.unset(name);
        }
        match self.lock {
            Some(lock) => tool.holding(lock.file()),
            None => tool,
        }
    }
}

/// Runs a tool until it answers: again if a signal ended it, and again when the lock that it did not get is gone, or was
/// removed because whoever wrote it is dead.
pub(super) fn run(tool: &Tool) -> Result<Answer, CallError> {
    let begun = moment();
    let (mut watched, mut killed): (Option<WatchedLock>, Option<KilledRun>) = (None, None);
    loop {
        let mut answer = tool.run_until_answered()?;
        answer.killed_before = answer.killed_before.or(killed.take());
        let lock = held_lock(&answer).filter(|_| moment() - begun < LOCK_TIMEOUT);
        let Some(lock) = lock else { return Ok(answer) };
        killed = answer.killed_before;
        look_again(&lock, &mut watched)?;
        pause(LOCK_LOOK);
    }
}

/// What a tool said that did what it should. One that refuses after a signal has ended it before may have done it already,
/// so that is no answer.
pub(super) fn succeeded(
    program: &str,
    folder: &Path,
    arguments: &[OsString],
    answer: Answer,
) -> Result<Vec<u8>, CallError> {
    if answer.is_success() {
        return Ok(answer.output);
    }
    let words = arguments.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>();
    let command = format!("{program} {}", words.join(" "));
    if let Some(killed) = answer.killed_before {
        return Err(killed.error(command).into());
    }
    if let Some(lock) = held_lock(&answer) {
        let lock = Box::new(examine(&lock));
        return Err(CallError::Locked { command, folder: folder.to_owned(), lock });
    }
    Err(CallError::Refused { command, folder: folder.to_owned(), said: answer.complaint_text() })
}

/// A line of an answer, as text.
pub(crate) fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end_matches('\n').to_owned()
}
