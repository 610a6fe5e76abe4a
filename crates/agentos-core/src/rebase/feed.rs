//! A recorded log as a world: what came in from outside, in order and with its times.
//!
//! Only what came from outside is taken. Everything else (steps, attempts, closings, notes) the program does again by
//! itself. What stands together in the log came in together, and is handed over together.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Destination;
use super::keep::Selection;
use crate::effect::{Happening, Timer};
use crate::entry::{AnswerTimes, Entry, OperationResult, Record, RunOutcome, decision};
use crate::id::{Attempt, InboxKey, Try};
use crate::inbox::{Message, MessageBody};
use crate::operation::answer_in_time;
use crate::path::{OperationId, ScopePath};
use crate::time::Timestamp;
use crate::value::Value;

/// What came in at one time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    pub(super) at: Timestamp,
    pub(super) happenings: Vec<Happening>,
}

/// What is kept of a log, and for whom.
pub(super) struct Happened<'a> {
    pub(super) selection: &'a Selection,
    /// Answers that are there from the start.
    pub(super) early: &'a BTreeMap<OperationId, OperationResult>,
    pub(super) answers: &'a BTreeMap<OperationId, OperationResult>,
    pub(super) into: Destination,
}

impl Happened<'_> {
    /// Whether what is known of the tries of an operation is handed over. Another run has no part in what is under way
    /// for this one: it begins that by itself.
    fn tries(&self, id: &OperationId) -> bool {
        let over = self.into == Destination::SameRun || self.answers.contains_key(id);
        over && self.selection.operation(id)
    }
}

/// Everything that came in and is kept.
///
/// A signal whose every consumer is answered from the start has been consumed; it is not handed over again.
pub(super) fn batches(log: &[Record], happened: &Happened<'_>) -> Vec<Batch> {
    let spent = spent_signals(log, happened.early);
    let mut tries: HashMap<OperationId, Try> = HashMap::new();
    let mut batches: Vec<Batch> = Vec::new();
    let mut together = false;
    for record in log {
        let happening = happening(record, happened, &mut tries)
            .filter(|_| record.entry.message_key().is_none_or(|key| !spent.contains(key)));
        match (happening, batches.last_mut()) {
            (Some(happening), Some(batch)) if together && batch.at == record.at => {
                batch.happenings.push(happening);
            }
            (Some(happening), _) => {
                batches.push(Batch { at: record.at, happenings: vec![happening] });
            }
            (None, _) => {
                together = false;
                continue;
            }
        }
        together = true;
    }
    batches
}

/// Signals that were consumed, and only by operations that are answered from the start.
fn spent_signals<'a>(
    log: &'a [Record],
    early: &BTreeMap<OperationId, OperationResult>,
) -> HashSet<&'a InboxKey> {
    let mut consumers: HashMap<&InboxKey, bool> = HashMap::new();
    for record in log {
        if let Entry::SignalConsumed { key, operation } = &record.entry {
            *consumers.entry(key).or_insert(true) &= early.contains_key(operation);
        }
    }
    consumers.into_iter().filter(|(_, spent)| *spent).map(|(key, _)| key).collect()
}

