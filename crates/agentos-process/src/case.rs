//! What is the case with a directory: everything that recovery has to know.

use std::io;

use crate::directory::Directory;
use crate::exit::Exit;
use crate::lock::is_taken;
use crate::started::Started;

/// What is the case with a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Case {
    /// Nobody has begun.
    Nothing,
    /// Somebody holds the lock: the command runs, or is being cleared up after.
    Held,
    /// It is over, and nothing of it is alive.
    Over(Box<Exit>),
    /// The supervisor has died; what it left behind may live.
    Lost(Box<Started>),
}

impl Case {
    /// What is the case now.
    ///
    /// # Errors
    /// A file is there and can't be read.
    pub fn of(directory: &Directory) -> io::Result<Self> {
        if let Some(exit) = directory.load_exit()? {
            return Ok(Self::Over(Box::new(exit)));
        }
        if is_taken(&directory.started())? {
            return Ok(Self::Held);
        }
        Self::unheld(directory)
    }

    /// What is the case while nobody holds the lock, or we do.
    pub(crate) fn unheld(directory: &Directory) -> io::Result<Self> {
        // The end is looked at last: it may have been written after the lock was looked at.
        let started = directory.load_started()?;
        Ok(match (directory.load_exit()?, started) {
            (Some(exit), _) => Self::Over(Box::new(exit)),
            (None, Some(started)) => Self::Lost(Box::new(started)),
            (None, None) => Self::Nothing,
        })
    }
}
