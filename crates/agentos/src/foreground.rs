//! A run in the hands of this command: driven and shown until it has ended, or somebody wants it to stop.

use std::sync::Arc;
use std::time::Duration;

use agentos_core::id::{OwnerId, RunId};
use agentos_core::standing::{EndStatus, Standing};
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::engine::{Builder, Engine, Limits};
use agentos_engine::events::Event;
use agentos_engine::family::Family;
use agentos_engine::held::Held;
use agentos_process::ending::is_ending;
use agentos_store::claim::{ClaimError, ClaimMode};
use agentos_store::log::ReadError;
use agentos_store::records::{Records as _, RunDetail};
use agentos_store::sqlite::{Owner, OwnerLife, SqliteStore};
use agentos_store::store::Store as _;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use uuid::Uuid;

use crate::databases::counterpart;
use crate::error::{Cause, CommandError, ErrorKind, Result};
use crate::lines::{FileLines, Said, WAITING};
use crate::scribe;
use crate::session::Session;
use crate::signals::{Signals, Wish};
use crate::travel::keeper::DeskSnapshots;
use crate::view::{self, Presenter, Stream};
use crate::workspace::desk::Desk;
use crate::workspace::homes::DeskHomes;
use crate::workspace::tend;
use crate::{limits, never_created, settings, supervise, sweep};

/// How often a picture is drawn at most.
const FRAME: Duration = Duration::from_millis(100);

/// How many runs one command drives at once: those that only wait are kept too.
const SLOTS: usize = 4_096;

/// Somebody who may drive runs: this process.
pub(crate) fn enlist(store: &SqliteStore) -> Result<Owner> {
    Ok(store.enlist(OwnerId(Uuid::new_v4()))?)
}

/// Drives a run that was just made or moved, unless it has ended by that; how it ended.
pub(crate) async fn see_to_end(
    session: &Session,
    store: &SqliteStore,
    (owner, run): (Owner, RunId),
    stream: Stream,
) -> Result<RunDetail> {
    if !store.head(run).await?.standing.is_ended() {
        return drive(session, store, (owner, run), stream).await;
    }
    leave_if_ended(session, store, run).await?;
    let view = view::load_family(store, run).await?;
    let detail = view.run.clone();
    let environment = session.surroundings.environment.clone();
    Presenter::new(&session.output, stream, environment).finish(view, SystemClock.now());
    Ok(detail)
}

/// Sees to what a run leaves that has ended without being driven.
pub(crate) async fn leave_if_ended(
    session: &Session,
    store: &SqliteStore,
    run: RunId,
) -> Result<()> {
    if !store.head(run).await?.standing.is_ended() {
        return Ok(());
    }
    scribe::write(store, run).await;
    sweep::of_run(store, run).await;
    match store.run_detail(run).await?.run.workspace_id {
        Some(_) => tend::leave_if_ended(session, store, run).await,
        None => Ok(()),
    }
}

/// Drives a run until it has ended; how it ended.
pub(crate) async fn drive(
    session: &Session,
    store: &SqliteStore,
    (owner, run): (Owner, RunId),
    stream: Stream,
) -> Result<RunDetail> {
    let mut signals = Signals::listen()?;
    let known = view::load_family(store, run).await?;
    claim(store, run, &owner).await?;
    let held = Held::of(store.path());
    held.let_go(run);
    let (watcher, lines) = mpsc::channel(WAITING);
    let family = Arc::new(Family::new(Arc::new(store.clone()), owner.id(), [run]));
    let engine =
        start(session, store, &owner, (Arc::clone(&family), FileLines::watched_by(watcher)))?;
    let scribe = tokio::spawn(scribe::follow(store.clone(), engine.events()));
    never_created::sweep(session, store).await;
    let sweeper = tokio::spawn(sweep::follow(store.clone(), engine.events()));
    let desk = Desk::open(session, store).ok();
    let tender = tokio::spawn(tend::follow(desk, store.clone(), engine.events()));
    let settings = settings::follow_in_foreground(
        Arc::clone(&session.live),
        Arc::clone(&session.config),
        engine.settings(),
    );
    let settings = tokio::spawn(settings);
    let presenter =
        Presenter::new(&session.output, stream, session.surroundings.environment.clone())
            .knows(known);
    let mut watching = Watching { store, run, family, presenter, lines, events: engine.events() };
    let outcome = watching.until(&engine, &mut signals).await;
    let left = async {
        match outcome {
            Outcome::Wish(Wish::Stop) => {
                // Also an executor that lives here is to leave it alone.
                if let Err(error) = held.hold(run, &watching.family.members()) {
                    tracing::warn!(%run, %error, "the background executor may go on with the run");
                }
                engine.stop().await;
            }
            _ => engine.leave().await,
        }
        let _gone = (scribe.await, sweeper.await, tender.await, settings.await);
    };
    // A person who asks again does not want to wait for that: this process ends with the lock of its owner, as a killed one does.
    tokio::select! {
        () = left => drop(owner),
        _ = signals.next() => std::mem::forget(owner),
    }
    match outcome {
        Outcome::Ended(ended) => {
            ended?;
            watching.finish().await
        }
        Outcome::Trouble(message) => {
            Err(CommandError::failed(format!("the run can't be driven: {message}"))
                .cli_hint("nothing of it is lost; mend that, and `agentos resume` it"))
        }
        Outcome::Wish(_) => {
            watching.show().await;
            Err(interrupted(store, run).await)
        }
    }
}

