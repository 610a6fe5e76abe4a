//! `ctx`: what workflow code is given, and the only way out of it.
//!
//! Calls that ask for something are in [`crate::operations`] and `step.rs`, one file each; here is what all of them
//! share, and what is answered at once.

use std::panic::Location;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::Attempt;
use agentos_core::name::Name;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::ScopeId;
use agentos_core::time::{Millis, Timestamp};
use agentos_core::value::Value;

use crate::answer::{Answer, site};
use crate::desk::SlotId;
use crate::error::Error;
use crate::run::{Run, RunInfo};
use crate::stage::{self, Stage};

/// The powers of workflow code, within one scope: the run, one attempt at a step, or a phase.
///
/// Cheap to clone. What is asked for on a `Ctx` belongs to its scope, wherever the call stands; inside of a step use the
/// one that the step was given.
///
/// Everything is asked for **at the call** and in the order of the calls; `.await` only waits. A call that takes options
/// returns a builder, which asks when it is awaited, given to [`join`](crate::join()) and the like, or told to
/// `.start()`.
#[derive(Debug, Clone)]
pub struct Ctx {
    pub(crate) run: Arc<Run>,
    pub(crate) scope: ScopeId,
    attempt: Attempt,
}

impl Ctx {
    pub(crate) const fn new(run: Arc<Run>, scope: ScopeId, attempt: Attempt) -> Self {
        Self { run, scope, attempt }
    }

    /// Ids and paths of the run.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.run.info
    }

    /// The run's id.
    #[must_use]
    pub fn execution_id(&self) -> &str {
        &self.run.info.execution_id
    }

    /// The run's short, readable id.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run.info.run_id
    }

    /// The project's id.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.run.info.project_id
    }

    /// Where the project is.
    #[must_use]
    pub fn project_path(&self) -> &Path {
        &self.run.info.project_path
    }

    /// Where the run works.
    #[must_use]
    pub fn workspace_path(&self) -> &Path {
        &self.run.info.workspace_path
    }

    /// Which attempt at its step this is, from 1.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt.0
    }

    /// The time, as far as the run can know it: that of the latest answer. It stands still while code runs.
    ///
    /// # Errors
    /// Called outside of the workflow's code.
    pub fn now(&self) -> Result<Timestamp, Failure> {
        self.enter(|stage| stage.door.now())
    }

    /// A random number from 0 (included) to 1 (excluded), the same whenever the run is executed again.
    ///
    /// # Errors
    /// Called outside of the workflow's code.
    pub fn random(&self) -> Result<f64, Failure> {
        self.enter(|stage| stage.door.random())
    }

    /// Ends the step as skipped: `return Err(ctx.skip("nothing to do"))`. Whoever awaits the step gets `null`, so its
    /// result should be an `Option` or `()`.
    #[must_use = "return it as an error: `return Err(ctx.skip(…))`"]
    pub fn skip(&self, reason: impl Into<String>) -> Error {
        Error::skip(reason.into())
    }

    pub(crate) fn enter<R>(&self, act: impl FnOnce(&mut Stage<'_>) -> R) -> Result<R, Failure> {
        stage::enter(&self.run, act)
    }

    /// Asks for an operation. A request that could not be made is refused in the same way as one that the run refuses.
    pub(crate) fn order(
        &self,
        request: Result<Request, Failure>,
        from: &Location<'_>,
    ) -> Result<SlotId, Failure> {
        self.enter(|stage| {
            let asked =
                request.and_then(|request| stage.door.request(self.scope, request.at(site(from))));
            stage.desk.expect(self.scope, asked)
        })
    }

    /// Asks for an operation, and waits for its answer later.
    pub(crate) fn ask<T>(
        &self,
        request: Result<Request, Failure>,
        from: &Location<'_>,
    ) -> Answer<T> {
        Answer::new(&self.run, self.order(request, from))
    }
}

/// A request for something that is performed in the world.
pub(crate) fn perform(kind: OperationKind, name: &str, args: Value) -> Result<Request, Failure> {
    Request::perform(kind, named(name)?, args)
        .map_err(|error| Failure::new(FailureKind::NonRetryable, error.to_string()))
}

/// A name that a workflow's author chose.
pub(crate) fn named(text: &str) -> Result<Name, Failure> {
    Name::new(text).map_err(|error| {
        let start: String = text.chars().take(40).collect();
        Failure::new(FailureKind::NonRetryable, format!("`{start}` can't be a name: {error}"))
    })
}

/// A span in the unit of the log. What is begun counts as a whole millisecond: nobody is woken early.
pub(crate) fn millis(span: Duration) -> Millis {
    Millis::new(u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}
