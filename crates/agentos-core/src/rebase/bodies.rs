//! The bodies of finished steps, as they were: what each did, and what made it do so.
//!
//! Every entry names the delivery under which it was decided, so a body can be taken out of its log without its text.

use std::collections::{HashMap, HashSet};

use super::keep::Selection;
use crate::entry::{
    Act, ActCause, CloseCause, Deed, Entry, KeptBody, Record, ScopeClosing, StepOutcome,
};
use crate::execution::Known;
use crate::id::{RunId, Seq};
use crate::path::{OperationId, ScopePath, StepPath};

/// The steps that finished and are kept, as far as their bodies are known.
pub(super) fn finished(log: &[Record], selection: &Selection) -> HashMap<StepPath, KeptBody> {
    let mut bodies = kept_steps(log, selection);
    if bodies.is_empty() {
        return still_kept(log);
    }
    let causes: HashMap<Seq, ActCause> =
        log.iter().filter_map(|record| Some((record.seq, cause(&record.entry)?))).collect();
    let ends = Ends::new(log);
    for record in log {
        let Some(deed) = ends.deed(&record.entry) else { continue };
        let scope = deed.scope();
        // What ended a body from outside (its timeout, say) will do so again.
        let by = record.by.and_then(|by| causes.get(&by));
        let act = by.map(|by| Act { by: by.clone(), deed });
        for step in around(&scope) {
            if record.by.is_none() {
                bodies.remove(&step);
            } else if let (Some(body), Some(act)) = (bodies.get_mut(&step), &act) {
                body.acts.get_or_insert_default().push(act.clone());
            }
        }
    }
    bodies.extend(still_kept(log));
    bodies
}

/// Steps that this log itself has from an earlier one and did not ask for.
fn still_kept(log: &[Record]) -> HashMap<StepPath, KeptBody> {
    let asked: HashSet<&StepPath> = log
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::StepRequested { step, .. } => Some(step),
            _ => None,
        })
        .collect();
    let kept = log.iter().filter_map(|record| match &record.entry {
        Entry::BodyKept(kept) if !asked.contains(&kept.step) => {
            Some((kept.step.clone(), kept.clone()))
        }
        _ => None,
    });
    kept.collect()
}

/// What this log knew, as far as it is kept. What else is done again begins anew.
pub(super) fn known(log: &[Record], selection: &Selection) -> Known {
    let mut known = Known { operations: selection.operations().clone(), ..Known::default() };
    let mut invoked: HashMap<&OperationId, RunId> = HashMap::new();
    for record in log {
        let is_kept = |scope: &ScopePath| selection.scope(scope, record.seq);
        match &record.entry {
            Entry::OperationOrdered { operation, child: Some(child), .. } => {
                invoked.insert(operation, *child);
            }
            Entry::ChildEnded { operation, outcome, .. }
                if selection.child(operation, outcome, record.seq) =>
            {
                let child = invoked.get(operation).map(|child| (operation.clone(), *child));
                known.children.extend(child);
            }
            Entry::AttemptStarted { scope, .. } if is_kept(scope) => {
                known.attempts.insert(scope.clone());
            }
            Entry::AttemptFailed { scope, .. } if is_kept(scope) => {
                known.failures.insert(scope.clone());
            }
            Entry::ScopeClosing(ScopeClosing { scope, cause, .. }) if is_kept(scope) => {
                known.closings.insert((scope.clone(), *cause));
            }
            _ => {}
        }
    }
    known
}

/// Finished steps that say what their bodies say. Being cancelled is not being finished.
fn kept_steps(log: &[Record], selection: &Selection) -> HashMap<StepPath, KeptBody> {
    let mut asked: HashMap<&StepPath, KeptBody> = HashMap::new();
    let mut finished = HashMap::new();
    for record in log {
        match &record.entry {
            Entry::StepRequested { step, retry, timeout_ms, body: Some(body), .. } => {
                let (step_path, retry, timeout_ms) = (step.clone(), *retry, *timeout_ms);
                let kept = KeptBody {
                    step: step_path,
                    body: body.clone(),
                    retry,
                    timeout_ms,
                    acts: Some(Vec::new()),
                };
                asked.insert(step, kept);
            }
            Entry::StepEnded { step, outcome }
                if *outcome != StepOutcome::Cancelled {} && selection.step(step, record.seq) =>
            {
                finished.extend(asked.remove(step).map(|kept| (step.clone(), kept)));
            }
            _ => {}
        }
    }
    finished
}

