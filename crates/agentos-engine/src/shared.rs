//! What the parts of one engine share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentos_core::id::{OwnerId, RunId};
use agentos_core::standing::Standing;
use agentos_store::records::Records;
use agentos_store::store::Store;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::drive::Left;
use crate::engine::Limits;
use crate::events::Events;
use crate::homes::Homes;
use crate::library::Library;
use crate::lines::LineSink;
use crate::performer::Performers;
use crate::points::{Fate, Point, Points};
use crate::reservation::Handed;
use crate::run_clock::WallClockHistory;
use crate::slots::Slots;
use crate::travel::Snapshots;
use crate::trouble::Troubled;

/// The end of a run, for those who wait for it.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) told: Notify,
    /// How the run stands, once it was seen to end here.
    pub(crate) standing: OnceLock<Standing>,
}

/// Why a run gets no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// It has one.
    Driven,
    /// There is none, or the engine leaves.
    Full,
}

/// See the module.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) owner: OwnerId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) wall_clock: WallClockHistory,
    pub(crate) library: Arc<dyn Library>,
    pub(crate) performers: Performers,
    pub(crate) lines: Arc<dyn LineSink>,
    /// Where warnings are kept, if anywhere.
    pub(crate) records: Option<Arc<dyn Records>>,
    pub(crate) homes: Arc<dyn Homes>,
    pub(crate) snapshots: Arc<dyn Snapshots>,
    /// What is limited over all processes, if anything is.
    pub(crate) slots: Option<Arc<Slots>>,
    pub(crate) events: Events,
    pub(crate) limits: Limits,
    /// How many runs are driven at once: `limits.slots`, until the user's settings change.
    pub(crate) slots_at_most: AtomicUsize,
    /// Changes when the user's settings do.
    pub(crate) settings: watch::Sender<u64>,
    /// Where the engine was started.
    pub(crate) runtime: tokio::runtime::Handle,
    /// The scheduler has something to look at: a run was created, a slot became free, a message was sent.
    pub(crate) kick: Notify,
    /// Whether there is nothing to do, now or at some time.
    pub(crate) idle: watch::Sender<bool>,
    /// Runs that were created here, on their way to the scheduler.
    pub(crate) handed: mpsc::UnboundedSender<Handed>,
    /// Who waits for the end of which run.
    pub(crate) waiting: Mutex<HashMap<RunId, Arc<Ending>>>,
    /// The engine is to leave, and to stop what is under way first.
    pub(crate) stopping: CancellationToken,
    /// The engine is to leave.
    pub(crate) leaving: CancellationToken,
    /// The process is as good as dead.
    pub(crate) dead: CancellationToken,
    pub(crate) points: Arc<dyn Points>,
    pub(crate) driven: Mutex<HashMap<RunId, Arc<Notify>>>,
    /// Those of the driven that wait for a slot and do nothing.
    pub(crate) queued: Mutex<HashSet<RunId>>,
    pub(crate) troubled: Mutex<Troubled>,
}

impl Shared {
    /// Passes a point; whether the process lives on. One that does not is gone with everything it had in mind.
    pub(crate) fn pass(&self, point: Point) -> Result<(), Left> {
        if self.dead.is_cancelled() {
            return Err(Left::Dead);
        }
        match self.points.pass(point) {
            Fate::Live => Ok(()),
            Fate::Die => {
                self.die();
                Err(Left::Dead)
            }
        }
    }

    /// The process is as good as dead: it touches nothing any more, and the engine leaves.
    pub(crate) fn die(&self) {
        self.dead.cancel();
        self.leaving.cancel();
    }

