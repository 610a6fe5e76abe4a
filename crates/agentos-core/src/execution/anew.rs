//! What an execution over recorded answers knows of the run's earlier life.

use std::collections::{HashMap, HashSet};

use crate::entry::{CloseCause, KeptBody};
use crate::id::RunId;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::program::StepOptions;
use crate::source::Site;
use crate::time::{Millis, Timestamp};

/// The earlier life. See the module.
#[derive(Debug)]
pub(crate) struct Anew {
    /// When the run is executed anew. What the earlier life did not know is asked for now, whatever the time of the
    /// recorded answer that led to it.
    pub(crate) now: Timestamp,
    /// What the earlier life knew.
    pub(crate) known: Known,
    /// Steps that it finished, with all that their bodies did.
    pub(crate) finished: HashMap<StepPath, KeptBody>,
    /// Finished steps whose bodies have changed and can't be left out, with the line that says why.
    pub(crate) tied: Vec<(StepPath, Site)>,
}

/// What the earlier life knew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Operations that it asked for.
    pub(crate) operations: HashSet<OperationId>,
    /// Attempts that it began.
    pub(crate) attempts: HashSet<ScopePath>,
    /// Attempts that failed in it.
    pub(crate) failures: HashSet<ScopePath>,
    /// Scopes that it closed.
    pub(crate) closings: HashSet<(ScopePath, CloseCause)>,
    /// Child runs whose ends it has heard of: they stay the ones that answered.
    pub(crate) children: HashMap<OperationId, RunId>,
}

impl Anew {
    /// The time at which something happens: that of the history if the earlier life knew it, else now.
    fn time(&self, known: bool, at: Timestamp) -> Timestamp {
        if known { at } else { self.now.max(at) }
    }

    /// When the timer of an operation fires.
    pub(super) fn due(&self, id: &OperationId, at: Timestamp, length: Millis) -> Timestamp {
        let known = self.known.operations.contains(id) || length.is_zero();
        self.time(known, at).after(length)
    }

    /// From when an attempt's time counts, if not from where it stands in the log.
    pub(super) fn counts_from(&self, scope: &ScopePath, at: Timestamp) -> Option<Timestamp> {
        let from = self.time(self.known.attempts.contains(scope), at);
        (from > at).then_some(from)
    }

    /// From when the back-off after a failed attempt counts.
    pub(super) fn failed_at(&self, scope: &ScopePath, at: Timestamp) -> Timestamp {
        self.time(self.known.failures.contains(scope), at)
    }

    /// From when the grace of a closing scope counts.
    pub(super) fn closed_at(
        &self,
        scope: &ScopePath,
        cause: CloseCause,
        at: Timestamp,
    ) -> Timestamp {
        self.time(self.known.closings.contains(&(scope.clone(), cause)), at)
    }

    /// What is to be kept of a step, if it had finished and is asked for with something else now.
    pub(super) fn body_to_keep(
        &mut self,
        step: &StepPath,
        asked: &StepOptions,
    ) -> Option<KeptBody> {
        let kept = self.finished.get(step).filter(|kept| kept.differs(asked))?;
        let says = asked.body.as_ref()?;
        if says.hash == kept.body.hash {
            // Only how it is retried has changed: it can be executed, as it was.
            return Some(KeptBody { acts: None, ..kept.clone() });
        }
        if let Some(site) = kept.body.tied.as_ref().or(says.tied.as_ref()) {
            self.tied.push((step.clone(), site.clone()));
        }
        Some(kept.clone())
    }
}
