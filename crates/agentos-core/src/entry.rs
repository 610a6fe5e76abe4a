//! The entries of a run log: every fact that a run is made of.
//!
//! Entries are facts, not commands: once committed they stay, in this spelling, for ever. Recorded logs are kept as
//! fixtures that every later version must fold, so a field is never renamed and never changes its meaning; a new
//! need gets a new field with a default or a new kind.
//!
//! Some entries are *deliverable*: they run program code, one at a time, in the order of their positions (see
//! [`crate::execution`]). The others only record.

mod hold;
mod kept;
mod kind;
mod part;
mod start;

use serde::{Deserialize, Serialize};

pub use hold::{Hold, HoldKind};
pub use kept::{Act, ActCause, AnswerTimes, Deed, KeptAnswer, KeptBody};
pub(crate) use part::decision;
pub use part::{Abandoned, CloseCause, OperationResult, RunOutcome, ScopeClosing, StepOutcome};
pub use start::{Home, Parent, RunStarted};

use crate::failure::Failure;
use crate::id::{InboxKey, RunId, Seq, StepNumber, Try};
use crate::name::Name;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::retry::RetryPolicy;
use crate::source::{BodyText, Site};
use crate::time::{Millis, Timestamp};
use crate::value::{Value, present};

/// An entry with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its position.
    pub seq: Seq,
    /// When it was recorded. Never earlier than the entry before.
    pub at: Timestamp,
    /// The entry under whose delivery it was decided; without one, it came in from outside.
    pub by: Option<Seq>,
    /// The fact.
    pub entry: Entry,
}

impl Record {
    /// A fact that came in from outside.
    #[must_use]
    pub const fn new(seq: Seq, at: Timestamp, entry: Entry) -> Self {
        Self { seq, at, by: None, entry }
    }
}

/// What a comment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentOn {
    /// The step in whose scope it was made.
    Step,
    /// The run.
    Run,
}

