//! Who gets driven: claims what is due, as long as there are slots.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_store::backend::BackendError;
use agentos_store::claim::{Claim, ClaimError, ClaimMode};
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::drive::Left;
use crate::events::Event;
use crate::patience::Patience;
use crate::shared::Shared;
use crate::worker::{Assignment, Report, Worker};

/// How many runs are claimed at once at most.
const CLAIMS: usize = 64;

/// How many runs with mail are looked at in one go.
const ADDRESSED: usize = 1_000;

/// While others drive runs in the same store, it is looked this often whether they still live: nobody tells of a death.
const OTHERS: Duration = Duration::from_millis(500);

/// The bell rings for our own commits too. After one ring it is not listened to for so long, so that a busy engine does
/// not ask the store after every commit.
const BELL_REST: Duration = Duration::from_millis(5);

/// Says when others have changed something in the store.
#[async_trait]
pub trait Bell: Send + 'static {
    /// Waits until something has changed since this was last asked.
    async fn rung(&mut self);
}

/// Nobody else uses the store.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBell;

#[async_trait]
impl Bell for NoBell {
    async fn rung(&mut self) {
        std::future::pending().await
    }
}

#[async_trait]
impl Bell for agentos_store::sqlite::Watch {
    async fn rung(&mut self) {
        self.changed().await;
    }
}

/// When to look again, if nothing happens before.
struct Next {
    /// When a parked run has its time, by the wall clock.
    wake_at: Option<Timestamp>,
    /// After how long there may be something to do, on a clock that nobody sets.
    pause: Option<Duration>,
}

impl Next {
    async fn come(&self, clock: &dyn Clock) {
        let time = async {
            match self.wake_at {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let pause = async {
            match self.pause {
                Some(length) => tokio::time::sleep(length).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = time => {}
            () = pause => {}
        }
    }
}

/// Hands out runs to workers.
pub(crate) struct Scheduler {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    bell: Box<dyn Bell>,
    /// Until when the bell is not listened to.
    rest: Option<Pin<Box<tokio::time::Sleep>>>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// When the next parked run has its time, as far as is known.
    wake_at: Option<Timestamp>,
    /// Whether that, or who has mail, may have changed.
    stale: bool,
}

impl Scheduler {
    pub(crate) fn new(
        shared: Arc<Shared>,
        workers: Vec<Worker>,
        bell: Box<dyn Bell>,
        reports: mpsc::UnboundedReceiver<Report>,
    ) -> Self {
        Self { shared, workers, bell, rest: None, reports, wake_at: None, stale: true }
    }

    /// Schedules until the engine leaves, then waits for the workers.
    pub(crate) async fn run(mut self) {
        while !self.shared.leaving.is_cancelled() {
            let next = match self.look().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "the store can't be asked what is due");
                    Next { wake_at: None, pause: Some(OTHERS) }
                }
            };
            self.wait(next).await;
        }
        let workers = std::mem::take(&mut self.workers);
        let joined =
            tokio::task::spawn_blocking(move || workers.into_iter().for_each(Worker::join));
        let _cancelled = joined.await;
    }

    /// Waits until there may be something to do.
    async fn wait(&mut self, next: Next) {
        let clock = Arc::clone(&self.shared.clock);
        let time = next.come(&*clock);
        let (bell, rest) = (&mut self.bell, &mut self.rest);
        let rung = async {
            if let Some(rest) = rest {
                rest.as_mut().await;
            }
            *rest = None;
            bell.rung().await;
        };
        tokio::select! {
            () = self.shared.leaving.cancelled() => {}
            Some(report) = self.reports.recv() => self.hear(report),
            () = self.shared.kick.notified() => {}
            () = rung => {
                self.rest = Some(Box::pin(tokio::time::sleep(BELL_REST)));
                self.stale = true;
                self.shared.tell_all_who_wait();
            }
            () = time => {
                self.stale = true;
                self.shared.tell_all_who_wait();
            }
        }
        while let Ok(report) = self.reports.try_recv() {
            self.hear(report);
        }
    }