/// Takes the run, or says who has it.
async fn claim(store: &SqliteStore, run: RunId, owner: &Owner) -> Result<()> {
    let begun = Instant::now();
    loop {
        match store.claim(run, owner.id(), ClaimMode::IfFree).await {
            Ok(_) => return Ok(()),
            Err(ClaimError::Owned { by, .. }) if is_about_to_go(store, by, begun) => {
                tokio::time::sleep(DYING).await;
            }
            Err(ClaimError::Owned { by, .. }) => return Err(owned(store, run, by).await),
            Err(ClaimError::Ended { .. }) => return Err(ended(store, run, false).await),
            Err(ClaimError::Elsewhere { source, .. }) => {
                return Err(counterpart::refused(store, run, source).await);
            }
            Err(error) => return Err(CommandError::failed(error.to_string())),
        }
    }
}

/// Whether an owner's lock is worth waiting for: the owner was killed and has not gone yet, or a child that it was just starting
/// holds the lock until it has become another program. A process in another container looks like the latter, but stays.
fn is_about_to_go(store: &SqliteStore, owner: OwnerId, since: Instant) -> bool {
    let within = match store.owner_life(owner) {
        OwnerLife::Alive { pid: Some(pid) } if is_ending(pid) => RELEASED_WITHIN,
        OwnerLife::Alive { pid: Some(_) } => return false,
        OwnerLife::Alive { pid: None } | OwnerLife::Dead => UNSEEN_WITHIN,
    };
    since.elapsed() < within
}

/// The run is over. What can be done instead is named for the workflow as it is now, if that was asked for.
pub(crate) async fn ended(store: &SqliteStore, run: RunId, is_latest: bool) -> CommandError {
    let (flag, field) = match is_latest {
        true => (" --latest", " with `\"latest\": true`"),
        false => ("", ""),
    };
    let name = short_name(store, run).await;
    let is_completed = store.head(run).await.is_ok_and(|head| {
        matches!(head.standing, Standing::Ended { status: EndStatus::Completed })
    });
    let ended = CommandError::usage(format!("{name} has ended, and what has ended stays so"))
        .because(Cause::RunHasEnded);
    if is_completed {
        return ended
            .cli_hint(format!(
                "`agentos show {name}` tells how; `agentos fork {name} --from-step STEP{flag}` does a part of it again"
            ))
            .api_hint(format!("`POST /api/executions/{name}/fork`{field} does a part of it again"));
    }
    ended
        .cli_hint(format!(
            "`agentos show {name}` tells how; `agentos retry {name}{flag}` goes on with what it has finished"
        ))
        .api_hint(format!(
            "`POST /api/executions/{name}/retry`{field} goes on with what it has finished"
        ))
}

/// Somebody who lives has the run.
pub(crate) async fn owned(store: &SqliteStore, run: RunId, by: OwnerId) -> CommandError {
    let name = short_name(store, run).await;
    let who = match store.owner_life(by) {
        OwnerLife::Alive { pid: Some(pid) } => format!("process {pid}"),
        OwnerLife::Alive { pid: None } => "a process in another container".to_owned(),
        OwnerLife::Dead => "a process that has just ended".to_owned(),
    };
    CommandError::refused(format!("{name} is being run by {who}"))
        .because(Cause::RunIsDriven)
        .cli_hint(format!(
            "`agentos logs -f {name}` watches it; `agentos resume --take-over {name}` ends that process if it hangs"
        ))
        .api_hint("if that process hangs, `\"takeOver\": true` ends it first")
}

/// A process that was killed holds its locks for a moment longer than it can do anything.
pub(crate) const DYING: Duration = Duration::from_millis(30);

