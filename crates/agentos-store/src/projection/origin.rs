//! What was done before it stands where it does in the log.
//!
//! Under another source the history is executed again, and afterwards, like a fork, the run may ask for what it has the
//! answer to already. The log has all of that at the time at which it is asked for now. Its row shows when it was done.

use agentos_core::entry::{AnswerTimes, KeptAnswer};
use agentos_core::operation::OperationKind;
use agentos_core::path::{OperationId, ScopePath, StepPath};

use super::{Changes, Projection};

/// When the work of a new row was done, seen from where the log asks for it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// It is asked for in the history that another source is executed over: if the source before had asked for it as well, it
    /// is the same work.
    pub(crate) is_replayed: bool,
    /// All of it was done before, so it ends at once, as it once did.
    pub(crate) is_recorded: bool,
    /// Its times are those at which it was done, not those of the log.
    pub(crate) has_own_times: bool,
}

impl Origin {
    /// It is done where the log asks for it.
    pub(super) const NONE: Self =
        Self { is_replayed: false, is_recorded: false, has_own_times: false };
}

/// What has been done in a step so far.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Something that was not done before.
    is_new: bool,
    /// From the first request to the last answer of what was.
    recorded: Option<AnswerTimes>,
}

impl Done {
    /// Where a step comes from that has done this and ends in the turn in which it was asked for, with its times.
    pub(super) fn origin(&self, is_replayed: bool) -> (Origin, Option<AnswerTimes>) {
        let times = self.recorded.filter(|_| !self.is_new);
        let (is_recorded, has_own_times) = (!self.is_new, times.is_some());
        (Origin { is_replayed, is_recorded, has_own_times }, times)
    }
}

impl Projection {
    pub(super) fn keep_answers(&mut self, answers: &[KeptAnswer]) {
        for kept in answers {
            if self.is_history && kept.operation.kind() == Some(OperationKind::Agent) {
                self.inherited.insert(kept.operation.clone());
            }
            self.kept.insert(kept.operation.clone(), kept.times);
        }
    }

    /// Whether an operation that is asked for now is the one that was under way when the source was switched.
    pub(super) fn goes_on(&self, operation: &OperationId) -> bool {
        self.is_replayed && !self.left_behind.contains(operation)
    }

    /// Where an operation comes from, with its times if they are not those of the log. The steps around it have done as much.
    pub(super) fn origin_of(&mut self, operation: &OperationId) -> (Origin, Option<AnswerTimes>) {
        let kept = self.kept.remove(operation);
        let times = kept.flatten();
        let is_replayed = self.goes_on(operation);
        for step in around(&operation.scope()) {
            let Some(open) = self.steps.get_mut(&step) else { continue };
            open.done.is_new |= kept.is_none() && !is_replayed;
            open.done.recorded = union(open.done.recorded, times);
        }
        (Origin { is_replayed, is_recorded: kept.is_some(), has_own_times: times.is_some() }, times)
    }

    /// Whether a finished step around this scope is kept: whatever is said in it was said before.
    pub(super) fn is_in_kept_body(&self, scope: &ScopePath) -> bool {
        around(scope).any(|step| self.kept_bodies.contains(&step))
    }
}

impl Changes {
    /// What is said in a step that was done before and is only asked for again may be on record.
    pub(super) fn find_known_remarks(&mut self) {
        for comment in &mut self.comments {
            let step = comment.step.and_then(|step| self.steps.get(&step));
            comment.may_be_known |= step.is_some_and(|step| step.origin.is_recorded);
        }
    }
}

/// The steps and phases around a scope, from the inside out.
fn around(scope: &ScopePath) -> impl Iterator<Item = StepPath> + use<> {
    std::iter::successors(scope.owner(), |step| step.scope().owner())
}

fn union(one: Option<AnswerTimes>, other: Option<AnswerTimes>) -> Option<AnswerTimes> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    Some(AnswerTimes {
        asked_at: one.asked_at.min(other.asked_at),
        answered_at: one.answered_at.max(other.answered_at),
    })
}
