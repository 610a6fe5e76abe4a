//! The recorded life of an operation: ordered, started, interrupted and tried again, stopped, ended.
//!
//! This is the protocol of an effect. Whoever performs it may die at any moment; what is recorded here decides what
//! the next one does.

use super::illegal::Illegal;
use super::{Deliverable, Journal, Placed};
use crate::entry::{Hold, OperationResult, RunOutcome};
use crate::id::{InboxKey, RunId, Seq, StepNumber, Try};
use crate::operation::{OperationKind, Treatment};
use crate::path::OperationId;
use crate::time::Timestamp;
use crate::value::Value;

/// An operation as the log knows it.
#[derive(Debug)]
pub(crate) struct OperationRecord {
    /// Its step's number, if it forms a step of its own.
    pub(crate) number: Option<StepNumber>,
    pub(crate) args: Value,
    pub(crate) due: Option<Timestamp>,
    pub(crate) child: Option<RunId>,
    pub(crate) r#try: Try,
    /// Where the latest try that started could be found.
    pub(crate) started: Option<Value>,
    pub(crate) cancel_ordered: bool,
    /// What it was last held for, and where that is recorded.
    held: Option<Placed<Hold>>,
    /// When it was last held.
    held_at: Option<Timestamp>,
    /// How often it was held for something that has a limit.
    pub(crate) limited_holds: u32,
    /// What a person has approved for it.
    pub(crate) granted: Option<String>,
    /// The kept signal that it was offered, where that is recorded.
    pub(crate) offered: Option<Seq>,
    /// When its timer is recorded to have fired.
    pub(crate) fired: Option<Seq>,
    pub(crate) ended: Option<Placed<OperationResult>>,
    state: State,
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ordered,
    Started,
    Interrupted,
    Held,
    Fired,
    Consumed,
    Ended,
}

