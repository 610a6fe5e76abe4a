//! What a process that a run has started may not do: decide about runs. A guard, not a sandbox.

use agentos_process::token;
use agentos_workspace::surroundings::Surroundings;

use crate::error::{CommandError, Result};

/// Refuses whoever carries the mark of an operation, or was started by somebody who does: an agent can't approve its own
/// gate. What an agent starts may not have got all of the agent's environment.
pub(crate) fn refuse_own(surroundings: &Surroundings) -> Result<()> {
    match is_marked(surroundings) || token::is_carried_by_ancestor() {
        true => Err(refusal()),
        false => Ok(()),
    }
}

fn is_marked(surroundings: &Surroundings) -> bool {
    surroundings.variable(token::VARIABLE).is_some()
}

fn refusal() -> CommandError {
    CommandError::refused("a process that a run has started can't do this")
        .hint("ask the person who started the run")
}
