//! The engine as a whole: started, told, and left.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentos_core::bounds;
use agentos_core::entry::RunStarted;
use agentos_core::id::{OwnerId, RunId};
use agentos_core::inbox::Message;
use agentos_core::standing::Standing;
use agentos_store::due::Except;
use agentos_store::inbox::{SendError, Sent};
use agentos_store::log::ReadError;
use agentos_store::place::Place;
use agentos_store::records::Records;
use agentos_store::run::{CreateError, Created};
use agentos_store::store::Store;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, SystemClock};
use crate::events::{Event, Events};
use crate::homes::{Homes, NoHomes};
use crate::library::Library;
use crate::lines::{LineSink, NoLines};
use crate::performer::Performers;
use crate::points::{NoPoints, Points};
use crate::reservation::{self, Handed};
use crate::run_clock::WallClockHistory;
use crate::scheduler::Scheduler;
pub use crate::scheduler::{Bell, NoBell};
use crate::shared::Shared;
use crate::slots::Slots;
use crate::travel::{NoSnapshots, Snapshots};
use crate::worker::Worker;

/// What bounds an engine.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many runs this engine drives at once. One that only waits takes no place. What is limited over all processes is
    /// said by [`Slots`].
    pub slots: usize,
    /// How many threads execute programs.
    pub workers: usize,
    /// How long a run that only waits is kept in memory.
    pub linger: Duration,
    /// How many entries a turn gathers before it is cut.
    pub turn_entries: usize,
    /// How long effects may take to stop when the engine does.
    pub stop_within: Duration,
    /// Whether others may drive runs in the same store, so that somebody has to notice when they die.
    pub watch_others: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            slots: 256,
            workers: std::thread::available_parallelism().map_or(2, |cores| cores.get().min(8)),
            linger: Duration::from_millis(50),
            turn_entries: bounds::TURN_ENTRIES,
            stop_within: Duration::from_secs(30),
            watch_others: true,
        }
    }
}

/// An engine to be started.
pub struct Builder {
    store: Arc<dyn Store>,
    owner: OwnerId,
    library: Arc<dyn Library>,
    clock: Arc<dyn Clock>,
    performers: Performers,
    lines: Arc<dyn LineSink>,
    records: Option<Arc<dyn Records>>,
    homes: Arc<dyn Homes>,
    snapshots: Arc<dyn Snapshots>,
    slots: Option<Arc<Slots>>,
    bell: Box<dyn Bell>,
    limits: Limits,
    points: Arc<dyn Points>,
}

impl Builder {
    /// An engine over a store, with the machine's clock. `owner` is the name under which it claims runs; it has to be
    /// alive in the eyes of the store for as long as the engine is.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, owner: OwnerId, library: Arc<dyn Library>) -> Self {
        Self {
            store,
            owner,
            library,
            clock: Arc::new(SystemClock),
            performers: Performers::new(),
            lines: Arc::new(NoLines),
            records: None,
            homes: Arc::new(NoHomes),
            snapshots: Arc::new(NoSnapshots),
            slots: None,
            bell: Box::new(NoBell),
            limits: Limits::default(),
            points: Arc::new(NoPoints),
        }
    }

    /// With another clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// With these performers.
    #[must_use]
    pub fn performers(mut self, performers: Performers) -> Self {
        self.performers = performers;
        self
    }

    /// With somebody who keeps log lines.
    #[must_use]
    pub fn lines(mut self, lines: impl LineSink) -> Self {
        self.lines = Arc::new(lines);
        self
    }

    /// With records in which warnings are kept as remarks on their runs.
    #[must_use]
    pub fn records(mut self, records: impl Records + 'static) -> Self {
        self.records = Some(Arc::new(records));
        self
    }

    /// With somebody who makes workspaces for child runs.
    #[must_use]
    pub fn homes(mut self, homes: impl Homes) -> Self {
        self.homes = Arc::new(homes);
        self
    }

    /// With somebody who keeps the files of runs.
    #[must_use]
    pub fn snapshots(mut self, snapshots: impl Snapshots) -> Self {
        self.snapshots = Arc::new(snapshots);
        self
    }

    /// Within what is limited over all processes.
    #[must_use]
    pub fn slots(mut self, slots: Slots) -> Self {
        self.slots = Some(Arc::new(slots));
        self
    }

    /// With somebody who says when others have changed the store.
    #[must_use]
    pub fn bell(mut self, bell: impl Bell) -> Self {
        self.bell = Box::new(bell);
        self
    }

    /// Within these limits.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With somebody who decides where the process dies.
    #[must_use]
    pub fn points(mut self, points: impl Points) -> Self {
        self.points = Arc::new(points);
        self
    }

    /// Starts the engine, on the runtime that this is called on.
    ///
    /// # Errors
    /// The system has no threads to give.
    pub fn start(self) -> std::io::Result<Engine> {
        let (limits, bell) = (self.limits, self.bell);
        let (handed, received) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            store: self.store,
            owner: self.owner,
            wall_clock: WallClockHistory::new(self.clock.read()),
            clock: self.clock,
            library: self.library,
            performers: self.performers,
            lines: self.lines,
            records: self.records,
            homes: self.homes,
            snapshots: self.snapshots,
            slots: self.slots,
            events: Events::default(),
            limits,
            slots_at_most: AtomicUsize::new(limits.slots),
            settings: watch::Sender::new(0),
            runtime: tokio::runtime::Handle::current(),
            kick: Notify::new(),
            idle: watch::Sender::new(false),
            handed,
            waiting: Mutex::default(),
            stopping: CancellationToken::new(),
            leaving: CancellationToken::new(),
            dead: CancellationToken::new(),
            points: self.points,
            driven: Mutex::default(),
            queued: Mutex::default(),
            troubled: Mutex::default(),
        });
        let (reporter, reports) = mpsc::unbounded_channel();
        let workers: std::io::Result<Vec<Worker>> = (0..limits.workers.max(1))
            .map(|number| Worker::start(Arc::clone(&shared), number, reporter.clone()))
            .collect();
        let scheduler = Scheduler::new(Arc::clone(&shared), workers?, bell, (reports, received));
        let scheduling = tokio::spawn(scheduler.run());
        Ok(Engine { shared, scheduling })
    }
}

