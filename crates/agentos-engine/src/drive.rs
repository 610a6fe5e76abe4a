//! One run in the hands of one process: loaded, executed turn by turn, and left.

mod children;
mod commit;
mod effects;
mod files;
mod load;
mod slots;
mod warnings;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::Home;
use agentos_core::execution::Execution;
use agentos_core::id::{Epoch, RunId};
use agentos_core::program::Program;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_core::turn::Turn;
use agentos_sdk::Actions;
use agentos_store::claim::ReleaseError;
use agentos_store::log::ReadError;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::performer::News;
use crate::points::Point;
use crate::run_clock::{RunClock, is_set_back};
use crate::shared::Shared;
use crate::travel::Track;
use crate::worker::Assignment;
use commit::may_pass;
use effects::InFlight;
use slots::Places;

/// How many messages are taken out of the inbox at once.
const INBOX_PAGE: usize = 100;

/// How often giving a run back is tried again after an error that does not pass by itself.
const RELEASES: u32 = 3;

/// How a drive ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// The run is over.
    Ended,
    /// The run only waits, and was given back.
    Parked,
    /// The engine leaves; whoever comes next goes on.
    Leaving,
    /// Somebody else has the run now.
    Lost,
    /// The run could not be driven.
    Trouble(String),
    /// The process is as good as dead.
    Dead,
}

/// Drives a run that was claimed, until it has to be left.
/// `load` is how many runs this thread drives.
pub(crate) async fn drive(
    shared: &Arc<Shared>,
    assignment: Assignment,
    load: Arc<AtomicUsize>,
) -> Left {
    // Whoever wrote to a run that is new has rung.
    let is_new = assignment.log.is_some();
    let left = match Drive::load(shared, assignment, load).await {
        Ok((mut drive, turn)) => {
            let (Ok(left) | Err(left)) = drive.run(turn, is_new).await;
            if left == Left::Leaving && shared.stopping.is_cancelled() {
                drive.in_flight.stop_all(shared.limits.stop_within).await;
            }
            left
        }
        Err(left) => left,
    };
    if shared.dead.is_cancelled() {
        return Left::Dead;
    }
    left
}

/// Gives a run back, under whatever epoch it is held: whoever leaves a run that goes on has to, or it would wait for this
/// process to die. Whether it was still ours.
pub(crate) async fn give_back(shared: &Shared, run: RunId) -> bool {
    let (mut backoff, mut tries) = (Backoff::new(), 0);
    loop {
        let (error, may_pass) = match shared.store.head(run).await {
            Ok(head) if head.owner != Some(shared.owner) => return false,
            Ok(head) => match shared.store.release(run, head.epoch).await {
                Ok(()) => return true,
                Err(ReleaseError::Backend(error)) => (error.to_string(), may_pass(&error)),
                Err(_) => return false,
            },
            Err(ReadError::NotFound { .. }) => return false,
            Err(error) => (error.to_string(), true),
        };
        tracing::warn!(%run, error, "the run can't be given back");
        tries += u32::from(!may_pass);
        // A process that leaves is dead soon, and its runs are free then.
        if tries > RELEASES || shared.dead.is_cancelled() || !backoff.pause(shared).await {
            return false;
        }
    }
}

/// A run that is being driven.
pub(super) struct Drive {
    shared: Arc<Shared>,
    run: RunId,
    home: Home,
    epoch: Epoch,
    execution: Execution<Box<dyn Program>>,
    clock: RunClock,
    actions: Option<Actions>,
    standing: Standing,
    in_flight: InFlight,
    /// Its slots, and what it waits for of them.
    places: Places,
    /// What there is to know about its files.
    track: Track,
    /// How many runs share this thread.
    load: Arc<AtomicUsize>,
    /// When progress was last told.
    told_at: Option<Instant>,
    /// Why it stands still, as far as that was said.
    trouble: Option<String>,
    /// Somebody has put something into the inbox.
    mail: Arc<Notify>,
    news: mpsc::UnboundedReceiver<News>,
    /// Changes when the user's settings do.
    settings: watch::Receiver<u64>,
}

impl Drive {
    /// Takes turns until the run has to be left.
    async fn run(&mut self, first: Turn, is_new: bool) -> Result<Left, Left> {
        self.settle(first).await?;
        let mut happenings = if is_new { Vec::new() } else { self.inbox().await? };
        happenings.extend(self.try_held_again());
        loop {
            if !happenings.is_empty() {
                let turn = self.execution.advance(happenings, self.now());
                self.settle(turn.map_err(|error| Left::Trouble(error.to_string()))?).await?;
            }
            if self.standing.is_ended() {
                self.shared.has_ended(self.run, self.standing);
                return Ok(Left::Ended);
            }
            happenings = self.next_happenings().await?;
        }
    }

    /// Commits a turn and performs its effects; and so on while there is more of it.
    async fn settle(&mut self, mut turn: Turn) -> Result<(), Left> {
        loop {
            let Turn { chunk, consumed, outgoing, effects, lines, standing, more } = turn;
            if !chunk.entries.is_empty() {
                self.shared.pass(Point::Decided)?;
                self.note_files(&chunk, standing).await;
                self.commit(chunk, consumed, (outgoing, &lines), standing).await?;
            } else {
                self.keep_warnings(&lines).await;
            }
            self.standing = standing;
            self.rest(standing);
            if !lines.is_empty() {
                self.shared.lines.write(self.run, lines);
            }
            self.shared.pass(Point::Committed)?;
            for effect in effects {
                self.shared.pass(Point::Performing)?;
                match self.admit(&effect).await {
                    Ok(()) => self.attend_to(effect).await,
                    Err(hold) => self.hold_back(effect, hold),
                }
            }
            if !more {
                return Ok(());
            }
            // A program that never waits is to hear of its mail, and of the engine's leaving, all the same.
            if self.shared.leaving.is_cancelled() {
                return Err(Left::Leaving);
            }
            let messages = if self.has_mail().await { self.inbox().await? } else { Vec::new() };
            let next = self.execution.advance(messages, self.now());
            turn = next.map_err(|error| Left::Trouble(error.to_string()))?;
        }
    }

