//! The recorded life of an operation: ordered, started, interrupted and tried again, stopped, ended.
//!
//! This is the protocol of an effect. Whoever performs it may die at any moment; what is recorded here decides what
//! the next one does.

use super::illegal::Illegal;
use super::{Journal, Placed};
use crate::entry::OperationResult;
use crate::id::{Seq, Try};
use crate::operation::{OperationKind, Treatment};
use crate::path::OperationId;
use crate::time::Timestamp;
use crate::value::Value;

/// An operation as the log knows it.
#[derive(Debug)]
pub(crate) struct OperationRecord {
    pub(crate) args: Value,
    pub(crate) due: Option<Timestamp>,
    pub(crate) r#try: Try,
    /// Where the latest try that started could be found.
    pub(crate) started: Option<Value>,
    pub(crate) cancel_ordered: bool,
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
    Fired,
    Consumed,
    Ended,
}

/// What happens to an ordered operation.
pub(super) enum Progress {
    Started { r#try: Try, detail: Value },
    Interrupted { r#try: Try },
    Retried { r#try: Try },
    CancelOrdered,
    Fired { seq: Seq, at: Timestamp },
    Consumed,
    Ended(Placed<OperationResult>),
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Started => "started",
            Self::Interrupted => "interrupted",
            Self::Fired => "past its time",
            Self::Consumed => "answered by a signal",
            Self::Ended => "ended",
        }
    }
}

/// Whether an operation is of this kind.
pub(super) fn is(operation: &OperationId, kind: OperationKind) -> bool {
    operation.kind() == Some(kind)
}

impl OperationRecord {
    pub(super) fn new(args: Value, due: Option<Timestamp>) -> Self {
        Self {
            args,
            due,
            r#try: Try::FIRST,
            started: None,
            cancel_ordered: false,
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
        treatment: Treatment,
        progress: &Progress,
    ) -> Result<State, Illegal> {
        let alive = matches!(self.state, State::Ordered | State::Started | State::Interrupted);
        match (treatment, self.state, progress) {
            (Treatment::Performed, State::Ordered, Progress::Started { r#try, .. }) => {
                self.same_try(*r#try).map(|()| State::Started)
            }
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
            (Treatment::Performed, state, Progress::CancelOrdered)
                if alive && !self.cancel_ordered =>
            {
                Ok(state)
            }
            (Treatment::Performed, _, Progress::Ended(_)) if alive => Ok(State::Ended),
            (Treatment::Timed | Treatment::Signalled, State::Ordered, Progress::Ended(ended))
                if ended.value == OperationResult::Cancelled =>
            {
                Ok(State::Ended)
            }
            (
                Treatment::Timed | Treatment::Signalled,
                State::Ordered,
                Progress::Fired { at, .. },
            ) => self.due.filter(|due| due <= at).map(|_| State::Fired).ok_or(Illegal::TooEarly),
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
        id: OperationId,
        record: OperationRecord,
    ) -> Result<(), Illegal> {
        let fits = match id.kind().map(OperationKind::treatment) {
            Some(Treatment::Performed) => record.due.is_none(),
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
        self.operations.insert(id, record);
        Ok(())
    }

    /// Moves an operation on.
    pub(super) fn progress(
        &mut self,
        id: &OperationId,
        progress: &Progress,
    ) -> Result<(), Illegal> {
        let unknown = || Illegal::UnknownOperation { operation: id.clone() };
        let record = self.operations.get_mut(id).ok_or_else(unknown)?;
        let treatment = id.kind().map(OperationKind::treatment).ok_or_else(unknown)?;
        let was_answered = record.is_answered();
        record.state = record.next(id, treatment, progress)?;
        match progress {
            Progress::Retried { r#try } => record.r#try = *r#try,
            Progress::CancelOrdered => record.cancel_ordered = true,
            Progress::Fired { seq, .. } => record.fired = Some(*seq),
            Progress::Ended(ended) => record.ended = Some(ended.clone()),
            Progress::Started { detail, .. } => record.started = Some(detail.clone()),
            Progress::Interrupted { .. } | Progress::Consumed => {}
        }
        if record.is_answered() && !was_answered {
            self.close_one(&id.scope());
        }
        Ok(())
    }
}
