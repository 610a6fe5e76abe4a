//! Workflows written in Rust, as a library.

use std::sync::Arc;

use agentos_core::concurrency::Concurrency;
use agentos_core::entry::RunStarted;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Seed};
use agentos_sdk::{InputError, RunInfo, Workflows};

use super::{Invocation, Library, LibraryError, Opened};
use crate::clock::Clock;

/// The workflows of a Rust program. A run is executed by the function of its name, if that is of the version under which
/// the run started.
pub struct RustLibrary {
    workflows: Workflows,
    clock: Arc<dyn Clock>,
}

impl RustLibrary {
    /// These workflows.
    #[must_use]
    pub fn new(workflows: Workflows, clock: impl Clock) -> Self {
        Self { workflows, clock: Arc::new(clock) }
    }

    /// What a run of a workflow starts with.
    ///
    /// # Errors
    /// There is no such workflow, or the input is not what it takes.
    pub fn start(
        &self,
        run: RunId,
        workflow: &str,
        input: agentos_core::value::Value,
    ) -> Result<RunStarted, Failure> {
        let unknown = || {
            let message = format!("there is no workflow `{workflow}`");
            Failure::new(FailureKind::NonRetryable, message)
        };
        let workflow = self.workflows.find(workflow).ok_or_else(unknown)?;
        let input = workflow.accept_input(input).map_err(InputError::into_failure)?;
        // Chance that is the same whoever creates the run.
        let seed = Seed(run.0.as_u64_pair().0 ^ run.0.as_u64_pair().1);
        let start = workflow.run_started(run, input, seed, self.clock.now());
        start.map_err(|error| Failure::new(FailureKind::NonRetryable, error.to_string()))
    }
}

impl Library for RustLibrary {
    fn open(&self, start: &RunStarted) -> Result<Opened, LibraryError> {
        let (name, definition) = (start.workflow.to_string(), start.definition.clone());
        let found = self.workflows.find(&name).filter(|found| found.definition() == definition);
        let Some(workflow) = found else {
            return Err(LibraryError::Unknown { workflow: name, definition });
        };
        let program = workflow.program(RunInfo::of(start));
        let actions = Some(program.actions());
        Ok(Opened { program: Box::new(program), actions })
    }

    fn concurrency(&self, start: &RunStarted) -> Option<Concurrency> {
        let found = self.workflows.find(start.workflow.as_str())?;
        found.config().concurrency.filter(|_| found.definition() == start.definition)
    }

    fn start_of_child(&self, invocation: Invocation) -> Result<RunStarted, Failure> {
        let Invocation { child, workflow, input, parent, home } = invocation;
        let start = self.start(child, workflow.as_str(), input)?;
        Ok(RunStarted { parent: Some(parent), home: home.into(), ..start })
    }
}
