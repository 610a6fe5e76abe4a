//! What the core wants done in the world, and what the world tells it.
//!
//! Effects are values: they are performed only after the turn that returned them is committed. Performing is
//! idempotent by (operation, try): after a crash the same effect is returned again, and whoever performs it finds
//! what is already running.

use crate::entry::{Hold, OperationResult};
use crate::failure::{Failure, FailureKind};
use crate::id::{RunId, Try};
use crate::inbox::Message;
use crate::operation::OperationKind;
use crate::path::{OperationId, ScopePath};
use crate::value::Value;

/// Something to do in the world.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Execute the operation, or find it if it already runs, and report how it goes.
    Perform {
        /// The operation.
        operation: OperationId,
        /// Its kind.
        kind: OperationKind,
        /// The try.
        r#try: Try,
        /// What it was asked for with.
        args: Value,
        /// The run to be created, if it is an invocation.
        child: Option<RunId>,
        /// What the latest try that started said of itself: where to find it, or which session to resume.
        started: Option<Value>,
        /// What a person has approved for it.
        granted: Option<String>,
    },
    /// Stop the operation and report when it is proven dead. One that never started is dead.
    Stop {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
        /// The run to be cancelled, if it is an invocation. Its own end proves it dead.
        child: Option<RunId>,
    },
}

impl Effect {
    /// The operation that this is about.
    #[must_use]
    pub const fn operation(&self) -> &OperationId {
        match self {
            Self::Perform { operation, .. } | Self::Stop { operation, .. } => operation,
        }
    }
}

/// A timer that a run has running.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Of a sleep or of a wait's timeout.
    Operation(OperationId),
    /// The back-off after this failed attempt.
    Retry(ScopePath),
    /// The grace of this closing scope.
    Grace(ScopePath),
    /// The timeout of this attempt.
    Attempt(ScopePath),
    /// The run's active time.
    Run,
    /// The run's deadline.
    Deadline,
}

impl Timer {
    /// How a run fails when this timer fires, if it is one of its own.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let message = match self {
            Self::Run => "the run was active for too long",
            Self::Deadline => "the run's deadline has come",
            Self::Operation(_) | Self::Retry(_) | Self::Grace(_) | Self::Attempt(_) => return None,
        };
        Some(Failure::new(FailureKind::Timeout, message))
    }
}

/// What the world tells a run. All of it may come late, twice or in any order.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// An operation started.
    Started {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
        /// Where it can be found again.
        detail: Value,
    },
    /// An operation ended.
    Ended {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
        /// What came out.
        result: OperationResult,
    },
    /// Whoever executed an operation died, and nothing of it is alive.
    Interrupted {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
    },
    /// An operation can't be begun yet, and nothing of it was done.
    Held {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
        /// What it waits for.
        hold: Hold,
    },
    /// A held operation may have what it waited for, a slot or room on the disk: it is tried again.
    Admitted {
        /// The operation.
        operation: OperationId,
    },
    /// A timer's time has come.
    Timer(Timer),
    /// A message is in the inbox.
    Message(Message),
    /// Somebody drives the run again; how long nobody did is seen from the log.
    Resumed,
}