fn happening(
    record: &Record,
    happened: &Happened<'_>,
    tries: &mut HashMap<OperationId, Try>,
) -> Option<Happening> {
    let selection = happened.selection;
    let message = |key: &InboxKey, body| {
        selection.signal(key).then(|| Happening::Message(Message { key: key.clone(), body }))
    };
    match &record.entry {
        Entry::OperationOrdered { operation, r#try, .. }
        | Entry::OperationRetried { operation, r#try } => {
            tries.insert(operation.clone(), *r#try);
            None
        }
        Entry::OperationStarted { operation, r#try, detail } if happened.tries(operation) => {
            let (operation, detail) = (operation.clone(), detail.clone());
            Some(Happening::Started { operation, r#try: *r#try, detail })
        }
        Entry::OperationInterrupted { operation, r#try } if happened.tries(operation) => {
            Some(Happening::Interrupted { operation: operation.clone(), r#try: *r#try })
        }
        Entry::OperationEnded { operation, result }
            if selection.answer(operation, result, record.seq) =>
        {
            let r#try = tries.get(operation).copied().unwrap_or(Try::FIRST);
            Some(Happening::Ended { operation: operation.clone(), r#try, result: result.clone() })
        }
        Entry::ChildEnded { key, operation, outcome }
            if selection.child(operation, outcome, record.seq) =>
        {
            let body =
                MessageBody::ChildEnded { operation: operation.clone(), outcome: outcome.clone() };
            Some(Happening::Message(Message { key: key.clone(), body }))
        }
        Entry::SignalArrived { key, name, payload } => {
            message(key, MessageBody::Signal { name: name.clone(), payload: payload.clone() })
        }
        Entry::ApprovalGiven { key, operation, approved, by, comment } => {
            let (operation, by, comment) = (operation.clone(), by.clone(), comment.clone());
            message(key, MessageBody::Approval { operation, approved: *approved, by, comment })
        }
        Entry::CancelRequested { key, reason } if selection.ending() => {
            let body = MessageBody::Cancel { reason: reason.clone() };
            Some(Happening::Message(Message { key: key.clone(), body }))
        }
        Entry::RunResumed { .. } => Some(Happening::Resumed),
        _ => timer(record, selection).map(Happening::Timer),
    }
}

/// What the clock did.
fn timer(record: &Record, selection: &Selection) -> Option<Timer> {
    let kept = |scope: &ScopePath| selection.scope(scope, record.seq);
    match &record.entry {
        Entry::TimerFired { operation } if selection.operation(operation) => {
            Some(Timer::Operation(operation.clone()))
        }
        Entry::AttemptStarted { scope, .. } if kept(scope) => {
            let before = Attempt(scope.attempt().0.checked_sub(1).filter(|before| *before > 0)?);
            Some(Timer::Retry(scope.owner()?.attempt(before)))
        }
        Entry::GraceExpired { scope } if kept(scope) => Some(Timer::Grace(scope.clone())),
        Entry::AttemptTimedOut { scope } if kept(scope) => Some(Timer::Attempt(scope.clone())),
        Entry::RunFailing { failure } if selection.ending() => {
            let own = [Timer::Run, Timer::Deadline];
            own.into_iter().find(|timer| timer.failure().as_ref() == Some(failure))
        }
        _ => None,
    }
}

/// The answer that each kept operation had.
pub(super) fn answers(
    log: &[Record],
    selection: &Selection,
) -> BTreeMap<OperationId, OperationResult> {
    let mut answers = BTreeMap::new();
    let mut asked: HashMap<&OperationId, &Value> = HashMap::new();
    let mut payloads: HashMap<&InboxKey, Value> = HashMap::new();
    for record in log {
        match &record.entry {
            Entry::OperationOrdered { operation, args, .. } => {
                asked.insert(operation, args);
            }
            Entry::SignalArrived { key, payload, .. } => {
                payloads.insert(key, payload.clone());
            }
            Entry::ApprovalGiven { key, approved, by, comment, .. } => {
                payloads.insert(key, decision(*approved, by, comment.as_deref()));
            }
            Entry::OperationEnded { operation, result }
                if selection.answer(operation, result, record.seq) && !result.is_cancelled() =>
            {
                answers.insert(operation.clone(), result.clone());
            }
            Entry::ChildEnded { operation, outcome, .. }
                if selection.child(operation, outcome, record.seq) =>
            {
                let result = OperationResult::of_child(outcome.clone(), false);
                answers.insert(operation.clone(), result);
            }
            Entry::TimerFired { operation } if selection.operation(operation) => {
                let answer = answer_in_time(operation, asked.get(operation).copied());
                answers.insert(operation.clone(), answer.into());
            }
            Entry::SignalConsumed { key, operation } if selection.operation(operation) => {
                let value = payloads.get(key).cloned().unwrap_or_default();
                answers.insert(operation.clone(), OperationResult::Ok { value });
            }
            _ => {}
        }
    }
    answers
}

/// The answers that the log itself was given at its beginning, but for those to what is not kept.
pub(super) fn early(
    log: &[Record],
    selection: &Selection,
) -> BTreeMap<OperationId, OperationResult> {
    let asked: HashSet<&OperationId> = log
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::OperationOrdered { operation, .. } => Some(operation),
            _ => None,
        })
        .collect();
    let kept = log.iter().filter_map(|record| match &record.entry {
        Entry::AnswersKept { answers } => Some(answers),
        _ => None,
    });
    kept.flatten()
        .filter(|kept| selection.operation(&kept.operation) || !asked.contains(&kept.operation))
        .map(|kept| (kept.operation.clone(), kept.result.clone()))
        .collect()
}

/// When operations were asked for and first answered, by all that a run's log tells, under whichever source. An answer that
/// was kept says so itself: the log has it at the time at which it was asked for again.
pub(super) fn times(whole: &[Record]) -> HashMap<OperationId, AnswerTimes> {
    let mut asked: HashMap<&OperationId, Timestamp> = HashMap::new();
    let mut times: HashMap<&OperationId, Option<AnswerTimes>> = HashMap::new();
    let mut is_first_source = true;
    for record in whole {
        match &record.entry {
            Entry::AnswersKept { answers } => {
                for kept in answers {
                    times.entry(&kept.operation).or_insert(kept.times);
                }
            }
            // Asked for again, it is another try.
            Entry::SourceSwitched { abandoned, .. } => {
                is_first_source = false;
                for left in abandoned {
                    asked.remove(&left.operation);
                }
            }
            // What another run had under way is begun anew.
            Entry::RunRebased { .. } if is_first_source => {
                asked.values_mut().for_each(|at| *at = record.at);
            }
            Entry::OperationOrdered { operation, .. } => {
                asked.entry(operation).or_insert(record.at);
            }
            entry => {
                if let Some((operation, is_answer)) = ended(entry)
                    && let Some(asked_at) = asked.remove(operation)
                    && is_answer
                {
                    let answered = AnswerTimes { asked_at, answered_at: record.at };
                    times.entry(operation).or_insert(Some(answered));
                }
            }
        }
    }
    times.into_iter().filter_map(|(operation, times)| Some((operation.clone(), times?))).collect()
}

/// The operation that has ended with this entry, and whether it has an answer.
fn ended(entry: &Entry) -> Option<(&OperationId, bool)> {
    match entry {
        Entry::OperationEnded { operation, result } => Some((operation, !result.is_cancelled())),
        Entry::ChildEnded { operation, outcome, .. } => {
            Some((operation, !matches!(outcome, RunOutcome::Cancelled { .. })))
        }
        Entry::TimerFired { operation } | Entry::SignalConsumed { operation, .. } => {
            Some((operation, true))
        }
        _ => None,
    }
}
