//! Clears up after a dead supervisor, once, whoever notices first.

use std::time::Duration;

use crate::attached::FollowError;
use crate::bounds::{GRACE, KILL_ROUND};
use crate::case::Case;
use crate::directory::Directory;
use crate::exit::{Exit, Reason};
use crate::leftovers;
use crate::lock;
use crate::points::{Point, Points};

/// Ends what a dead supervisor left behind and writes down that the command is lost. If somebody else is at it, or was,
/// there is nothing to do.
pub(crate) fn clear_up(directory: &Directory, points: &dyn Points) -> Result<(), FollowError> {
    // The lock is the supervisor's: whoever looks meanwhile sees that somebody is at work.
    let Some(_lock) = lock::take(&directory.started(), KILL_ROUND)? else { return Ok(()) };
    let Case::Lost(started) = Case::unheld(directory)? else { return Ok(()) };
    let leftovers = leftovers::end(&started, GRACE)?;
    points.pass(Point::Cleared);
    let why = match started.out_of_room {
        true => "there was no room on the disk for the record of how it ended",
        false => "its supervisor died",
    };
    let exit = Exit { leftovers, ..Exit::bare(Reason::Lost, Some(why.to_owned())) };
    Ok(directory.put(&directory.exit(), &exit)?)
}

/// Sees to it that a command which has not begun never does.
pub(crate) fn forbid(directory: &Directory) -> Result<(), FollowError> {
    let Some(_lock) = lock::take(&directory.started(), Duration::ZERO)? else {
        return Ok(());
    };
    let Case::Nothing = Case::unheld(directory)? else { return Ok(()) };
    let exit = Exit::bare(Reason::Stopped, Some("it never began".to_owned()));
    Ok(directory.put(&directory.exit(), &exit)?)
}
