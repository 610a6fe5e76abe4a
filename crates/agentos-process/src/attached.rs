//! Somebody who waits for a command: reads its output as it grows, and hears how it ended.

use std::fs::File;
use std::io;
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;

use crate::bounds::PROBE;
use crate::case::Case;
use crate::clock::moment;
use crate::directory::Directory;
use crate::exit::Exit;
use crate::frame::Frame;
use crate::leftovers::LeftoverError;
use crate::lock;
use crate::log_reader::{LogReader, Piece};
use crate::notice::Bell;
use crate::outcome::{Collector, Outcome};
use crate::points::Points;
use crate::recover::clear_up;
use crate::supervisor::NO_ROOM;

/// Why a command can't be followed any further.
#[derive(Debug, Error)]
pub enum FollowError {
    /// A file of its directory can't be read or written.
    #[error("the directory of a command can't be used: {0}")]
    Io(#[from] io::Error),
    /// What a dead supervisor left behind lives on.
    #[error(transparent)]
    Leftovers(#[from] LeftoverError),
    /// Supervisors die before they begin.
    #[error(
        "no supervisor comes to begin the command ({tries} have died); try `{program}` by hand"
    )]
    NoSupervisor {
        /// How many.
        tries: u32,
        /// What was started.
        program: String,
    },
}

impl FollowError {
    /// Whether there is no room on the disk: it may go better later.
    #[must_use]
    pub fn is_out_of_room(&self) -> bool {
        matches!(self, Self::Io(error) if is_out_of_room(error))
    }

    /// Whether no further file can be opened (`ulimit -n`).
    #[must_use]
    pub fn is_out_of_files(&self) -> bool {
        matches!(self, Self::Io(error) if is_out_of_files(error))
    }
}

/// Whether this process, or the machine, has as many files open as it may.
fn is_out_of_files(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(number, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

/// Whether something could not be written because there is no room on the disk.
#[must_use]
pub fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// What happens to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It wrote something.
    Output(Frame),
    /// It wrote so many bytes that are not kept.
    Gap(u64),
    /// It is over, and nothing of it is alive.
    Ended(Box<Exit>),
    /// Nothing, for as long as was waited, or somebody rang the bell.
    Quiet,
    /// Nobody has begun it, and nobody is about to.
    Vacant,
}

/// Somebody who waits for a command. While there is one, the command does not count as left alone.
pub struct Attached<'a> {
    directory: Directory,
    reader: LogReader,
    bell: Bell,
    points: &'a dyn Points,
    /// The supervisor, if it was started here.
    supervisor: Option<Child>,
    /// When the supervisor's life was last looked at.
    probed: Duration,
    _attendance: File,
}

impl<'a> Attached<'a> {
    /// Attaches to whatever is in the directory, which must exist.
    pub(crate) fn to(directory: &Directory, points: &'a dyn Points) -> io::Result<Self> {
        let attendance = lock::share(directory.path())?;
        // Before anything is looked at: what changes from now on rings.
        let bell = Bell::hang_up(directory.path());
        Ok(Self {
            directory: directory.clone(),
            reader: LogReader::new(directory),
            bell,
            points,
            supervisor: None,
            probed: moment(),
            _attendance: attendance,
        })
    }

    pub(crate) fn with_supervisor(mut self, supervisor: Option<Child>) -> Self {
        self.supervisor = supervisor;
        self
    }

    /// Makes whoever waits in [`Attached::next`] look up.
    #[must_use]
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// What happens next; [`Event::Quiet`] if nothing does for that long.
    ///
    /// # Errors
    /// [`FollowError`].
    pub fn next(&mut self, longest: Duration) -> Result<Event, FollowError> {
        let until = moment() + longest;
        let mut has_waited = false;
        loop {
            // The end is looked at first: all output was there before it.
            let exit = self.directory.load_exit()?;
            match (self.reader.next()?, exit) {
                (Some(Piece::Output(frame)), _) => return Ok(Event::Output(frame)),
                (Some(Piece::Gap(bytes)), _) => return Ok(Event::Gap(bytes)),
                (None, Some(exit)) => return Ok(Event::Ended(Box::new(exit))),
                (None, None) => {}
            }
            let now = moment();
            if now.saturating_sub(self.probed) >= PROBE {
                self.probed = now;
                if self.is_vacant()? {
                    return Ok(Event::Vacant);
                }
            }
            if has_waited || now >= until {
                return Ok(Event::Quiet);
            }
            let wait = (until - now).min(PROBE);
            self.bell.wait(wait);
            has_waited = true;
        }
    }

    /// Looks whether anybody keeps the command; clears up after whoever died.
    fn is_vacant(&mut self) -> Result<bool, FollowError> {
        let mut status = None;
        if let Some(child) = &mut self.supervisor {
            status = child.try_wait()?;
            if status.is_none() {
                return Ok(false);
            }
        }
        match Case::of(&self.directory)? {
            Case::Held | Case::Over(_) => Ok(false),
            Case::Lost(_) => clear_up(&self.directory, self.points).map(|()| false),
            Case::Nothing if status.and_then(|status| status.code()) == Some(NO_ROOM.into()) => {
                Err(io::Error::from(io::ErrorKind::StorageFull).into())
            }
            Case::Nothing => Ok(true),
        }
    }

    /// Waits for the end and collects up to so much of each stream.
    ///
    /// # Errors
    /// [`FollowError`].
    pub fn outcome(mut self, longest: usize) -> Result<Option<Outcome>, FollowError> {
        let mut collector = Collector::new(longest);
        loop {
            match self.next(Duration::from_secs(3_600))? {
                Event::Output(frame) => collector.add(&frame),
                Event::Gap(bytes) => collector.add_gap(bytes),
                Event::Ended(exit) => return Ok(Some(collector.outcome(*exit))),
                Event::Quiet => {}
                Event::Vacant => return Ok(None),
            }
        }
    }
}

/// Supervisors of this process that nobody waits for any more, to be buried when they die.
static LEFT: Mutex<Vec<Child>> = Mutex::new(Vec::new());

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(self.supervisor.take());
        left.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}
