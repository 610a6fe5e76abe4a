//! The one background executor of a database: starts on demand, stays while there is something to run or to wait for, and
//! leaves when there is not.
//!
//! Whoever has given it something to do tries to start one. If there is one already, its bell has rung. If that one is
//! about to leave, it looks once more *after* it has given up its seat; so either it sees what there is to do, or whoever
//! brought that found the seat free.
//!
//! A run that can't be driven (its workflow is missing, say) does not keep the executor: it was tried and told of, and the
//! next executor tries it again. As long as there is something else to do, it is tried again now and then.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_core::id::OwnerId;
use agentos_process::ending::ProcessMark;
use agentos_store::backend::BackendError;
use agentos_store::due::Except;
use agentos_store::store::Store;
use thiserror::Error;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::engine::Engine;

/// How long nothing must be to do before the executor leaves: whoever brings one thing often brings another.
pub const IDLE_FOR: Duration = Duration::from_millis(300);

/// How often another executor has to be found in the seat before it counts as one that stays, and how long between two
/// attempts to take the seat.
const FOUND_TAKEN: u32 = 10;
const TAKE_AGAIN: Duration = Duration::from_millis(7);

/// The right to be the executor of a database. Given back when it is dropped, or the process ends.
#[derive(Debug)]
pub struct Seat {
    _lock: File,
}

impl Seat {
    /// Takes the seat, if nobody has it.
    ///
    /// # Errors
    /// The lock file beside the database can't be made or locked.
    pub fn take(database: &Path) -> io::Result<Option<Self>> {
        let Some(lock) = lock(&beside(database, SEAT))? else { return Ok(None) };
        // Only a hint for `is_being_released`: on a full disk the executor works without it.
        let _ = lock.set_len(0).and_then(|()| write!(&lock, "{}", ProcessMark::of_this_process()));
        Ok(Some(Self { _lock: lock }))
    }

    /// Whether somebody has it. Makes nothing.
    ///
    /// # Errors
    /// The lock file beside the database can't be looked at.
    pub fn is_taken(database: &Path) -> io::Result<bool> {
        is_locked(&beside(database, SEAT))
    }

    /// Whether it is taken by an executor that was killed or exits: it starts nothing more, and the seat is free soon.
    ///
    /// # Errors
    /// The lock file beside the database can't be looked at.
    pub fn is_being_released(database: &Path) -> io::Result<bool> {
        let path = beside(database, SEAT);
        if !is_locked(&path)? {
            return Ok(false);
        }
        let holder = match fs::read_to_string(path) {
            // It was removed by hand meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            holder => holder?,
        };
        Ok(ProcessMark::parse(&holder).is_some_and(|holder| holder.is_ending()))
    }
}

/// A process that takes the seat whenever there is something to do: a server that stays, or an executor that waits for the end of
/// one that was killed. While it is there, no other process has to start an executor.
#[derive(Debug)]
pub struct Standby {
    _lock: File,
}

impl Standby {
    /// Says that one stays; none if somebody else does.
    ///
    /// # Errors
    /// The lock file beside the database can't be made or locked.
    pub fn begin(database: &Path) -> io::Result<Option<Self>> {
        Ok(lock(&beside(database, STANDBY))?.map(|lock| Self { _lock: lock }))
    }

    /// Whether somebody stays. Makes nothing.
    ///
    /// # Errors
    /// The lock file beside the database can't be looked at.
    pub fn is_there(database: &Path) -> io::Result<bool> {
        is_locked(&beside(database, STANDBY))
    }
}

/// The lock files of both, behind the database's name.
const SEAT: &str = ".executor";
const STANDBY: &str = ".standby";

fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_locked(path: &Path) -> io::Result<bool> {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// How an executor's time ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attended {
    /// There is another one.
    Another,
    /// Nothing is left to do, but for runs that can't be driven.
    Idle,
    /// It was told to go.
    Told,
}

