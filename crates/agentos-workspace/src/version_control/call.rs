//! One call of git or jj on behalf of a verb: not begun once somebody wanted it to stop, and named if it takes too long.

use agentos_process::tool::{Answer, Tool, ToolError};

use super::Result;
use super::error::VersionControlError;
use super::halt::Halt;
use super::said::last_words;

/// What a call may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// It asks, or leaves the same however often it is made: one that a signal ends is made again.
    Question,
    /// It changes something: one that a signal ends may have done so, and its caller finds out before it is made again.
    Change,
    /// The same, and it may start programs of other people.
    HookedChange,
}

/// Runs it. `call` is what it is to people: `git switch`.
pub(super) fn run(call: &str, tool: &Tool, halt: &Halt, kind: CallKind) -> Result<Answer> {
    if halt.is_now() {
        return Err(VersionControlError::Halted);
    }
    let is_hooked = kind == CallKind::HookedChange;
    let answer = match kind {
        CallKind::Question => tool.run_until_answered(),
        CallKind::Change | CallKind::HookedChange => {
            tool.run().and_then(|answer| match answer.killed_run() {
                Some(killed) => Err(killed.error(call.to_owned())),
                None => Ok(answer),
            })
        }
    };
    let answer = answer.map_err(|error| match error {
        ToolError::TimedOut { after, .. } => {
            VersionControlError::TimedOut { call: call.to_owned(), after, is_hooked }
        }
        ToolError::Killed { source, .. } => {
            ToolError::Killed { command: call.to_owned(), source }.into()
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
