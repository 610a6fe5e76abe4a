//! The fold of a run log: everything that is recorded, and nothing else.
//!
//! [`Journal::apply`] is the one way in, for entries read from a store and for entries just decided. It is total:
//! an entry that does not fit the state is an [`IllegalEntry`] that says where and why, and changes nothing. A log
//! that folds is therefore a log that this code could have written.

mod activity;
mod illegal;
mod operation;
mod run;
mod scope;
mod signal;
mod step;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::iter::successors;

use activity::Activity;
pub use illegal::{Illegal, IllegalEntry};
pub(crate) use operation::OperationRecord;
use operation::Progress;
pub(crate) use scope::ScopeRecord;
use signal::SignalRecord;
pub(crate) use step::{StepRecord, StepState};

use crate::entry::{
    Abandoned, CommentOn, Entry, Hold, HoldKind, KeptBody, OperationResult, Record, RunOutcome,
    RunStarted, decision,
};
use crate::failure::Failure;
use crate::id::{InboxKey, Seq, StepNumber, Try};
use crate::operation::OperationKind;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::time::{Millis, Timestamp};
use crate::value::Value;

/// Something recorded, with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed<T> {
    pub(crate) seq: Seq,
    pub(crate) value: T,
}

/// An entry that runs program code, or changes what program code may do, when its turn comes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Deliverable {
    RunStart,
    Cancel,
    /// Nobody drove the run for so long, until then.
    Resumed(Millis, Timestamp),
    Failing(Failure),
    Abandoned(OperationId),
    TimedOut(ScopePath),
    Grace(ScopePath),
    Attempt(ScopePath, Timestamp),
    StepEnd(StepPath),
    OperationEnd(OperationId),
    Timer(OperationId),
    Signal(InboxKey),
    Offer(InboxKey),
}

/// What the program noted: a state write or a comment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Note {
    State(Option<Value>),
    Comment { on: CommentOn, message: String, meta: Value },
}

/// The recorded state of a run.
#[derive(Debug, Default)]
pub struct Journal {
    next: u64,
    last_at: Option<Timestamp>,
    start: Option<RunStarted>,
    end: Option<RunOutcome>,
    cancels: HashSet<InboxKey>,
    children: HashSet<InboxKey>,
    failing: Option<Failure>,
    activity: Activity,
    /// Answers to operations that were not asked for yet.
    kept: HashMap<OperationId, OperationResult>,
    /// Operations left behind by a source switch, with the try that was under way.
    left_behind: BTreeMap<OperationId, Abandoned>,
    /// Those of them that were not proven dead when the run was moved to its present source.
    left_alive: BTreeSet<OperationId>,
    /// Those of them that are not proven dead yet.
    abandoned: BTreeSet<OperationId>,
    /// Where the log under the present source begins.
    began: u64,
    last_number: u32,
    /// The numbers of steps under earlier sources, by their paths.
    numbers: HashMap<String, StepNumber>,
    scopes: HashMap<ScopePath, ScopeRecord>,
    steps: HashMap<StepPath, StepRecord>,
    operations: HashMap<OperationId, OperationRecord>,
    notes: HashMap<OperationId, Note>,
    signals: HashMap<InboxKey, SignalRecord>,
    consumptions: HashMap<(InboxKey, OperationId), Seq>,
    /// Bodies that are played instead of being executed.
    bodies: HashMap<StepPath, KeptBody>,
    /// From where on the run lives by itself, if its log was executed anew.
    rebased: Option<Seq>,
    deliverables: BTreeMap<Seq, (Timestamp, Deliverable)>,
}

impl Journal {
    /// Folds a whole log.
    ///
    /// # Errors
    /// [`IllegalEntry`] for the first entry that does not fit.
    pub fn fold(log: impl IntoIterator<Item = Record>) -> Result<Self, IllegalEntry> {
        let mut journal = Self::default();
        for record in log {
            journal.apply(record)?;
        }
        Ok(journal)
    }

    /// Takes in one entry. On an error nothing is changed.
    ///
    /// # Errors
    /// [`IllegalEntry`] if the entry does not fit what is recorded so far.
    pub fn apply(&mut self, record: Record) -> Result<(), IllegalEntry> {
        let Record { seq, at, entry, .. } = record;
        let kind = entry.kind();
        self.check_place(seq, at, &entry)
            .and_then(|()| self.transition(seq, at, entry))
            .map_err(|reason| IllegalEntry { seq, kind, reason })?;
        self.next += 1;
        // Under another source the run's log begins again, and its times with it.
        self.last_at = self.start.as_ref().map(|_| at);
        Ok(())
    }

