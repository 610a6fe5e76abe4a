//! The background executor of a database: started by whoever leaves it something to do, gone when there is nothing.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::id::OwnerId;
use agentos_engine::background::{Attended, Depart, IDLE_FOR, Seat, Standby, attend_for};
use agentos_engine::clock::SystemClock;
use agentos_engine::engine::{Builder, Engine, Limits};
use agentos_engine::held::Unheld;
use agentos_process::detached::{Detached, leave_the_terminal};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::error::{CommandError, Result};
use crate::lines::FileLines;
use crate::scribe;
use crate::session::Session;
use crate::signals::{Signals, Wish};
use crate::travel::keeper::DeskSnapshots;
use crate::workspace::desk::Desk;
use crate::workspace::homes::DeskHomes;
use crate::workspace::tend;
use crate::{limits, never_created, settings, supervise, sweep};

/// The hidden verb.
pub(crate) const VERB: &str = "executor";

/// How long a new executor may take to be there, and how often it is looked for. One that ends is noticed at once, so this is
/// for one that hangs; a machine that has a lot to do, or a database that is locked for a while, is no reason to give up.
const START_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(10);

/// How long an executor that leaves waits for the documents of its runs to be written and their workspaces to be released. A
/// git that hangs may take far longer, and signals are not heard meanwhile.
const FOLLOWERS_WITHIN: Duration = Duration::from_secs(15);

/// How long somebody who stays may take to take the seat, before an executor is started all the same.
const STANDBY_WITHIN: Duration = Duration::from_secs(10);

/// Sees to it that somebody attends to this database.
pub(crate) async fn ensure(store: &SqliteStore, folder: &Path) -> Result<()> {
    let database = store.path().to_owned();
    // An executor that was killed may keep the seat for long. The next one waits for it.
    if Seat::is_taken(&database)? && !Seat::is_being_released(&database)? {
        return Ok(());
    }
    if Standby::is_there(&database)? && is_taken_soon(&database).await? {
        return Ok(());
    }
    let log = beside(&database, ".executor.log");
    let executor = Detached {
        program: std::env::current_exe()?,
        arguments: vec![VERB.into(), "--database".into(), database.clone().into()],
        folder: folder.to_owned(),
        log: log.clone(),
    };
    let failed = |why: String| {
        CommandError::failed(format!("the background executor could not be started: {why}")).hint(
            format!("nothing is lost: `agentos resume --due` goes on here; see {}", log.display()),
        )
    };
    let mut started = executor.start().map_err(|error| failed(error.to_string()))?;
    let there = async {
        loop {
            // One that ended well had nothing to do any more, or found another.
            match started.ended()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(failed(status.to_string())),
                None if Seat::is_taken(&database)? => return Ok(()),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    };
    let begun = tokio::time::timeout(START_WITHIN, there).await;
    started.leave();
    begun.unwrap_or_else(|_| Err(failed("it does not begin".to_owned())))
}

/// Whether somebody who stays takes the seat. They hear of every commit, so that is a matter of moments.
async fn is_taken_soon(database: &Path) -> Result<bool> {
    let taken = async {
        while !Seat::is_taken(database)? {
            tokio::time::sleep(LOOK).await;
        }
        Ok(true)
    };
    tokio::time::timeout(STANDBY_WITHIN, taken).await.unwrap_or(Ok(false))
}

fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Is the executor of a database until nothing is left to do.
pub(crate) async fn serve(session: &Session, database: &Path) -> Result<ExitCode> {
    leave_the_terminal();
    let options = agentos_store::sqlite::Options::quiet(Uuid::new_v4());
    let store = SqliteStore::open(database, options)?;
    attend_to(session, &store).await?;
    Ok(ExitCode::SUCCESS)
}

/// Attends to a store in this process, until nothing is left to do or somebody wants it to end.
pub(crate) async fn attend_to(session: &Session, store: &SqliteStore) -> Result<Attended> {
    let mut signals = Signals::listen()?;
    let told = async {
        match signals.next().await {
            Wish::Stop => Depart::Stop,
            Wish::Leave => Depart::Leave,
        }
    };
    attend_until(session, store, IDLE_FOR, (told, &Notify::new())).await
}

/// Attends to a store in this process, until nothing was to do for so long or somebody says how to go. Others in this process
/// may say that they have brought something.
pub(crate) async fn attend_until(
    session: &Session,
    store: &SqliteStore,
    idle_for: Duration,
    (told, brought): (impl Future<Output = Depart>, &Notify),
) -> Result<Attended> {
    never_created::sweep(session, store).await;
    let owners = RefCell::new(Vec::new());
    let followers = RefCell::new(Vec::<JoinHandle<()>>::new());
    let start = || {
        let owner = store.enlist(OwnerId(Uuid::new_v4())).map_err(std::io::Error::other)?;
        let (engine, following) = engine(session, store, owner.id())?;
        owners.borrow_mut().push(owner);
        let mut followers = followers.borrow_mut();
        followers.retain(|follower| !follower.is_finished());
        followers.extend(following);
        Ok(engine)
    };
    let seen = unheld(store);
    let place = (store.path(), &seen as &dyn Store);
    let attended = attend_for(idle_for, place, &SystemClock, start, (told, brought)).await;
    // They end with the events of their engine. What they have not done within the limit is done by the next process.
    let all = async {
        for follower in followers.into_inner() {
            let _ended = follower.await;
        }
    };
    let _in_time = tokio::time::timeout(FOLLOWERS_WITHIN, all).await;
    Ok(attended?)
}

/// What was stopped on purpose is not gone on with.
fn unheld(store: &SqliteStore) -> Unheld {
    Unheld::new(Arc::new(store.clone()), store.path())
}

/// An engine that drives whatever is due in the store, and the tasks that see to what it leaves behind: documents, directories
/// of commands, workspaces.
fn engine(
    session: &Session,
    store: &SqliteStore,
    owner: OwnerId,
) -> std::io::Result<(Engine, [JoinHandle<()>; 4])> {
    let watch = store.watch().map_err(std::io::Error::other)?;
    let lines = FileLines::default();
    let library = session.library(store);
    let engine = Builder::new(Arc::new(unheld(store)), owner, library)
        .performers(supervise::performers(session, store, lines.clone())?)
        .lines(lines)
        .records(store.clone())
        .homes(DeskHomes { desk: Desk::open(session, store).ok(), store: store.clone() })
        .snapshots(DeskSnapshots::new(session, store))
        .slots(limits::slots(session, store))
        .bell(watch)
        .limits(Limits {
            slots: session.live.current().run.concurrency.value as usize,
            ..Limits::default()
        })
        .start()?;
    let desk = Desk::open(session, store).ok();
    let following = [
        tokio::spawn(scribe::follow(store.clone(), engine.events())),
        tokio::spawn(sweep::follow(store.clone(), engine.events())),
        tokio::spawn(tend::follow(desk, store.clone(), engine.events())),
        tokio::spawn(settings::follow_in_background(
            Arc::clone(&session.live),
            store.clone(),
            engine.settings(),
        )),
    ];
    Ok((engine, following))
}
