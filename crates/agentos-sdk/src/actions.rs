//! The closures of `ctx.effect`, from the call until somebody may run them.
//!
//! An effect is ordered like any operation; what it does is a future that only this process has. It waits here, under
//! the operation's identity, until the order is committed and whoever drives the run takes it. An effect that the log
//! already answers is never performed: its future is dropped, unpolled, when the answer is delivered.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_core::failure::Failure;
use agentos_core::path::OperationId;
use agentos_core::value::Value;

use crate::panics;

/// Work that waits for things.
pub type Work = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// The work of one effect. A panic in it comes out as a failure.
pub enum Action {
    /// It waits for things, and shares its thread with others meanwhile.
    Waits(Work),
    /// It blocks its thread, so it needs one of its own.
    Blocks(Box<dyn FnOnce() -> Result<Value, Failure> + Send>),
}

impl IntoFuture for Action {
    type Output = Result<Value, Failure>;
    type IntoFuture = Work;

    /// Does the work wherever this is polled, blocking or not.
    fn into_future(self) -> Work {
        match self {
            Self::Waits(work) => work,
            Self::Blocks(work) => Box::pin(async { work() }),
        }
    }
}

/// The effects of one execution that were asked for and not begun. Clones share them.
#[derive(Clone, Default)]
pub struct Actions(Arc<Mutex<HashMap<OperationId, Action>>>);

impl Actions {
    /// Takes the work of an effect, to perform it. Call this for an `Effect::Perform` of kind `effect`, after the commit.
    ///
    /// `None` if this execution did not ask for it, or if it was taken before: work can be begun once in an execution.
    /// One that was interrupted is begun again by executing the program anew.
    #[must_use]
    pub fn take(&self, operation: &OperationId) -> Option<Action> {
        self.lock().remove(operation)
    }

    /// Whether there is work for an effect that nobody has taken.
    #[must_use]
    pub fn has(&self, operation: &OperationId) -> bool {
        self.lock().contains_key(operation)
    }

    pub(crate) fn keep(&self, operation: OperationId, action: Action) {
        self.lock().insert(operation, action);
    }

    /// Drops work that will not be needed.
    pub(crate) fn discard(&self, operation: &OperationId) {
        let unneeded = self.lock().remove(operation);
        // Not under the lock: dropping runs code of the workflow.
        panics::drop_quietly(unneeded);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OperationId, Action>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}