    /// The rules that hold for every entry: no gap, no step back in time, after the start and before the end.
    fn check_place(&self, seq: Seq, at: Timestamp, entry: &Entry) -> Result<(), Illegal> {
        if seq.0 != self.next {
            return Err(Illegal::Gap { expected: Seq(self.next) });
        }
        if let Some(last) = self.last_at.filter(|last| *last > at) {
            return Err(Illegal::TimeBackwards { last });
        }
        match (&self.start, &self.end, entry) {
            (None, _, Entry::RunStarted(_)) | (Some(_), None, _) => Ok(()),
            (None, _, _) => Err(Illegal::NotStarted),
            (Some(_), Some(_), _) => Err(Illegal::AfterEnd),
        }
    }

    /// One total transition over (state, entry).
    fn transition(&mut self, seq: Seq, at: Timestamp, entry: Entry) -> Result<(), Illegal> {
        match entry {
            Entry::RunStarted(start) => self.run_started(seq, at, start),
            Entry::CancelRequested { key, .. } => self.cancel_requested(seq, at, key),
            Entry::RunResumed { away_ms } => self.run_resumed(seq, at, away_ms),
            Entry::RunRebased { away_ms } => self.run_rebased(seq, at, away_ms),
            Entry::RunFailing { failure } => self.run_failing(seq, at, failure),
            Entry::SourceSwitched { abandoned, keeps_numbers, .. } => {
                self.begin_anew(abandoned, keeps_numbers)
            }
            Entry::AnswersKept { answers } => self.answers_kept(answers),
            Entry::AbandonedEnded { operation } => self.abandoned_ended(seq, at, operation),
            Entry::RunEnded { outcome } => self.run_ended(outcome),
            Entry::BodyKept(body) => self.body_kept(body),
            Entry::StepRequested { step, number, retry, timeout_ms, body, .. } => {
                self.step_requested(step, number, StepRecord::new(retry, timeout_ms, body))
            }
            Entry::AttemptStarted { scope, counts_from } => {
                self.attempt_started(seq, at, scope, counts_from)
            }
            Entry::AttemptFailed { scope, failure, retry_at } => {
                self.attempt_failed(scope, failure, retry_at)
            }
            Entry::StepEnded { step, outcome } => self.step_ended(seq, at, step, outcome),
            Entry::ScopeClosing(closing) => self.scope_closing(closing),
            Entry::GraceExpired { scope } => self.grace_expired(seq, at, scope),
            Entry::AttemptTimedOut { scope } => self.attempt_timed_out(seq, at, scope),
            Entry::OperationOrdered { operation, number, args, due, child, r#try, .. } => {
                let record = OperationRecord::new(args, due, child, r#try);
                self.operation_ordered(at, operation, number, record)
            }
            Entry::OperationStarted { operation, r#try, detail } => {
                self.progress(at, &operation, &Progress::Started { r#try, detail })
            }
            Entry::OperationInterrupted { operation, r#try } => {
                self.progress(at, &operation, &Progress::Interrupted { r#try })
            }
            Entry::OperationRetried { operation, r#try } => {
                self.progress(at, &operation, &Progress::Retried { r#try })
            }
            Entry::OperationHeld { operation, r#try, hold } => {
                self.operation_held(seq, at, &operation, (r#try, hold))
            }
            Entry::OperationReleased { operation: id, granted } => self.released(at, &id, granted),
            Entry::OperationCancelOrdered { operation } => self.cancel_ordered(at, &operation),
            Entry::OperationEnded { operation, result } => {
                self.progress(at, &operation, &Progress::Ended(Placed { seq, value: result }))
            }
            Entry::ChildEnded { key, operation, outcome } => {
                self.child_ended(Placed { seq, value: outcome }, at, key, &operation)
            }
            Entry::TimerFired { operation: id } => self.progress(at, &id, &Progress::Fired { seq }),
            Entry::SignalArrived { key, name, payload } => {
                self.signal_arrived(seq, at, key, (name, payload))
            }
            Entry::ApprovalGiven { key, operation, approved, by, comment } => {
                let payload = decision(approved, &by, comment.as_deref());
                self.approval_given(seq, at, key, (operation, payload))
            }
            Entry::SignalOffered { key, operation } => {
                self.signal_offered(seq, at, key, &operation)
            }
            Entry::SignalConsumed { key, operation } => {
                self.signal_consumed(seq, at, key, operation)
            }
            Entry::StateWritten { operation, value } => self.note(operation, Note::State(value)),
            Entry::CommentAdded { operation, on, message, meta } => {
                self.note(operation, Note::Comment { on, message, meta })
            }
        }
    }

    fn note(&mut self, operation: OperationId, note: Note) -> Result<(), Illegal> {
        self.live_scope(&operation.scope())?;
        let fits = match note {
            Note::State(_) => operation::is(&operation, OperationKind::Set),
            Note::Comment { .. } => operation::is(&operation, OperationKind::Comment),
        };
        if !fits {
            return Err(Illegal::WrongKind { operation });
        }
        if self.notes.contains_key(&operation) {
            return Err(Illegal::Repeated { what: operation.to_string() });
        }
        self.notes.insert(operation, note);
        Ok(())
    }

    fn deliver(&mut self, seq: Seq, at: Timestamp, what: Deliverable) {
        self.deliverables.insert(seq, (at, what));
    }

    /// Step numbers are handed out in order, without a gap; a path that had one under an earlier source keeps it.
    fn check_number(&self, path: &str, number: Option<StepNumber>) -> Result<(), Illegal> {
        let expected = self.number_for(path);
        match number.filter(|number| *number != expected) {
            Some(_) => Err(Illegal::WrongNumber { expected }),
            None => Ok(()),
        }
    }

    fn take_number(&mut self, number: Option<StepNumber>) {
        self.last_number = self.last_number.max(number.map_or(0, |number| number.0));
    }

    /// How many entries the log has; also the position of the next one.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.next
    }

    /// Whether nothing is recorded yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// What the run started with.
    #[must_use]
    pub fn start(&self) -> Option<&RunStarted> {
        self.start.as_ref()
    }

    /// How the run ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<&RunOutcome> {
        self.end.as_ref()
    }

    /// When the run will have been active for too long, if it goes on being active.
    #[must_use]
    pub fn timeout_due(&self) -> Option<Timestamp> {
        self.activity.reaches(self.start.as_ref()?.timeout_ms?)
    }

    /// Whether something is open that is not a wait.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.activity.is_active()
    }

    /// When the last entry was recorded.
    #[must_use]
    pub fn last_at(&self) -> Option<Timestamp> {
        self.last_at
    }

    /// The answer that is kept for an operation.
    pub(crate) fn kept_answer(&self, id: &OperationId) -> Option<&OperationResult> {
        self.kept.get(id)
    }

    /// What source switches left behind, with the try that was under way.
    pub(crate) fn left_behind(&self) -> &BTreeMap<OperationId, Abandoned> {
        &self.left_behind
    }

    /// What was alive when the run was moved to its present source, and had been left behind.
    pub(crate) fn left_alive(&self) -> &BTreeSet<OperationId> {
        &self.left_alive
    }

    /// How many entries the log has under its present source.
    pub(crate) fn generation_len(&self) -> u64 {
        self.next - self.began
    }

    /// Whether something was left behind and is not proven dead.
    pub(crate) fn is_abandoned(&self, id: &OperationId) -> bool {
        self.abandoned.contains(id)
    }

    /// The number of the step or operation of this path when it is asked for: the one it had, or the next unused one.
    pub(crate) fn number_for(&self, path: &str) -> StepNumber {
        let next = StepNumber(self.last_number.saturating_add(1));
        self.numbers.get(path).copied().unwrap_or(next)
    }

    /// Whether a message is recorded.
    pub(crate) fn has_message(&self, key: &InboxKey) -> bool {
        self.cancels.contains(key) || self.children.contains(key) || self.signals.contains_key(key)
    }

    pub(crate) fn failing(&self) -> Option<&Failure> {
        self.failing.as_ref()
    }

    pub(crate) fn scope(&self, path: &ScopePath) -> Option<&ScopeRecord> {
        self.scopes.get(path)
    }

    /// The questions that the run has asked and nobody has answered: each with what it was asked with.
    pub fn open_questions(&self) -> impl Iterator<Item = (&OperationId, &Value)> {
        let asked = self.operations.iter().filter(|(id, record)| {
            id.kind() == Some(OperationKind::Approve) && !record.is_answered()
        });
        asked.map(|(id, record)| (id, &record.args))
    }

    /// What is held until a person approves it: each with where that is recorded.
    pub fn held_for_approval(&self) -> impl Iterator<Item = (&OperationId, Seq, &Hold)> {
        self.operations.iter().filter_map(|(id, record)| {
            let held = record.hold().filter(|_| !record.cancel_ordered)?;
            (held.value.kind == HoldKind::Approval).then_some((id, held.seq, &held.value))
        })
    }

    /// Whether the run was cancelled or has failed as a whole, and only clears up.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        !self.cancels.is_empty() || self.failing.is_some()
    }

    /// Operations that are held for this kind of thing.
    pub fn held_for(&self, kind: HoldKind) -> impl Iterator<Item = &OperationId> {
        let held = self.operations.iter().filter(move |(_, record)| {
            let hold = record.hold().filter(|_| !record.cancel_ordered);
            hold.is_some_and(|hold| hold.value.kind == kind)
        });
        held.map(|(id, _)| id)
    }

    /// What an operation is held for, if it is.
    #[must_use]
    pub fn hold_of(&self, operation: &OperationId) -> Option<&Hold> {
        self.operations.get(operation)?.hold().map(|held| &held.value)
    }

    /// What the run has asked for and has no answer to: each with its latest try, and what it was asked for with.
    pub fn open_operations(&self) -> impl Iterator<Item = (&OperationId, Try, &Value)> {
        let open = self.operations.iter().filter(|(_, record)| !record.is_answered());
        open.map(|(id, record)| (id, record.r#try, &record.args))
    }

    /// The number of the step that an operation belongs to, and that step's path: the operation's own if it forms a step.
    #[must_use]
    pub fn step_of(&self, operation: &OperationId) -> Option<(StepNumber, String)> {
        if let Some(number) = self.operations.get(operation)?.number {
            return Some((number, operation.to_string()));
        }
        let (path, number) = self.step_around(&operation.scope())?;
        Some((number, path.to_string()))
    }

    /// The innermost step around a scope, and its number.
    pub(crate) fn step_around(&self, scope: &ScopePath) -> Option<(StepPath, StepNumber)> {
        let mut around = successors(scope.owner(), |step| step.scope().owner());
        let path = around.find(|step| !step.is_phase())?;
        let number = self.step(&path)?.number?;
        Some((path, number))
    }

    pub(crate) fn step(&self, path: &StepPath) -> Option<&StepRecord> {
        self.steps.get(path)
    }

    pub(crate) fn operation(&self, id: &OperationId) -> Option<&OperationRecord> {
        self.operations.get(id)
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = &OperationId> {
        self.operations.keys()
    }

    pub(crate) fn notes(&self) -> usize {
        self.notes.len()
    }

    pub(crate) fn recorded_note(&self, id: &OperationId) -> Option<&Note> {
        self.notes.get(id)
    }

    pub(crate) fn signal(&self, key: &InboxKey) -> Option<&SignalRecord> {
        self.signals.get(key)
    }

    /// Where it is recorded that this signal answered this wait.
    pub(crate) fn consumption(&self, key: &InboxKey, operation: &OperationId) -> Option<Seq> {
        self.consumptions.get(&(key.clone(), operation.clone())).copied()
    }

    /// The body that is played for a step.
    pub(crate) fn kept_body(&self, step: &StepPath) -> Option<&KeptBody> {
        self.bodies.get(step)
    }

    /// Whether the world, the clock or a message owes the run something.
    pub(crate) fn awaits_something(&self) -> bool {
        let retrying = |step: &StepRecord| matches!(step.state(), StepState::Retrying(_));
        self.operations.values().any(|record| !record.is_answered())
            || self.steps.values().any(retrying)
    }

    /// Steps whose bodies are played and have not come to an end.
    pub(crate) fn unfinished_bodies(&self) -> impl Iterator<Item = &StepPath> {
        let ended = |step| self.steps.get(step).is_none_or(|record| record.ended.is_some());
        let played = self.bodies.iter().filter(|(_, kept)| kept.acts.is_some());
        played.map(|(step, _)| step).filter(move |step| !ended(step))
    }

    /// Whether program code at this position was executed under an earlier source too, and its log lines written.
    pub(crate) fn is_history(&self, seq: Seq) -> bool {
        self.began > 0 && self.rebased.is_none_or(|rebased| seq < rebased)
    }

    /// What is recorded and has not been delivered in this execution, lowest position first.
    pub(crate) fn undelivered(&self) -> impl Iterator<Item = (Seq, &Deliverable)> {
        self.deliverables.iter().map(|(seq, (_, what))| (*seq, what))
    }

    /// Whether the entry at this position is to be delivered.
    pub(crate) fn is_deliverable(&self, seq: Seq) -> bool {
        self.deliverables.contains_key(&seq)
    }

    /// Hands out a deliverable; it is delivered once in an execution.
    pub(crate) fn take_deliverable(&mut self, seq: Seq) -> Option<(Timestamp, Deliverable)> {
        self.deliverables.remove(&seq)
    }
}