/// What happens to an ordered operation.
pub(super) enum Progress {
    Started { r#try: Try, detail: Value },
    Interrupted { r#try: Try },
    Retried { r#try: Try },
    Held { r#try: Try, hold: Placed<Hold> },
    Released { granted: Option<String> },
    CancelOrdered,
    Fired { seq: Seq },
    Consumed,
    Ended(Placed<OperationResult>),
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Started => "started",
            Self::Interrupted => "interrupted",
            Self::Held => "held",
            Self::Fired => "past its time",
            Self::Consumed => "answered by a signal",
            Self::Ended => "ended",
        }
    }
}

fn is_performed(operation: &OperationId) -> bool {
    operation.kind().is_some_and(|kind| kind.treatment() == Treatment::Performed)
}

/// Whether an operation is of this kind.
pub(super) fn is(operation: &OperationId, kind: OperationKind) -> bool {
    operation.kind() == Some(kind)
}

impl OperationRecord {
    pub(super) fn new(
        args: Value,
        due: Option<Timestamp>,
        child: Option<RunId>,
        r#try: Try,
    ) -> Self {
        Self {
            number: None,
            child,
            args,
            due,
            r#try,
            started: None,
            cancel_ordered: false,
            held: None,
            held_at: None,
            limited_holds: 0,
            granted: None,
            offered: None,
            fired: None,
            ended: None,
            state: State::Ordered,
        }
    }

    /// Whether an answer is recorded.
    pub(crate) const fn is_answered(&self) -> bool {
        matches!(self.state, State::Fired | State::Consumed | State::Ended)
    }

    /// What it is held for, while it is.
    pub(crate) fn hold(&self) -> Option<&Placed<Hold>> {
        self.held.as_ref().filter(|_| self.state == State::Held)
    }

    /// Since when it is held, while it is.
    pub(crate) fn held_at(&self) -> Option<Timestamp> {
        self.held_at.filter(|_| self.state == State::Held)
    }

    /// Whether the current try is recorded to have started.
    pub(crate) const fn is_started(&self) -> bool {
        matches!(self.state, State::Started)
    }

    /// The position of the answer that is delivered by itself (a signal's is delivered by the signal).
    pub(crate) fn answer(&self) -> Option<Seq> {
        self.ended.as_ref().map(|ended| ended.seq).or(self.fired)
    }

    /// The one table of what may follow on what.
    fn next(
        &self,
        id: &OperationId,
        at: Timestamp,
        treatment: Treatment,
        progress: &Progress,
    ) -> Result<State, Illegal> {
        let alive = matches!(
            self.state,
            State::Ordered | State::Started | State::Interrupted | State::Held
        );
        match (treatment, self.state, progress) {
            (
                Treatment::Performed | Treatment::Invoked,
                State::Ordered,
                Progress::Started { r#try, .. },
            ) => self.same_try(*r#try).map(|()| State::Started),
            (
                Treatment::Performed,
                State::Ordered | State::Started,
                Progress::Interrupted { r#try },
            ) => self.same_try(*r#try).map(|()| State::Interrupted),
            (Treatment::Performed, State::Interrupted, Progress::Retried { r#try })
                if !self.cancel_ordered =>
            {
                if *r#try == self.r#try.next() {
                    Ok(State::Ordered)
                } else {
                    Err(Illegal::WrongTry { expected: self.r#try.next() })
                }
            }
            (
                Treatment::Performed,
                State::Ordered | State::Started,
                Progress::Held { r#try, .. },
            ) => self.same_try(*r#try).map(|()| State::Held),
            (Treatment::Performed, State::Held, Progress::Released { .. })
                if !self.cancel_ordered =>
            {
                Ok(State::Ordered)
            }
            (Treatment::Performed | Treatment::Invoked, state, Progress::CancelOrdered)
                if alive && !self.cancel_ordered =>
            {
                Ok(state)
            }
            (Treatment::Performed | Treatment::Invoked, _, Progress::Ended(_)) if alive => {
                Ok(State::Ended)
            }
            (Treatment::Timed | Treatment::Signalled, State::Ordered, Progress::Ended(ended))
                if ended.value == OperationResult::Cancelled {} =>
            {
                Ok(State::Ended)
            }
            (Treatment::Timed | Treatment::Signalled, State::Ordered, Progress::Fired { .. }) => {
                self.due.filter(|due| *due <= at).map(|_| State::Fired).ok_or(Illegal::TooEarly)
            }
            // A signal that came first wins over a timeout that is recorded but not delivered yet.
            (Treatment::Signalled, State::Ordered | State::Fired, Progress::Consumed) => {
                Ok(State::Consumed)
            }
            (_, state, _) => Err(Illegal::OutOfOrder { of: id.to_string(), state: state.as_str() }),
        }
    }

    fn same_try(&self, found: Try) -> Result<(), Illegal> {
        if found == self.r#try { Ok(()) } else { Err(Illegal::WrongTry { expected: self.r#try }) }
    }
}

impl Journal {
    pub(super) fn operation_ordered(
        &mut self,
        at: Timestamp,
        id: OperationId,
        number: Option<StepNumber>,
        record: OperationRecord,
    ) -> Result<(), Illegal> {
        self.check_number(id.as_str(), number)?;
        let fits = match id.kind().map(OperationKind::treatment) {
            Some(Treatment::Performed) => record.due.is_none() && record.child.is_none(),
            Some(Treatment::Invoked) => record.child.is_some() && record.due.is_none(),
            Some(Treatment::Timed) => record.due.is_some(),
            Some(Treatment::Signalled) => true,
            Some(Treatment::Noted) | None => false,
        };
        if !fits {
            return Err(Illegal::WrongKind { operation: id });
        }
        if self.operations.contains_key(&id) {
            return Err(Illegal::Repeated { what: id.to_string() });
        }
        self.live_scope_mut(&id.scope())?.open += 1;
        if is_performed(&id) {
            self.activity.begin(at);
        }
        self.operations.insert(id, OperationRecord { number, ..record });
        self.take_number(number);
        Ok(())
    }

    /// An operation waits before it begins.
    pub(super) fn operation_held(
        &mut self,
        seq: Seq,
        at: Timestamp,
        id: &OperationId,
        (r#try, hold): (Try, Hold),
    ) -> Result<(), Illegal> {
        let hold = Placed { seq, value: hold };
        self.progress(at, id, &Progress::Held { r#try, hold })
    }

    /// An operation that waited may begin.
    pub(super) fn released(
        &mut self,
        at: Timestamp,
        id: &OperationId,
        granted: Option<String>,
    ) -> Result<(), Illegal> {
        self.progress(at, id, &Progress::Released { granted })
    }

    /// An operation is to be stopped.
    pub(super) fn cancel_ordered(
        &mut self,
        at: Timestamp,
        id: &OperationId,
    ) -> Result<(), Illegal> {
        self.progress(at, id, &Progress::CancelOrdered)
    }

    /// Moves an operation on.
    pub(super) fn progress(
        &mut self,
        at: Timestamp,
        id: &OperationId,
        progress: &Progress,
    ) -> Result<(), Illegal> {
        let unknown = || Illegal::UnknownOperation { operation: id.clone() };
        let record = self.operations.get_mut(id).ok_or_else(unknown)?;
        let treatment = id.kind().map(OperationKind::treatment).ok_or_else(unknown)?;
        let was_answered = record.is_answered();
        let was_held = record.state == State::Held;
        let is_kept =
            matches!(progress, Progress::Ended(end) if self.kept.get(id) == Some(&end.value));
        record.state = match record.state {
            State::Ordered if is_kept => State::Ended,
            _ => record.next(id, at, treatment, progress)?,
        };
        match progress {
            Progress::Retried { r#try } => record.r#try = *r#try,
            Progress::CancelOrdered => record.cancel_ordered = true,
            Progress::Fired { seq, .. } => record.fired = Some(*seq),
            Progress::Ended(ended) => record.ended = Some(ended.clone()),
            Progress::Started { detail, .. } => record.started = Some(detail.clone()),
            Progress::Held { hold, .. } => {
                let has_limit = u32::from(hold.value.limit.is_some());
                record.limited_holds = record.limited_holds.saturating_add(has_limit);
                record.held = Some(hold.clone());
                record.held_at = Some(at);
            }
            Progress::Released { granted } => {
                record.granted = granted.clone().or(record.granted.take());
            }
            Progress::Interrupted { .. } | Progress::Consumed => {}
        }
        let is_answered = record.is_answered();
        // Whoever waits for a person or for room is not active.
        match progress {
            Progress::Held { .. } => self.activity.end(at),
            Progress::Released { .. } => self.activity.begin(at),
            _ => {}
        }
        if is_answered && !was_answered {
            self.close_one(&id.scope());
            if is_performed(id) && !was_held {
                self.activity.end(at);
            }
        }
        match progress {
            Progress::Fired { seq } => self.deliver(*seq, at, Deliverable::Timer(id.clone())),
            Progress::Ended(end) => {
                self.deliver(end.seq, at, Deliverable::OperationEnd(id.clone()))
            }
            _ => {}
        }
        Ok(())
    }

    /// A child's end answers its invocation, if that still waits for it.
    pub(super) fn child_ended(
        &mut self,
        end: Placed<RunOutcome>,
        at: Timestamp,
        key: InboxKey,
        id: &OperationId,
    ) -> Result<(), Illegal> {
        if self.children.contains(&key) {
            return Err(Illegal::Repeated { what: format!("the end of the child `{key}`") });
        }
        let seq = end.seq;
        let is_farewell = |child: Option<RunId>| child.is_some_and(|child| child.farewell() == key);
        let waiting = self.operations.get(id);
        let waiting = waiting.filter(|record| !record.is_answered() && is_farewell(record.child));
        let left = self.left_behind.get(id).is_some_and(|left| is_farewell(left.child));
        if let Some(record) = waiting {
            let value = OperationResult::of_child(end.value, record.cancel_ordered);
            self.progress(at, id, &Progress::Ended(Placed { seq, value }))?;
        } else if left && self.abandoned.contains(id) {
            self.abandoned_ended(seq, at, id.clone())?;
        }
        self.children.insert(key);
        Ok(())
    }
}