/// How an executor is told to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depart {
    /// What is under way is stopped first.
    Stop,
    /// What can go on without it does: for an upgrade, or a lost terminal.
    Leave,
}

/// Why nobody could attend to a database.
#[derive(Debug, Error)]
pub enum AttendError {
    /// The seat or the engine could not be had.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] BackendError),
    /// The store took the engine's owner for dead: its lock is gone, and with it every run that it had.
    #[error("the executor's lock is gone, so its runs are free; start another one")]
    Died,
}

/// Attends to a database until nothing is left to do, or until `told` says how to go. `start` is called for an engine over
/// `store`.
///
/// # Errors
/// [`AttendError`]; what there is to do waits for the next one.
pub async fn attend(
    database: &Path,
    store: &dyn Store,
    clock: &impl Clock,
    start: impl Fn() -> io::Result<Engine>,
    told: impl Future<Output = Depart>,
) -> Result<Attended, AttendError> {
    attend_for(IDLE_FOR, (database, store), clock, start, (told, &Notify::new())).await
}

/// As [`attend`], for somebody who stays anyway and so may wait longer for the next thing to do. Whoever brings something in
/// the same process says so by `brought`: the store's own bell may be at rest.
///
/// # Errors
/// [`AttendError`]
pub async fn attend_for(
    idle_for: Duration,
    (database, store): (&Path, &dyn Store),
    clock: &impl Clock,
    start: impl Fn() -> io::Result<Engine>,
    (told, brought): (impl Future<Output = Depart>, &Notify),
) -> Result<Attended, AttendError> {
    tokio::pin!(told);
    loop {
        let seat = tokio::select! {
            biased;
            _ = &mut told => return Ok(Attended::Told),
            seat = take_surely(database) => seat?,
        };
        let Some(seat) = seat else { return Ok(Attended::Another) };
        let engine = start()?;
        let listening = async {
            loop {
                brought.notified().await;
                engine.look_again();
            }
        };
        tokio::select! {
            biased;
            () = engine.dying() => {
                engine.leave().await;
                return Err(AttendError::Died);
            }
            depart = &mut told => {
                match depart {
                    Depart::Stop => engine.stop().await,
                    Depart::Leave => engine.leave().await,
                }
                return Ok(Attended::Told);
            }
            () = engine.idle(idle_for) => {}
            () = listening => {}
        }
        let hopeless = engine.resting();
        engine.leave().await;
        drop(seat);
        if is_idle(store, clock, &hopeless).await? {
            return Ok(Attended::Idle);
        }
    }
}

/// Takes the seat; none if another executor has it. A process that only asks whether it is taken holds the lock too, shared and
/// for as long as it is not scheduled: such a process is waited for, since it may not count as an executor. So is an executor
/// that was killed, however long it takes to be gone; one process at a time does that, and stands by meanwhile.
async fn take_surely(database: &Path) -> io::Result<Option<Seat>> {
    let mut found_taken = 0;
    let mut standby = None;
    while found_taken < FOUND_TAKEN {
        if let Some(seat) = Seat::take(database)? {
            return Ok(Some(seat));
        }
        if Seat::is_being_released(database)? {
            if standby.is_none() {
                standby = Standby::begin(database)?;
            }
            found_taken += u32::from(standby.is_none() && Standby::is_there(database)?);
        } else {
            found_taken += u32::from(Seat::is_taken(database)?);
        }
        tokio::time::sleep(TAKE_AGAIN).await;
    }
    Seat::take(database)
}

/// Whether there is nothing to do, now or at some time, for any run but these.
async fn is_idle(
    store: &dyn Store,
    clock: &impl Clock,
    hopeless: &Except,
) -> Result<bool, BackendError> {
    let nobody = OwnerId(uuid::Uuid::nil());
    let due = store.due(clock.now(), hopeless, 1).await?;
    Ok(due.is_empty() && store.outlook(nobody, hopeless, 1).await?.wake_at.is_none())
}