const fn first_try() -> Try {
    Try::FIRST
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_first_try(r#try: &Try) -> bool {
    *r#try == Try::FIRST
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// One fact of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum Entry {
    /// The run exists. *Delivered:* starts the workflow's body.
    #[serde(rename = "run.started")]
    RunStarted(RunStarted),

    /// Somebody wants the run to end. *Delivered:* cancels what is open; a second wish changes nothing.
    #[serde(rename = "run.cancel_requested")]
    CancelRequested {
        /// The message's key.
        key: InboxKey,
        /// Why, if they said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },

    /// Somebody drives the run again after nobody did for a while. *Delivered:* that while does not count for the
    /// timeouts of steps.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// For how long nobody did.
        away_ms: Millis,
    },

    /// What stands before this was executed anew from recorded answers; from here on the run lives by itself.
    /// *Delivered:* the time in between does not count for the timeouts of steps.
    #[serde(rename = "run.rebased")]
    RunRebased {
        /// The time in between.
        away_ms: Millis,
    },

    /// The run can't go on: it waits for nothing, or reached a bound. *Delivered:* closes it with this failure.
    #[serde(rename = "run.failing")]
    RunFailing {
        /// Why.
        failure: Failure,
    },

    /// The run is over.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// How.
        outcome: RunOutcome,
    },

    /// From here on the run executes another source. What follows is its log under that source, from the start, with
    /// every answer that it had; what stands before is kept for the record.
    #[serde(rename = "source.switched")]
    SourceSwitched {
        /// The hash of the new source's modules.
        definition: String,
        /// Operations that were open and that the new source did not ask for: they are stopped.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        abandoned: Vec<Abandoned>,
        /// Whether steps keep the numbers that they had under earlier sources, and new ones take the next unused number.
        /// Without it numbers begin again with 1, as they did in logs of earlier versions.
        #[serde(default, skip_serializing_if = "is_false")]
        keeps_numbers: bool,
    },

    /// Answers that the run has from an earlier source or from the run it was forked from, to operations that were not
    /// asked for yet. Whoever asks is answered at once.
    #[serde(rename = "answers.kept")]
    AnswersKept {
        /// The answers.
        answers: Vec<KeptAnswer>,
    },

    /// An abandoned operation is proven dead. *Delivered:* the run may end without it.
    #[serde(rename = "operation.abandoned_ended")]
    AbandonedEnded {
        /// The operation.
        operation: OperationId,
    },

    /// The program asked for a step or phase.
    #[serde(rename = "step.requested")]
    StepRequested {
        /// The step.
        step: StepPath,
        /// Its row; a phase has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<StepNumber>,
        /// How it is retried.
        retry: RetryPolicy,
        /// How long each of its attempts may take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<Millis>,
        /// Whether files go back to how they were before it, when it is tried again.
        #[serde(default, skip_serializing_if = "is_false")]
        rolls_back: bool,
        /// What its body says, if the source can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<BodyText>,
        /// Where in the source it was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        site: Option<Site>,
    },

    /// A step that is asked for next, or some day, had finished under an earlier source. If its body says something else
    /// now, it is not executed: what it once asked for and wrote is played again, and its outcome stays.
    #[serde(rename = "body.kept")]
    BodyKept(KeptBody),

    /// An attempt begins. *Delivered:* starts its body.
    #[serde(rename = "attempt.started")]
    AttemptStarted {
        /// The attempt.
        scope: ScopePath,
        /// From when its time counts, if not from here: in a history that is executed anew, what is new begins when
        /// that is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counts_from: Option<Timestamp>,
    },

    /// An attempt failed and there will be another.
    #[serde(rename = "attempt.failed")]
    AttemptFailed {
        /// The attempt.
        scope: ScopePath,
        /// Why.
        failure: Failure,
        /// When the next one begins.
        retry_at: Timestamp,
    },

    /// A step or phase is over. *Delivered:* answers whoever asked for it.
    #[serde(rename = "step.ended")]
    StepEnded {
        /// The step.
        step: StepPath,
        /// How.
        outcome: StepOutcome,
    },

    /// A scope stopped accepting ordinary work; what it had open is cancelled.
    #[serde(rename = "scope.closing")]
    ScopeClosing(ScopeClosing),

    /// A closing scope's grace is over. *Delivered:* the scope refuses whatever is still asked for.
    #[serde(rename = "scope.grace_expired")]
    GraceExpired {
        /// The scope.
        scope: ScopePath,
    },

    /// An attempt took too long. *Delivered:* ends it with that failure.
    #[serde(rename = "attempt.timed_out")]
    AttemptTimedOut {
        /// The attempt.
        scope: ScopePath,
    },

    /// The program asked for an operation. Whatever it does in the world starts after this is committed.
    #[serde(rename = "operation.ordered")]
    OperationOrdered {
        /// The operation.
        operation: OperationId,
        /// The row of the step that it forms by itself, when it was asked for outside a step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<StepNumber>,
        /// What it was asked for with.
        args: Value,
        /// When its timer fires, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
        /// The child run to be created, if it is an invocation. It is known before the child is, so that creating it
        /// again does nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<RunId>,
        /// The try, if it is not the first because a source switch left an earlier one behind.
        #[serde(default = "first_try", skip_serializing_if = "is_first_try")]
        r#try: Try,
        /// Where in the source it was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        site: Option<Site>,
    },

    /// An operation is known to have started.
    #[serde(rename = "operation.started")]
    OperationStarted {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
        /// Where it can be found again: a process, a session id.
        detail: Value,
    },

    /// A try came to nothing: whoever executed it died.
    #[serde(rename = "operation.interrupted")]
    OperationInterrupted {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
    },

    /// An interrupted operation is executed again.
    #[serde(rename = "operation.retried")]
    OperationRetried {
        /// The operation.
        operation: OperationId,
        /// The new try.
        r#try: Try,
    },

    /// An operation can't be begun yet: it waits for a person, or for room. Nothing of it was done.
    #[serde(rename = "operation.held")]
    OperationHeld {
        /// The operation.
        operation: OperationId,
        /// The try.
        r#try: Try,
        /// What it waits for.
        hold: Hold,
    },

    /// A held operation may be tried again, under the same try: nothing of that was done.
    #[serde(rename = "operation.released")]
    OperationReleased {
        /// The operation.
        operation: OperationId,
        /// What a person has approved, if that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        granted: Option<String>,
    },

    /// A running operation is to be stopped. Its end is recorded when it is proven dead.
    #[serde(rename = "operation.cancel_ordered")]
    OperationCancelOrdered {
        /// The operation.
        operation: OperationId,
    },

    /// An operation is over. *Delivered:* answers whoever asked for it.
    #[serde(rename = "operation.ended")]
    OperationEnded {
        /// The operation.
        operation: OperationId,
        /// What came out.
        result: OperationResult,
    },

    /// A child run ended. *Delivered:* answers whoever invoked it.
    #[serde(rename = "child.ended")]
    ChildEnded {
        /// The message's key.
        key: InboxKey,
        /// The invocation.
        operation: OperationId,
        /// How.
        outcome: RunOutcome,
    },

    /// The time of a sleep or of a wait's timeout has come. *Delivered:* answers it, unless something else did.
    #[serde(rename = "timer.fired")]
    TimerFired {
        /// The operation.
        operation: OperationId,
    },

    /// A signal came in. *Delivered:* answers every open wait of its name, or is kept for the next.
    #[serde(rename = "signal.arrived")]
    SignalArrived {
        /// The message's key.
        key: InboxKey,
        /// Its name.
        name: Name,
        /// What it carries.
        payload: Value,
    },

    /// A person decided. *Delivered:* answers the question, if it is still open; a decision is never kept for another.
    #[serde(rename = "approval.given")]
    ApprovalGiven {
        /// The message's key.
        key: InboxKey,
        /// The question.
        operation: OperationId,
        /// Yes or no.
        approved: bool,
        /// Who.
        by: String,
        /// What they said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },

    /// A kept signal meets a new wait of its name. *Delivered:* as the arrival.
    #[serde(rename = "signal.offered")]
    SignalOffered {
        /// The signal.
        key: InboxKey,
        /// The wait that was asked for.
        operation: OperationId,
    },

    /// A signal answered a wait, or a decision its question.
    #[serde(rename = "signal.consumed")]
    SignalConsumed {
        /// The signal.
        key: InboxKey,
        /// The wait.
        operation: OperationId,
    },

    /// The program wrote to the run's state.
    #[serde(rename = "state.written")]
    StateWritten {
        /// The write's identity; its name is the key.
        operation: OperationId,
        /// The new value; without it, the key is gone.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },

    /// The program made a remark.
    #[serde(rename = "comment.added")]
    CommentAdded {
        /// The remark's identity.
        operation: OperationId,
        /// What it belongs to.
        on: CommentOn,
        /// The remark.
        message: String,
        /// Whatever else was said.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        meta: Value,
    },
}
