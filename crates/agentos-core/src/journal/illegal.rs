//! Why an entry does not fit its log.

use thiserror::Error;

use crate::id::{InboxKey, Seq, StepNumber, Try};
use crate::path::{OperationId, ScopePath, StepPath};
use crate::time::Timestamp;

/// An entry that does not fit what is recorded before it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("log entry {seq} (`{kind}`) is illegal: {reason}")]
pub struct IllegalEntry {
    /// Where.
    pub seq: Seq,
    /// The entry's kind.
    pub kind: &'static str,
    /// Why.
    pub reason: Illegal,
}

/// Why an entry is illegal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Illegal {
    /// Entries are missing, repeated or out of order.
    #[error("position {expected} was expected")]
    Gap {
        /// The position that comes next.
        expected: Seq,
    },
    /// It is older than the entry before.
    #[error("it is older than the entry before it, which is of {last}")]
    TimeBackwards {
        /// The time of the entry before.
        last: Timestamp,
    },
    /// The log does not begin with the run's start.
    #[error("the run has not started")]
    NotStarted,
    /// The run is over.
    #[error("the run has ended")]
    AfterEnd,
    /// It is recorded already.
    #[error("{what} is recorded already")]
    Repeated {
        /// What.
        what: String,
    },
    /// No such scope is alive: never begun, or over.
    #[error("the scope `{scope}` is not alive")]
    DeadScope {
        /// The scope.
        scope: ScopePath,
    },
    /// The step was never asked for.
    #[error("the step `{step}` is not known")]
    UnknownStep {
        /// The step.
        step: StepPath,
    },
    /// The operation was never ordered.
    #[error("the operation `{operation}` is not known")]
    UnknownOperation {
        /// The operation.
        operation: OperationId,
    },
    /// The signal never arrived.
    #[error("the signal `{key}` is not known")]
    UnknownSignal {
        /// The signal.
        key: InboxKey,
    },
    /// The entry does not go with an operation of this kind.
    #[error("it does not go with an operation such as `{operation}`")]
    WrongKind {
        /// The operation.
        operation: OperationId,
    },
    /// The step or operation is not in a state from which this can follow.
    #[error("it can't follow on `{of}` being {state}")]
    OutOfOrder {
        /// The step or operation.
        of: String,
        /// Its state.
        state: &'static str,
    },
    /// It speaks of another try than the current one.
    #[error("try {expected} was expected")]
    WrongTry {
        /// The try that would fit.
        expected: Try,
    },
    /// It has another row number than the next one.
    #[error("step number {expected} was expected")]
    WrongNumber {
        /// The number that comes next.
        expected: StepNumber,
    },
    /// A timer fired before its time, or there is no timer.
    #[error("its time has not come")]
    TooEarly,
    /// Something in the scope has no answer yet.
    #[error("{open} operations or steps of `{scope}` are still open")]
    LeftOpen {
        /// The scope.
        scope: ScopePath,
        /// How many.
        open: u32,
    },
    /// Steps are nested too deep.
    #[error("steps are nested too deep")]
    TooDeep,
}