/// An engine at work.
pub struct Engine {
    shared: Arc<Shared>,
    scheduling: JoinHandle<()>,
}

impl Engine {
    /// Creates a run. It is driven as soon as there is a slot.
    ///
    /// # Errors
    /// As [`Store::create_run`].
    pub async fn create(&self, start: RunStarted, place: Place) -> Result<Created, CreateError> {
        reservation::create(&self.shared, start, place).await
    }

    /// Sends a message to a run.
    ///
    /// # Errors
    /// As [`Store::send`].
    pub async fn send(&self, run: RunId, message: Message) -> Result<Sent, SendError> {
        let sent = self.shared.store.send(run, message, self.shared.clock.now()).await?;
        self.shared.ring(run);
        Ok(sent)
    }

    /// Hears of everything that this engine does, from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.events.watch()
    }

    /// Something may be due that nobody has told of.
    pub(crate) fn look_again(&self) {
        self.shared.kick.notify_one();
    }

    /// To be told when the user's settings have changed.
    #[must_use]
    pub fn settings(&self) -> SettingsListener {
        SettingsListener { shared: Arc::clone(&self.shared) }
    }

    /// How many runs are driven right now.
    #[must_use]
    pub fn driven(&self) -> usize {
        self.shared.driven_count()
    }

    /// Waits until a run has ended, whoever drives it. How it stands then; if the engine dies meanwhile, how it stands
    /// without having ended.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn ended(&self, run: RunId) -> Result<Standing, ReadError> {
        let awaits = self.shared.await_end(run);
        loop {
            let told = awaits.ending.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if let Some(standing) = awaits.ending.standing.get() {
                return Ok(*standing);
            }
            let is_dead = self.shared.dead.is_cancelled();
            // What is driven here ends here, and says so.
            if is_dead || !self.shared.is_driven(run) {
                let standing = self.shared.store.head(run).await?.standing;
                if standing.is_ended() || is_dead {
                    return Ok(standing);
                }
            }
            tokio::select! {
                () = told => {}
                () = self.shared.dead.cancelled() => {}
            }
        }
    }

    /// How many runs somebody waits for the end of.
    #[must_use]
    pub fn awaited(&self) -> usize {
        self.shared.awaited_count()
    }

    /// Waits until nothing has been to do for a while: no run is driven, none is due, and none has a time to be woken at.
    /// Runs that could not be driven and are left alone for now do not count.
    pub async fn idle(&self, length: Duration) {
        let mut idle = self.shared.idle.subscribe();
        loop {
            // The other end is ours, so it is never gone.
            let _gone = idle.wait_for(|idle| *idle).await.is_err();
            let busy = tokio::time::timeout(length, idle.wait_for(|idle| !*idle));
            if busy.await.is_err() {
                return;
            }
        }
    }

    /// Runs that could not be driven and are left alone for now.
    #[must_use]
    pub fn resting(&self) -> Except {
        self.shared.troubled().resting(Instant::now()).clone()
    }

    /// Waits until the process is as good as dead, which it should never be: its owner's lock is gone. The engine leaves by
    /// itself then.
    pub async fn dying(&self) {
        self.shared.dead.cancelled().await;
    }

    /// Waits until the engine has left by itself, because its process is as good as dead.
    pub async fn died(self) {
        let _panicked = self.scheduling.await;
    }

    /// Stops what is under way, and leaves: when this returns nothing of it is alive, and every run can be gone on with.
    /// For a person who wants it to end now.
    pub async fn stop(self) {
        self.shared.stopping.cancel();
        self.leave().await;
    }

    /// Leaves: every run is given back where it stands, and nothing is driven any more when this returns. What can go on
    /// without this process does. For an upgrade, or a lost terminal.
    pub async fn leave(self) {
        self.shared.leaving.cancel();
        let _panicked = self.scheduling.await;
    }
}

/// The part of an engine that is told of changed settings.
pub struct SettingsListener {
    shared: Arc<Shared>,
}

impl SettingsListener {
    /// Says that the user's settings have changed: limits are asked for again, and what waits for room on the disk is tried
    /// again. `slots` is how many runs the engine drives at once from now on, if that may have changed; `waiting` are runs that
    /// wait for room and may be parked.
    pub fn changed(&self, slots: Option<usize>, waiting: impl IntoIterator<Item = RunId>) {
        if let Some(slots) = slots {
            self.shared.slots_at_most.store(slots, Ordering::Relaxed);
        }
        self.shared.settings.send_modify(|count| *count = count.wrapping_add(1));
        for run in waiting {
            // An engine that leaves drives nothing more.
            let _gone = self.shared.handed.send(Handed::Unsure(run));
        }
        self.shared.kick.notify_one();
    }

    /// Waits so long, or until the engine leaves. Whether it leaves.
    pub async fn left_within(&self, length: Duration) -> bool {
        tokio::time::timeout(length, self.shared.leaving.cancelled()).await.is_ok()
    }
}
