//! What comes before a workflow: its workspace is set up.
//!
//! The command is an operation of the run like any other, asked for before the workflow's own code begins: it has a step of
//! its own with a log and a duration, it is found again after a crash, and a retry executes it again if it failed. Whether
//! there is one stands in the run's first entry, so every execution asks for the same.

use agentos_core::entry::{Home, RunStarted};
use agentos_core::failure::Failure;
use agentos_core::name::Name;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::path::OperationId;
use agentos_core::program::{BodyOutcome, Delivery, Door, Program, ScopeId, Ticket};
use agentos_core::value::Value;
use serde_json::json;

use super::{Library, LibraryError, Opened};

/// What the step is called.
const SETUP: &str = "setup";

/// Its operation: the first of this name, outside of all steps.
const OPERATION: &str = "/shell:setup#1";

/// How long it may take, in milliseconds.
const TIMEOUT_MS: u64 = 3_600_000;

/// Opens the program of a run, with what comes before it.
pub(crate) fn open(library: &dyn Library, start: &RunStarted) -> Result<Opened, LibraryError> {
    let opened = library.open(start)?;
    if start.home.setup.is_empty() {
        return Ok(opened);
    }
    let (command, program) = (start.home.setup.clone(), opened.program);
    Ok(Opened { program: Box::new(Prelude { command, program, under_way: None }), ..opened })
}

/// Whether an operation of a run sets its workspace up.
pub(crate) fn is_setup(home: &Home, operation: &OperationId) -> bool {
    !home.setup.is_empty() && operation.as_str() == OPERATION
}

/// A program that begins when its workspace is set up.
struct Prelude {
    command: String,
    program: Box<dyn Program>,
    /// What is waited for, and what the program begins with then.
    under_way: Option<(Ticket, ScopeId, Value)>,
}

impl Prelude {
    fn ask(&self, scope: ScopeId, door: &mut Door<'_>) -> Result<Ticket, Failure> {
        let wrong = |error: String| Failure::new(agentos_core::failure::FailureKind::Error, error);
        let name = Name::new(SETUP).map_err(|error| wrong(error.to_string()))?;
        let args = json!({ "command": self.command, "timeout_ms": TIMEOUT_MS });
        let request = Request::perform(OperationKind::Shell, name, args);
        door.request(scope, request.map_err(|error| wrong(error.to_string()))?)
    }
}

impl Program for Prelude {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        match (delivery, self.under_way.take()) {
            (Delivery::Run { scope, input }, _) => match self.ask(scope, door) {
                Ok(ticket) => self.under_way = Some((ticket, scope, input)),
                Err(failure) => door.finish(scope, BodyOutcome::Threw(failure)),
            },
            (Delivery::Answer { ticket, result }, Some((asked, scope, input)))
                if ticket == asked =>
            {
                match result {
                    Ok(_) => self.program.resume(Delivery::Run { scope, input }, door),
                    Err(failure) => door.finish(scope, BodyOutcome::Threw(failure)),
                }
            }
            (delivery, under_way) => {
                self.under_way = under_way;
                self.program.resume(delivery, door);
            }
        }
    }

    fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        match self.under_way {
            Some(_) => None,
            None => self.program.unhandled(scope),
        }
    }
}
