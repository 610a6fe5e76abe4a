//! The program as a whole: arguments in, an exit status out.

use std::process::ExitCode;
use std::sync::Arc;

use agentos_process::file_size;
use agentos_sdk::{RegisterError, Workflow, Workflows};
use agentos_workspace::surroundings::Surroundings;

use crate::agents;
use crate::cli;
use crate::error::{CommandError, Result};
use crate::output;
use crate::supervise;

/// The command line with these workflows.
#[derive(Debug, Default)]
pub struct App {
    workflows: Workflows,
    refused: Option<RegisterError>,
}

impl App {
    /// The command line with the workflows that AgentOS is born with.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more. Should its name be taken or be none, every command says so.
    #[must_use]
    pub fn workflow(mut self, workflow: Workflow) -> Self {
        if let Err(error) = self.workflows.add(workflow) {
            self.refused.get_or_insert(error);
        }
        self
    }

    /// Does what the process's arguments say.
    #[must_use]
    pub fn main(self) -> ExitCode {
        // A file that must not grow any further is an error where it is written, and not the end of this process.
        let _unhandled = file_size::survive_limit();
        let arguments: Vec<_> = std::env::args_os().collect();
        if let Some(code) = supervise::asked_for(&arguments) {
            return code;
        }
        if let Some(code) = agents::asked_for(&arguments) {
            return code;
        }
        match self.run(arguments) {
            Ok(code) => code,
            Err(error) => {
                output::complain(&error);
                error.exit_code()
            }
        }
    }

    fn run(self, arguments: Vec<std::ffi::OsString>) -> Result<ExitCode> {
        if let Some(error) = self.refused {
            return Err(CommandError::failed(error.to_string()));
        }
        let surroundings = Surroundings::of_this_process();
        cli::run(arguments, surroundings, Arc::new(self.workflows))
    }
}
