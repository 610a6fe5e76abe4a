//! Who gets driven: claims what is due, as long as there are slots.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_store::backend::BackendError;
use agentos_store::claim::{Claim, ClaimError, ClaimMode};
use agentos_store::due::{Except, Outlook};
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::drive::{self, Left};
use crate::events::Event;
use crate::panics::caught;
use crate::reservation::Handed;
use crate::shared::{NoSlot, Shared};
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

/// How long after the end of the last run it is looked whether anything is left to do: whoever brings one run after the
/// other is not to pay for that each time.
const REPOSE: Duration = Duration::from_millis(5);

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
    /// When there may be something to do, on a clock that can't be set. What happens meanwhile does not put it off.
    at: Option<Instant>,
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
            match self.at {
                Some(at) => tokio::time::sleep_until(at).await,
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
    handed: mpsc::UnboundedReceiver<Handed>,
    /// Runs that may be ours without anybody's driving them.
    unsure: Vec<RunId>,
    /// Whether somebody may wait for a slot.
    is_crowded: bool,
    /// When it is seen whether anything is left to do, after the last run has ended.
    repose: Option<Pin<Box<tokio::time::Sleep>>>,
    /// When the next parked run has its time, as far as is known.
    wake_at: Option<Timestamp>,
    /// How far runs that were parked before the wall clock was set back may be ahead of it, in milliseconds.
    most_ahead: i64,
    /// Whether that, or who has mail, may have changed.
    stale: bool,
}

impl Scheduler {
    pub(crate) fn new(
        shared: Arc<Shared>,
        workers: Vec<Worker>,
        bell: Box<dyn Bell>,
        (reports, handed): (mpsc::UnboundedReceiver<Report>, mpsc::UnboundedReceiver<Handed>),
    ) -> Self {
        Self {
            shared,
            workers,
            bell,
            rest: None,
            reports,
            handed,
            unsure: Vec::new(),
            is_crowded: false,
            repose: None,
            wake_at: None,
            most_ahead: 0,
            stale: true,
        }
    }