    /// Sees to the files that something works on, and does it.
    async fn attend_to(&mut self, effect: Effect) {
        match self.see_to_files(&effect).await {
            Ok(()) => self.perform(effect),
            Err(refusal) => self.refuse(effect, refusal),
        }
    }

    /// Whether somebody has rung since the inbox was last looked at.
    async fn has_mail(&self) -> bool {
        tokio::select! {
            biased;
            () = self.mail.notified() => true,
            () = std::future::ready(()) => false,
        }
    }

    /// Waits until something happens to the run.
    async fn next_happenings(&mut self) -> Result<Vec<Happening>, Left> {
        loop {
            if self.shared.leaving.is_cancelled() {
                return Err(Left::Leaving);
            }
            let mut timers = self.due_timers();
            if !timers.is_empty() {
                if self.has_mail().await {
                    timers.extend(self.inbox().await?);
                }
                return Ok(timers);
            }
            let wake_at = self.execution.timers().next().map(|(due, _)| due);
            let reading = self.shared.clock.read();
            let by_wall_clock = wake_at.map(|at| self.clock.to_wall_clock(reading, at));
            let parks = self.parks_until(wake_at);
            let (shared, progress) = (Arc::clone(&self.shared), self.in_flight.progress.clone());
            tokio::select! {
                biased;
                () = shared.dead.cancelled() => return Err(Left::Dead),
                () = shared.leaving.cancelled() => return Err(Left::Leaving),
                Some(news) = self.news.recv() => {
                    let mut happenings = vec![self.hear(news)];
                    while let Ok(news) = self.news.try_recv() {
                        happenings.push(self.hear(news));
                    }
                    return Ok(happenings);
                }
                () = self.mail.notified() => {
                    let messages = self.inbox().await?;
                    if !messages.is_empty() {
                        return Ok(messages);
                    }
                }
                _ = self.settings.changed() => {
                    let happenings = self.follow_settings().await;
                    if !happenings.is_empty() {
                        return Ok(happenings);
                    }
                }
                () = self.places.change() => {
                    let admitted = self.admitted();
                    if !admitted.is_empty() {
                        return Ok(admitted);
                    }
                }
                () = sleep_until(&shared, by_wall_clock) => {}
                () = progress.ripe(self.told_at) => self.tell_all_progress(),
                () = linger(parks) => return self.park().await,
            }
        }
    }

    /// The time of the run.
    fn now(&self) -> Timestamp {
        self.clock.now(self.shared.clock.read())
    }

    /// Timers whose time has come.
    fn due_timers(&self) -> Vec<Happening> {
        let now = self.now();
        let due = self.execution.timers().take_while(|(due, _)| *due <= now);
        due.map(|(_, timer)| Happening::Timer(timer.clone())).collect()
    }

    /// How long a run that only waits is kept, if it can be given back at all. One that is woken in a moment is not
    /// worth the way.
    fn parks_until(&self, wake_at: Option<Timestamp>) -> Option<Duration> {
        let parked = matches!(self.standing, Standing::Parked { .. });
        let linger = self.shared.limits.linger;
        let soon = wake_at.is_some_and(|at| {
            let left = at.0.saturating_sub(self.now().0).max(0);
            Duration::from_millis(left.unsigned_abs()) <= linger
        });
        let is_idle = self.in_flight.is_empty() && !self.places.is_waiting();
        // The scheduler knows two clocks: that of the wall, and that of the runs which are furthest ahead of it.
        let reading = self.shared.clock.read();
        let (ahead, most) =
            (self.clock.ahead_us(reading), self.shared.wall_clock.most_ahead_us(reading));
        let is_known = wake_at.is_none() || !is_set_back(ahead) || !is_set_back(most - ahead);
        (parked && !soon && is_idle && is_known).then_some(linger)
    }

    /// Gives the run back: it needs nobody until its time comes or a message does.
    async fn park(&mut self) -> Result<Vec<Happening>, Left> {
        let messages = self.inbox().await?;
        if !messages.is_empty() {
            return Ok(messages);
        }
        self.shared.pass(Point::Parking)?;
        let ahead = self.clock.ahead_us(self.shared.clock.read());
        self.shared.wall_clock.park(self.run, is_set_back(ahead));
        // A message that comes meanwhile makes the run due.
        let released = give_back(&self.shared, self.run).await;
        self.shared.pass(Point::Parked)?;
        Err(if released { Left::Parked } else { Left::Lost })
    }

    /// What waits in the inbox.
    async fn inbox(&mut self) -> Result<Vec<Happening>, Left> {
        let mut backoff = Backoff::new();
        let received = loop {
            match self.shared.store.inbox(self.run, INBOX_PAGE).await {
                Ok(received) => break received,
                Err(error) => self.tell_trouble(error.to_string()),
            }
            if !backoff.pause(&self.shared).await {
                return Err(Left::Leaving);
            }
        };
        if received.len() >= INBOX_PAGE {
            // There may be more.
            self.mail.notify_one();
        }
        Ok(received.into_iter().map(|received| Happening::Message(received.message)).collect())
    }
}

async fn sleep_until(shared: &Shared, at: Option<Timestamp>) {
    match at {
        Some(at) => shared.clock.sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn linger(length: Option<Duration>) {
    match length {
        Some(length) if length.is_zero() => {}
        Some(length) => tokio::time::sleep(length).await,
        None => std::future::pending().await,
    }
}