/// How long a killed process may take to lose its locks, on a busy machine.
const RELEASED_WITHIN: Duration = Duration::from_secs(20);

/// How long a lock is waited for whose process can't be seen.
const UNSEEN_WITHIN: Duration = Duration::from_secs(1);

/// Whether somebody who lives drives the run, and still does after a moment.
pub(crate) async fn is_driven(store: &SqliteStore, run: RunId) -> Result<bool> {
    let begun = Instant::now();
    loop {
        let Some(owner) = store.head(run).await?.owner else { return Ok(false) };
        if store.owner_life(owner) == OwnerLife::Dead {
            return Ok(false);
        }
        if !is_about_to_go(store, owner, begun) {
            return Ok(true);
        }
        tokio::time::sleep(DYING).await;
    }
}

async fn short_name(store: &SqliteStore, run: RunId) -> String {
    store.run_detail(run).await.map_or_else(|_| run.to_string(), |detail| detail.run.run_id)
}

async fn interrupted(store: &SqliteStore, run: RunId) -> CommandError {
    let name = short_name(store, run).await;
    CommandError::new(ErrorKind::Interrupted, format!("{name} was interrupted"))
        .cli_hint(format!("`agentos resume {name}` goes on where it stands"))
}

fn start(
    session: &Session,
    store: &SqliteStore,
    owner: &Owner,
    (family, lines): (Arc<Family>, FileLines),
) -> Result<Engine> {
    let bounds = Limits { slots: SLOTS, linger: Duration::MAX, ..Limits::default() };
    let library = session.library(store);
    let builder = Builder::new(family, owner.id(), library);
    let performers = supervise::performers(session, store, lines.clone())?;
    let desk = Desk::open(session, store).ok();
    let builder = builder
        .snapshots(DeskSnapshots::new(session, store))
        .slots(limits::slots_awaited(session, store))
        .homes(DeskHomes { desk, store: store.clone() });
    let builder = builder.performers(performers).lines(lines).records(store.clone());
    Ok(builder.bell(store.watch()?).limits(bounds).start()?)
}

/// Why it is over.
enum Outcome {
    Ended(Result<Standing, ReadError>),
    Wish(Wish),
    Trouble(String),
}

/// Somebody who watches a run that is driven here.
struct Watching<'a> {
    store: &'a SqliteStore,
    run: RunId,
    family: Arc<Family>,
    presenter: Presenter,
    lines: mpsc::Receiver<Said>,
    events: Receiver<Event>,
}

impl Watching<'_> {
    /// Shows what happens until it is over.
    async fn until(&mut self, engine: &Engine, signals: &mut Signals) -> Outcome {
        let ended = engine.ended(self.run);
        tokio::pin!(ended);
        let mut ticks = tokio::time::interval_at(Instant::now(), FRAME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_stale = true;
        loop {
            let wants_frame = is_stale || self.presenter.is_live();
            tokio::select! {
                biased;
                wish = signals.next() => return Outcome::Wish(wish),
                ended = &mut ended => return Outcome::Ended(ended),
                event = self.events.recv() => match event {
                    Ok(Event::Committed { .. }) | Err(RecvError::Lagged(_)) => is_stale = true,
                    // What passes is gone on with; what does not is left.
                    Ok(Event::Trouble { run, message, is_left: true }) if run == self.run => {
                        return Outcome::Trouble(message);
                    }
                    Ok(Event::Progress { progress, .. }) => self.presenter.note(progress),
                    Ok(_) => {}
                    // The engine left by itself: the end says why.
                    Err(RecvError::Closed) => return Outcome::Ended(ended.await),
                },
                Some(said) = self.lines.recv() => {
                    self.presenter.hear(&said);
                    is_stale = true;
                }
                _ = ticks.tick(), if wants_frame => {
                    self.show().await;
                    is_stale = false;
                }
            }
        }
    }

    async fn show(&mut self) {
        match view::load(self.store, self.run, self.family.members()).await {
            Ok(view) => self.presenter.show(view, SystemClock.now()),
            Err(error) => tracing::warn!(%error, "the run can't be shown"),
        }
    }

    /// Shows the end.
    async fn finish(&mut self) -> Result<RunDetail> {
        while let Ok(said) = self.lines.try_recv() {
            self.presenter.hear(&said);
        }
        let view = view::load(self.store, self.run, self.family.members()).await?;
        let detail = view.run.clone();
        self.presenter.finish(view, SystemClock.now());
        Ok(detail)
    }
}
