//! What an execution over recorded answers knows of the run's earlier life.

use std::collections::{HashMap, HashSet};

use crate::entry::KeptBody;
use crate::path::{OperationId, StepPath};
use crate::program::StepOptions;
use crate::source::Site;
use crate::time::{Millis, Timestamp};

/// The earlier life. See the module.
#[derive(Debug)]
pub(crate) struct Anew {
    /// When the run is executed anew. What the earlier life did not know is asked for now, whatever the time of the
    /// recorded answer that led to it.
    pub(crate) now: Timestamp,
    /// Operations that the earlier life asked for.
    pub(crate) kept: HashSet<OperationId>,
    /// Steps that it finished, with all that their bodies did.
    pub(crate) finished: HashMap<StepPath, KeptBody>,
    /// Finished steps whose bodies have changed and can't be left out, with the line that says why.
    pub(crate) tied: Vec<(StepPath, Site)>,
}

impl Anew {
    /// When the timer of an operation fires that is asked for at some time of the history.
    pub(super) fn due(&self, id: &OperationId, at: Timestamp, length: Millis) -> Timestamp {
        let known = self.kept.contains(id) || length.is_zero();
        if known { at.after(length) } else { self.now.max(at).after(length) }
    }

    /// The body to be played for a step, if it had finished and its body says something else now.
    pub(super) fn body_to_play(
        &mut self,
        step: &StepPath,
        asked: &StepOptions,
    ) -> Option<KeptBody> {
        let kept = self.finished.get(step)?;
        let says = asked.body.as_ref()?;
        let changed = says.hash != kept.body.hash;
        let tied = kept.body.tied.as_ref().or(says.tied.as_ref());
        match tied {
            Some(site) if changed => self.tied.push((step.clone(), site.clone())),
            // It can't be played; but only its policy has changed, so it can be executed.
            Some(_) => return None,
            None => {}
        }
        let other_policy = (asked.retry, asked.timeout) != (kept.retry, kept.timeout_ms);
        (changed || other_policy).then(|| kept.clone())
    }
}