/// What code is resumed with when this entry is delivered.
fn cause(entry: &Entry) -> Option<ActCause> {
    match entry {
        Entry::AttemptStarted { scope, .. } => Some(ActCause::Attempt(scope.clone())),
        Entry::StepEnded { step, .. } => Some(ActCause::Step(step.clone())),
        Entry::OperationEnded { operation, .. }
        | Entry::TimerFired { operation }
        | Entry::ChildEnded { operation, .. }
        | Entry::SignalConsumed { operation, .. } => Some(ActCause::Operation(operation.clone())),
        _ => None,
    }
}

/// When and how the bodies of attempts came to their ends.
struct Ends<'a> {
    /// The last attempt at each step.
    last: HashMap<&'a StepPath, &'a ScopePath>,
    outcomes: HashMap<&'a ScopePath, StepOutcome>,
    /// Attempts whose bodies ended while something was still open: the closing is what tells when.
    closed: HashSet<&'a ScopePath>,
}

impl<'a> Ends<'a> {
    fn new(log: &'a [Record]) -> Self {
        let mut ends =
            Self { last: HashMap::new(), outcomes: HashMap::new(), closed: HashSet::new() };
        let mut owners: HashMap<StepPath, &ScopePath> = HashMap::new();
        for record in log {
            match &record.entry {
                Entry::AttemptStarted { scope, .. } => {
                    owners.extend(scope.owner().map(|step| (step, scope)));
                }
                Entry::AttemptFailed { scope, failure, .. } => {
                    ends.outcomes.insert(scope, StepOutcome::Failed { failure: failure.clone() });
                }
                Entry::StepEnded { step, outcome } => {
                    // One that was cancelled in its back-off ended before.
                    let running =
                        owners.get(step).filter(|scope| !ends.outcomes.contains_key(*scope));
                    if let Some(scope) = running {
                        ends.last.insert(step, scope);
                        ends.outcomes.insert(scope, outcome.clone());
                    }
                }
                Entry::ScopeClosing(ScopeClosing {
                    scope, cause: CloseCause::Finished, ..
                }) => {
                    ends.closed.insert(scope);
                }
                _ => {}
            }
        }
        ends
    }

    /// What code did, if this entry records something that code did.
    fn deed(&self, entry: &Entry) -> Option<Deed> {
        Some(match entry {
            Entry::OperationOrdered { operation, args, due, .. } => {
                Deed::Ordered { operation: operation.clone(), args: args.clone(), due: *due }
            }
            Entry::StepRequested { step, retry, timeout_ms, body, .. } => Deed::Asked {
                step: step.clone(),
                retry: *retry,
                timeout_ms: *timeout_ms,
                body: body.clone(),
            },
            Entry::StateWritten { operation, value } => {
                Deed::Wrote { operation: operation.clone(), value: value.clone() }
            }
            Entry::CommentAdded { operation, on, message, meta } => Deed::Remarked {
                operation: operation.clone(),
                on: *on,
                message: message.clone(),
                meta: meta.clone(),
            },
            Entry::ScopeClosing(ScopeClosing { scope, cause: CloseCause::Finished, .. }) => {
                self.end(scope)?
            }
            Entry::AttemptFailed { scope, .. } if !self.closed.contains(scope) => {
                self.end(scope)?
            }
            Entry::StepEnded { step, .. } => {
                let scope = self.last.get(step).filter(|scope| !self.closed.contains(*scope))?;
                self.end(scope)?
            }
            _ => return None,
        })
    }

    fn end(&self, scope: &ScopePath) -> Option<Deed> {
        let outcome = self.outcomes.get(scope)?.clone();
        Some(Deed::Ended { scope: scope.clone(), outcome })
    }
}

/// The steps around a scope, from the inside out.
fn around(scope: &ScopePath) -> impl Iterator<Item = StepPath> {
    std::iter::successors(scope.owner(), |step| step.scope().owner())
}
