//! One call of git or jj on behalf of a verb: not begun once somebody wanted it to stop, and named if it takes too long.

use agentos_process::tool::{Answer, Tool, ToolError};

use super::Result;
use super::error::VersionControlError;
use super::halt::Halt;
use super::said::last_words;

/// Runs it. `call` is what it is to people: `git switch`. If `is_hooked`, it may have started programs of other people.
pub(super) fn run(call: &str, tool: &Tool, halt: &Halt, is_hooked: bool) -> Result<Answer> {
    if halt.is_now() {
        return Err(VersionControlError::Halted);
    }
    let answer = tool.run().map_err(|error| match error {
        ToolError::TimedOut { after, .. } => {
            VersionControlError::TimedOut { call: call.to_owned(), after, is_hooked }
        }
        other => other.into(),
    });
    if halt.is_now() && !matches!(&answer, Ok(answer) if answer.is_success()) {
        return Err(VersionControlError::Halted);
    }
    answer
}

/// That the program said no.
pub(super) fn refused(call: &str, answer: &Answer) -> VersionControlError {
    VersionControlError::Refused { call: call.to_owned(), said: last_words(answer) }
}
