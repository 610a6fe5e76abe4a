//! What a process that a run has started may not do: decide about runs. A guard, not a sandbox.

use agentos_process::token;
use agentos_workspace::surroundings::Surroundings;

use crate::error::{CommandError, Result};

/// Refuses whoever carries the mark of an operation: an agent can't approve its own gate.
pub(crate) fn refuse_own(surroundings: &Surroundings) -> Result<()> {
    match is_marked(surroundings) {
        true => Err(refusal()),
        false => Ok(()),
    }
}

/// The same for what an agent starts beside itself, which may not have got all of the agent's environment.
pub(crate) fn refuse_own_or_below(surroundings: &Surroundings) -> Result<()> {
    match is_marked(surroundings) || token::is_carried_by_parent() {
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
