//! The seam between the core and whatever executes workflow code.
//!
//! A program is code that has no power of its own. It is resumed with one [`Delivery`] at a time, runs until all of
//! it waits, and speaks to the world only through the [`Door`] that it was handed. Given the same deliveries it must
//! do the same things; everything in this crate rests on that.
//!
//! TypeScript in an embedded engine and Rust futures both fit: a [`Ticket`] is what a promise or future is waiting
//! on, a [`ScopeId`] is what a `ctx` object stands for.

use crate::entry::CommentOn;
use crate::execution::Cursor;
use crate::failure::Failure;
use crate::id::Attempt;
use crate::name::Name;
use crate::operation::Request;
use crate::retry::RetryPolicy;
use crate::source::{BodyText, Site};
use crate::time::{Millis, Timestamp};
use crate::turn::LogLevel;
use crate::value::Value;

/// The scope that a `ctx` object stands for, within one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(pub(crate) usize);

/// Something asked for and not yet answered, within one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) usize);

/// What makes a program go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// The workflow begins: call its function.
    Run {
        /// The run's scope.
        scope: ScopeId,
        /// The run's input.
        input: Value,
    },
    /// A step or phase begins: call its body.
    Body {
        /// The step that was asked for.
        ticket: Ticket,
        /// The scope of this attempt.
        scope: ScopeId,
        /// Which attempt it is.
        attempt: Attempt,
    },
    /// Something that was asked for is answered: settle its promise.
    Answer {
        /// What was asked for.
        ticket: Ticket,
        /// The answer.
        result: Result<Value, Failure>,
    },
}

/// How the body of a run, step or phase came to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyOutcome {
    /// It returned.
    Returned(Value),
    /// It threw.
    Threw(Failure),
    /// It called `skip`.
    Skipped(String),
}

/// How a step is executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOptions {
    /// How it is retried.
    pub retry: RetryPolicy,
    /// How long each attempt may take.
    pub timeout: Option<Millis>,
    /// Whether files go back to how they were before it, when it is tried again. Whoever performs operations sees to that.
    pub rolls_back: bool,
    /// What its body says, where the program can tell.
    pub body: Option<BodyText>,
    /// Where in the source it is asked for.
    pub site: Option<Site>,
}

/// Something that executes workflow code.
pub trait Program {
    /// Goes on with one delivery until all code waits. Bodies that come to their end are reported to the door.
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>);

    /// The first rejection belonging to `scope` that no code has handled so far. Asked when the scope is about to end;
    /// what a cancellation caused does not count.
    fn unhandled(&self, scope: ScopeId) -> Option<Failure>;
}

/// A program behind a pointer: whoever drives runs of several languages keeps them like this.
impl<P: Program + ?Sized> Program for Box<P> {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        (**self).resume(delivery, door);
    }

    fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        (**self).unhandled(scope)
    }
}

/// Where workflow code speaks to the world: the powers of `ctx`.
///
/// Requests are answered by a later [`Delivery`]; everything else is synchronous and read at the cursor, never from
/// the end of the log.
#[derive(Debug)]
pub struct Door<'a> {
    pub(crate) cursor: &'a mut Cursor,
}

impl Door<'_> {
    /// The same door for a shorter time, for a program that hands it on to the code it executes.
    pub fn reborrow(&mut self) -> Door<'_> {
        Door { cursor: self.cursor }
    }

    /// Asks for an operation.
    ///
    /// # Errors
    /// The scope takes no more operations, or a bound is broken: the call is rejected at once.
    pub fn request(&mut self, scope: ScopeId, request: Request) -> Result<Ticket, Failure> {
        self.cursor.request_operation(scope, request)
    }

    /// Asks for a step.
    ///
    /// # Errors
    /// As [`Door::request`].
    pub fn step(
        &mut self,
        scope: ScopeId,
        name: Name,
        options: StepOptions,
    ) -> Result<Ticket, Failure> {
        self.cursor.request_step(scope, &name, Some(options))
    }

    /// Asks for a phase.
    ///
    /// # Errors
    /// As [`Door::request`].
    pub fn phase(&mut self, scope: ScopeId, name: Name) -> Result<Ticket, Failure> {
        self.cursor.request_step(scope, &name, None)
    }

    /// Reports that the body of a scope came to its end. What else happens until the program waits still counts as
    /// having been asked for before.
    pub fn finish(&mut self, scope: ScopeId, outcome: BodyOutcome) {
        self.cursor.body_finished(scope, outcome);
    }

    /// Writes to the run's state; without a value the key is removed.
    ///
    /// # Errors
    /// The scope is over, or the value breaks a bound.
    pub fn set(&mut self, scope: ScopeId, key: Name, value: Option<Value>) -> Result<(), Failure> {
        self.cursor.write_state(scope, key, value)
    }

    /// Reads the run's state.
    #[must_use]
    pub fn get(&self, key: &Name) -> Option<&Value> {
        self.cursor.read_state(key)
    }

    /// Adds to the audit trail.
    ///
    /// # Errors
    /// The scope is over, or the remark breaks a bound.
    pub fn comment(
        &mut self,
        scope: ScopeId,
        on: CommentOn,
        message: String,
        meta: Value,
    ) -> Result<(), Failure> {
        self.cursor.add_comment(scope, on, message, meta)
    }

    /// Writes a line to the run's log files.
    pub fn log(&mut self, scope: ScopeId, level: LogLevel, message: String) {
        self.cursor.log(scope, level, message, false);
    }

    /// Warns of something in the workflow's code: a line in the log files, and a remark on the run. Nothing else follows
    /// from it, so a program of a later version may warn of what an earlier one passed over.
    pub fn warn(&mut self, scope: ScopeId, message: String) {
        self.cursor.log(scope, LogLevel::Warn, message, true);
    }

    /// The time, as far as the program can know it: that of the latest delivery.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.cursor.now()
    }

    /// A random number from 0 (included) to 1 (excluded).
    pub fn random(&mut self) -> f64 {
        self.cursor.random()
    }

    /// The identity of what a ticket was handed out for, as it stands in the log.
    #[must_use]
    pub fn identity(&self, ticket: Ticket) -> String {
        self.cursor.identity(ticket)
    }

    /// The path of a scope, as it stands in the log.
    #[must_use]
    pub fn path(&self, scope: ScopeId) -> String {
        self.cursor.path(scope)
    }
}