    /// Runs that could not be driven.
    pub(crate) fn troubled(&self) -> MutexGuard<'_, Troubled> {
        self.troubled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn driven(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Notify>>> {
        // Nothing in there is ever half done.
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many runs are driven.
    pub(crate) fn driven_count(&self) -> usize {
        self.driven().len()
    }

    /// How many more may be driven. Those that only wait for a slot are in nobody's way, up to as many again.
    pub(crate) fn free(&self) -> usize {
        self.free_among(self.driven_count())
    }

    fn free_among(&self, driven: usize) -> usize {
        let slots = self.slots_at_most.load(Ordering::Relaxed);
        let queued = self.queue_of_runs().len().min(slots);
        slots.saturating_sub(driven.saturating_sub(queued))
    }

    fn queue_of_runs(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a run that is driven waits for a slot and does nothing.
    pub(crate) fn queue(&self, run: RunId, is_waiting: bool) {
        let mut queued = self.queue_of_runs();
        if is_waiting && queued.insert(run) {
            self.kick.notify_one();
        } else if !is_waiting {
            queued.remove(&run);
        }
    }

    pub(crate) fn is_driven(&self, run: RunId) -> bool {
        self.driven().contains_key(&run)
    }

    /// A run takes a slot: before it is claimed, so that nobody else here claims it too, and nobody holds a run that has no
    /// slot. What it is to be told when there is mail for it.
    pub(crate) fn enter(&self, run: RunId) -> Result<Arc<Notify>, NoSlot> {
        let mut driven = self.driven();
        if driven.contains_key(&run) {
            return Err(NoSlot::Driven);
        }
        if self.free_among(driven.len()) == 0 || self.leaving.is_cancelled() {
            return Err(NoSlot::Full);
        }
        let mail = Arc::new(Notify::new());
        driven.insert(run, Arc::clone(&mail));
        Ok(mail)
    }

    /// A run gives its slot back.
    pub(crate) fn leave(&self, run: RunId) {
        self.driven().remove(&run);
        self.queue_of_runs().remove(&run);
        if let Some(ending) = self.waiting().get(&run) {
            ending.told.notify_waiters();
        }
    }

    /// A run has ended, and is about to be left: whoever is told of that then need not ask how it stands.
    pub(crate) fn has_ended(&self, run: RunId, standing: Standing) {
        if let Some(ending) = self.waiting().get(&run) {
            // The first is as good as any: an end is for good.
            let _known = ending.standing.set(standing);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Ending>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is told when a run has been left, or when somebody else has changed something.
    pub(crate) fn await_end(&self, run: RunId) -> AwaitsEnd<'_> {
        let ending = Arc::clone(self.waiting().entry(run).or_default());
        AwaitsEnd { shared: self, run, ending }
    }

    /// Nobody waits for the end of this run any more, if that was the last who did.
    fn forget_end(&self, run: RunId) {
        let mut waiting = self.waiting();
        // One is in the map, the other with whoever asks.
        if waiting.get(&run).is_some_and(|ended| Arc::strong_count(ended) <= 2) {
            waiting.remove(&run);
        }
    }

    /// For how many runs somebody waits.
    pub(crate) fn awaited_count(&self) -> usize {
        self.waiting().len()
    }

    /// Somebody else has changed something; it may have been an end. What is driven here ends here.
    pub(crate) fn tell_all_who_wait(&self) {
        let (waiting, driven) = (self.waiting(), self.driven());
        let others = waiting.iter().filter(|(run, _)| !driven.contains_key(run));
        others.for_each(|(_, ending)| ending.told.notify_waiters());
    }

    /// A message waits for a run: whoever drives it looks, or the scheduler finds out that somebody has to.
    pub(crate) fn ring(&self, run: RunId) {
        let mail = self.driven().get(&run).cloned();
        match mail {
            Some(mail) => mail.notify_one(),
            None => self.kick.notify_one(),
        }
    }
}

/// Somebody who waits for the end of a run, until this is dropped.
pub(crate) struct AwaitsEnd<'a> {
    shared: &'a Shared,
    run: RunId,
    pub(crate) ending: Arc<Ending>,
}

impl Drop for AwaitsEnd<'_> {
    fn drop(&mut self) {
        self.shared.forget_end(self.run);
    }
}
