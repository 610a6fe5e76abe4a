//! The setup command: who has approved it, and that it was executed in a workspace before anything else is.
//!
//! A run executes it as a step of its own before its code begins. Whoever comes later to a workspace that is not set up,
//! because it was made again or is that of a fork, has it executed first.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agentos_core::entry::{Hold, HoldKind};
use agentos_core::failure::{Failure, FailureKind};
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::setup::{self, Setup};

use super::ground::refused;
use crate::shell::Refusal;

/// What is executed in each workspace before anything else, and who has approved it.
#[derive(Debug, Clone, Default)]
pub struct SetUp {
    /// The command, and how it is executed.
    pub setup: Option<Setup>,
    /// Who has a say in it; none if its own user wrote it.
    pub approval: Option<Arc<dyn Approval>>,
}

/// Approvals of commands that somebody else may have written.
pub trait Approval: fmt::Debug + Send + Sync {
    /// What an approval of this command is given for; none if nobody has to approve it any more.
    fn wanted(&self, command: &str) -> Option<String>;

    /// Somebody has approved it, for now and later.
    ///
    /// # Errors
    /// It can't be written down.
    fn give(&self, subject: &str) -> Result<(), String>;
}

impl SetUp {
    /// Whether a command may be executed.
    pub(super) fn check(
        &self,
        workspace: &Workspace,
        command: &str,
        granted: Option<&str>,
    ) -> Result<(), Refusal> {
        let Some(approval) = &self.approval else { return Ok(()) };
        match approval.wanted(command) {
            None => Ok(()),
            Some(subject) if granted == Some(&subject) => {
                approval.give(&subject).map_err(|error| refused(error).into())
            }
            Some(subject) => Err(Refusal::Held(Hold {
                kind: HoldKind::Approval,
                message: format!(
                    "Execute the setup command of this repository in {}? `{command}`",
                    workspace.path.display()
                ),
                subject: Some(subject),
                until: None,
                limit: None,
            })),
        }
    }

    /// Sees to it that the workspace is set up: with the run's own command, if it has one.
    pub(super) fn ensure(
        &self,
        workspace: &Workspace,
        (own, env): (&str, &BTreeMap<String, String>),
        granted: Option<&str>,
    ) -> Result<(), Refusal> {
        let Some(known) = &self.setup else { return Ok(()) };
        let command = if own.is_empty() { &known.command } else { own };
        if setup::is_done_in(workspace, command) {
            return Ok(());
        }
        self.check(workspace, command, granted)?;
        let env = known.env.clone().into_iter().chain(env.clone()).collect();
        let setup = Setup { command: command.to_owned(), env, ..known.clone() };
        let done = setup.ensure(workspace);
        done.map_err(|error| Failure::new(FailureKind::Error, error.to_string()).into())
    }
}