    fn hear(&mut self, Report { run, left }: Report) {
        match left {
            Left::Trouble(message) => {
                tracing::warn!(%run, message, "the run can't be driven");
                self.shared.troubled().add(run, Instant::now());
                self.shared.events.tell(Event::Trouble { run, message });
            }
            Left::Parked => {
                // It has a time to be woken at, perhaps.
                self.stale = true;
                self.shared.troubled().remove(run);
            }
            Left::Ended | Left::Leaving | Left::Lost | Left::Dead => {
                self.shared.troubled().remove(run);
            }
        }
    }

    /// Claims what is due, and tells those who have mail. When to look again.
    async fn look(&mut self) -> Result<Next, BackendError> {
        let now = self.shared.clock.now();
        let resting = self.shared.troubled().resting(Instant::now()).clone();
        let free = self.shared.limits.slots.saturating_sub(self.shared.driven_count());
        let mut found = false;
        if free > 0 {
            let wanted = free.min(CLAIMS);
            let due = self.shared.store.due(now, &resting, wanted).await?;
            found = !due.is_empty();
            if due.len() >= wanted {
                // There may be more.
                self.shared.kick.notify_one();
            }
            let runs = due.into_iter().map(|due| due.run);
            self.claim(runs.filter(|run| !self.shared.is_driven(*run)).collect()).await;
        }
        let rests = !found && self.shared.driven_count() == 0;
        if self.stale || rests {
            self.stale = false;
            let outlook = self.shared.store.outlook(self.shared.owner, &resting, ADDRESSED).await?;
            outlook.addressed.into_iter().for_each(|run| self.shared.ring(run));
            self.wake_at = outlook.wake_at;
        }
        let idle = rests && self.wake_at.is_none();
        self.shared.idle.send_if_modified(|was| std::mem::replace(was, idle) != idle);
        // Without a slot nobody can be woken; the one that becomes free kicks.
        let free = self.shared.limits.slots > self.shared.driven_count();
        let wake_at = self.wake_at.filter(|at| free && *at > now);
        let others = (self.shared.limits.watch_others && free).then_some(OTHERS);
        let again = self.shared.troubled().next(Instant::now());
        Ok(Next { wake_at, pause: [again, others].into_iter().flatten().min() })
    }

    /// Claims runs, all at once: the store makes one transaction of that.
    async fn claim(&mut self, runs: Vec<RunId>) {
        let mut claims = JoinSet::new();
        for run in runs {
            let shared = Arc::clone(&self.shared);
            claims.spawn(async move { (run, claim_surely(&shared, run).await) });
        }
        while let Some(claimed) = claims.join_next().await {
            match claimed {
                Ok((run, Ok(claim))) => self.assign(run, claim),
                // Somebody was faster, or it is over.
                Ok((_, Err(ClaimError::Owned { .. } | ClaimError::Ended { .. }))) | Err(_) => {}
                Ok((_, Err(error @ ClaimError::NotAlive { .. }))) => {
                    tracing::error!(%error, "this engine leaves");
                    self.shared.die();
                }
                Ok((run, Err(error))) => {
                    tracing::warn!(%run, %error, "the run can't be claimed");
                }
            }
        }
    }

    fn assign(&self, run: RunId, claim: Claim) {
        let mail = self.shared.enter(run);
        let worker = self.workers.iter().min_by_key(|worker| worker.load());
        let assigned = worker.is_some_and(|worker| worker.assign(Assignment { run, claim, mail }));
        if !assigned {
            self.shared.leave(run);
        }
    }
}

/// Claims a run. If nobody knows whether that was done, it is done again: otherwise the run would be ours and nobody
/// would drive it.
async fn claim_surely(shared: &Shared, run: RunId) -> Result<Claim, ClaimError> {
    let mut patience = Patience::new();
    loop {
        match shared.store.claim(run, shared.owner, ClaimMode::IfFree).await {
            Err(ClaimError::Backend(error)) => {
                tracing::warn!(%run, %error, "the run can't be claimed");
                if !patience.pause(shared).await {
                    return Err(ClaimError::Backend(error));
                }
            }
            other => return other,
        }
    }
}
