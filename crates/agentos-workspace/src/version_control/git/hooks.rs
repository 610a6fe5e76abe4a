//! Which hook refused. It says what it wants to, and git adds nothing; but git has kept a record of it. A hook that was killed has
//! not refused: see [`Answer::killed_by`].

use agentos_process::tool::Answer;

use super::super::error::VersionControlError;

/// Why a call failed, if a hook ended badly, which `said` so.
pub(super) fn refusal(
    answer: &Answer,
    said: impl FnOnce() -> String,
) -> Option<VersionControlError> {
    let hook = answer.failed_program.as_ref().filter(|program| program.is_hook)?;
    Some(VersionControlError::Hook { hook: hook.name.clone(), said: said() })
}