    /// Schedules until the engine leaves, then waits for the workers.
    pub(crate) async fn run(mut self) {
        while !self.shared.leaving.is_cancelled() {
            let next = match self.look().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "the store can't be asked what is due");
                    Next { wake_at: None, at: Some(Instant::now() + OTHERS) }
                }
            };
            while !self.wait(&next).await {}
        }
        self.turn_away().await;
        let workers = std::mem::take(&mut self.workers);
        let joined =
            tokio::task::spawn_blocking(move || workers.into_iter().for_each(Worker::join));
        let _cancelled = joined.await;
    }

    /// What was created for an engine that leaves is given back. Nobody hands it anything after that.
    async fn turn_away(&mut self) {
        self.handed.close();
        for run in std::mem::take(&mut self.unsure) {
            drive::give_back(&self.shared, run).await;
        }
        while let Some(handed) = self.handed.recv().await {
            let (Handed::Held(Assignment { run, .. }) | Handed::Unsure(run)) = handed;
            drive::give_back(&self.shared, run).await;
            self.shared.leave(run);
        }
    }

    /// Waits until something happens. Whether there may be something to do for the store to tell.
    async fn wait(&mut self, next: &Next) -> bool {
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
        let repose = async {
            match &mut self.repose {
                Some(repose) => repose.as_mut().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.shared.leaving.cancelled() => {}
            Some(report) = self.reports.recv() => return self.hear(report),
            Some(handed) = self.handed.recv() => return self.receive(handed),
            () = self.shared.kick.notified() => {}
            () = repose => {}
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
        true
    }

    /// Takes a run that was created here. Whether something has to be looked for.
    fn receive(&mut self, handed: Handed) -> bool {
        match handed {
            Handed::Held(assignment) => {
                self.repose = None;
                self.shared.idle.send_if_modified(std::mem::take);
                self.put_to_work(assignment);
                false
            }
            Handed::Unsure(run) => {
                self.unsure.push(run);
                true
            }
        }
    }

    /// Hears how a run was left. Whether something has to be looked for.
    fn hear(&mut self, Report { run, left }: Report) -> bool {
        let has_ended = left == Left::Ended;
        match left {
            Left::Trouble(message) => {
                tracing::warn!(%run, message, "the run can't be driven");
                self.shared.troubled().add(run, Instant::now());
                self.shared.events.tell(Event::Trouble { run, message, is_left: true });
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
        if has_ended && self.shared.driven_count() == 0 {
            self.repose = Some(Box::pin(tokio::time::sleep(REPOSE)));
        }
        !has_ended || self.is_crowded
    }

    /// Claims what is due, and tells those who have mail. When to look again.
    async fn look(&mut self) -> Result<Next, BackendError> {
        let reading = self.shared.clock.read();
        let now = reading.now();
        let most_ahead = self.shared.wall_clock.most_ahead_us(reading) / 1_000;
        self.stale |= std::mem::replace(&mut self.most_ahead, most_ahead) != most_ahead;
        self.repose = None;
        let unsure = std::mem::take(&mut self.unsure);
        self.unsure = self.claim(unsure).await;
        let resting = self.shared.troubled().resting(Instant::now()).clone();
        let free = self.shared.free();
        let mut found = false;
        self.is_crowded = free == 0 || !self.unsure.is_empty();
        if free > 0 {
            let wanted = free.min(CLAIMS);
            let due = due(&self.shared, (now, most_ahead), &resting, wanted).await?;
            found = !due.is_empty();
            self.is_crowded |= due.len() >= wanted;
            if due.len() >= wanted {
                // There may be more.
                self.shared.kick.notify_one();
            }
            let runs = due.into_iter().filter(|run| !self.shared.is_driven(*run)).collect();
            let left = self.claim(runs).await;
            self.is_crowded |= !left.is_empty();
        }
        let rests = !found && self.shared.driven_count() == 0;
        if self.stale || rests {
            self.stale = false;
            let outlook = outlook(&self.shared, most_ahead, &resting).await?;
            outlook.addressed.into_iter().for_each(|run| self.shared.ring(run));
            self.wake_at = outlook.wake_at;
        }
        let idle = rests && self.wake_at.is_none();
        self.shared.idle.send_if_modified(|was| std::mem::replace(was, idle) != idle);
        // Without a slot nobody can be woken; when one becomes free, it is looked again.
        let free = self.shared.free() > 0;
        self.is_crowded |= !free;
        let wake_at = self.wake_at.filter(|at| free && *at > now);
        let others = (self.shared.limits.watch_others && free).then_some(OTHERS);
        let again = self.shared.troubled().next(Instant::now());
        let pause = [again, others].into_iter().flatten().min();
        Ok(Next { wake_at, at: pause.map(|pause| Instant::now() + pause) })
    }

    /// Claims runs, all at once: the store makes one transaction of that. Those for which there is no slot are left.
    async fn claim(&mut self, runs: Vec<RunId>) -> Vec<RunId> {
        let mut claims = JoinSet::new();
        let mut left = Vec::new();
        for run in runs {
            let mail = match self.shared.enter(run) {
                Ok(mail) => mail,
                Err(NoSlot::Driven) => continue,
                Err(NoSlot::Full) => {
                    left.push(run);
                    continue;
                }
            };
            let shared = Arc::clone(&self.shared);
            claims.spawn(async move { (run, mail, caught(claim_surely(&shared, run)).await) });
        }
        while let Some(claimed) = claims.join_next().await {
            let Ok((run, mail, claimed)) = claimed else { continue };
            if let Ok(Ok(claim)) = claimed {
                self.put_to_work(Assignment { run, claim, mail, log: None });
                continue;
            }
            self.shared.leave(run);
            match claimed {
                Ok(Err(error @ ClaimError::NotAlive { .. })) => {
                    tracing::error!(%error, "this engine leaves");
                    self.shared.die();
                }
                Ok(Err(error)) if !is_not_ours(&error) => {
                    tracing::warn!(%run, %error, "the run can't be claimed");
                }
                Ok(_) => {}
                Err(panicked) => {
                    tracing::warn!(%run, error = panicked, "the run can't be claimed");
                }
            }
        }
        left
    }

    fn put_to_work(&self, assignment: Assignment) {
        let run = assignment.run;
        let worker = self.workers.iter().min_by_key(|worker| worker.load());
        let assigned = worker.is_some_and(|worker| worker.assign(assignment));
        if !assigned {
            self.shared.leave(run);
        }
    }
}

/// What is due, by the wall clock or because it is as far ahead of that as a run can be.
async fn due(
    shared: &Shared,
    (now, most_ahead): (Timestamp, i64),
    resting: &Except,
    wanted: usize,
) -> Result<BTreeSet<RunId>, BackendError> {
    let mut due = shared.store.due(now, resting, wanted).await?;
    if most_ahead > 0 {
        let latest = Timestamp(now.0.saturating_add(most_ahead));
        due.extend(shared.store.due(latest, &not_ahead(shared, resting), wanted).await?);
    }
    Ok(due.into_iter().map(|due| due.run).collect())
}

/// Who has mail, and what the wall clock shows when the next parked run has its time.
async fn outlook(
    shared: &Shared,
    most_ahead: i64,
    resting: &Except,
) -> Result<Outlook, BackendError> {
    let (store, owner) = (&shared.store, shared.owner);
    let mut outlook = store.outlook(owner, resting, ADDRESSED).await?;
    if most_ahead > 0 {
        let ahead = store.outlook(owner, &not_ahead(shared, resting), 1).await?.wake_at;
        let ahead = ahead.map(|at| Timestamp(at.0.saturating_sub(most_ahead)));
        outlook.wake_at = [ahead, outlook.wake_at].into_iter().flatten().min();
    }
    Ok(outlook)
}

fn not_ahead(shared: &Shared, resting: &Except) -> Except {
    resting.union(&shared.wall_clock.parked()).copied().collect()
}

/// Whether another process was faster, the run is over, goes on in another database, or was not created after all.
const fn is_not_ours(error: &ClaimError) -> bool {
    matches!(
        error,
        ClaimError::Owned { .. }
            | ClaimError::Ended { .. }
            | ClaimError::Elsewhere { .. }
            | ClaimError::NotFound { .. }
    )
}

/// Claims a run. If nobody knows whether that was done, it is done again: otherwise the run would be ours and nobody
/// would drive it.
async fn claim_surely(shared: &Shared, run: RunId) -> Result<Claim, ClaimError> {
    let mut backoff = Backoff::new();
    loop {
        match shared.store.claim(run, shared.owner, ClaimMode::IfFree).await {
            Err(ClaimError::Backend(error)) => {
                tracing::warn!(%run, %error, "the run can't be claimed");
                if !backoff.pause(shared).await {
                    return Err(ClaimError::Backend(error));
                }
            }
            other => return other,
        }
    }
}
