//! git and jj at work on workspaces: calls that change something, and take as long as they take.
//!
//! Questions about a folder are asked in [`crate::git`]. Whatever is started here holds the repository's lock until it
//! ends, also if we are killed before.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::tool::{Answer, Tool, ToolError};
use thiserror::Error;

use super::repository::RepositoryLock;
use crate::git::WHERE_VARIABLES;
use crate::surroundings::Surroundings;

/// How long a checkout of many files may take.
const PATIENCE: Duration = Duration::from_secs(900);

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
    /// It can't be run.
    #[error(transparent)]
    Tool(#[from] ToolError),
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
        let tool = self.tool("git", folder).args(QUIETLY).args(arguments);
        Ok(tool.run()?)
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
        let answer = tool.args(arguments.clone()).run()?;
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
            .timeout(PATIENCE);
        for name in WHERE_VARIABLES {
            tool = tool.unset(name);
        }
        match self.lock {
            Some(lock) => tool.holding(lock.file()),
            None => tool,
        }
    }
}

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
    Err(CallError::Refused {
        command: format!("{program} {}", words.join(" ")),
        folder: folder.to_owned(),
        said: answer.complaint_text(),
    })
}

/// A line of an answer, as text.
pub(crate) fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end_matches('\n').to_owned()
}
