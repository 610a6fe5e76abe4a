//! The supervisor: a small process of its own for each command, which outlives whoever ordered it.
//!
//! ```text
//! lock ─▶ stop asked for? ─▶ started.json ─▶ child, in our session ─▶ watch ─▶ nothing left ─▶ exit.json
//! ```
//!
//! It is a session of its own and the reaper of everything below it: whatever loses its parents becomes its child. So
//! "there is no child" means that nothing of the command is alive, whatever `setsid` and daemons do. It has no runtime:
//! it starts in a moment, and a thousand of them are no burden.

mod pump;
mod reaper;
mod spawn;
mod watch;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{getpid, set_child_subreaper, setsid};

use crate::attached::is_out_of_room;
use crate::bounds::{DOCUMENT_BYTES, LOCK_WAIT, ROOM_ROUND};
use crate::clock::{moment, pause, time_of_day_ms};
use crate::directory::Directory;
use crate::exit::{Exit, Reason};
use crate::file_size;
use crate::group::Group;
use crate::lock;
use crate::open_files;
use crate::points::{NoPoints, Point, Points};
use crate::processes::Process;
use crate::spec::CommandSpec;
use crate::started::{Started, boot};
use crate::wake;

/// The exit status of a supervisor that found no room on the disk.
pub const NO_ROOM: u8 = 74;

/// Supervises the command in this directory to its end. Called by a process that does nothing else.
#[must_use]
pub fn main(directory: &Path) -> ExitCode {
    main_with(directory, &NoPoints)
}

/// The same, watched.
#[must_use]
pub fn main_with(directory: &Path, points: &dyn Points) -> ExitCode {
    // It fails only for somebody who is the first of a group already, who has a terminal of his own choice then.
    let _already = setsid();
    // Without a handler it dies where it could have waited for room.
    let _unhandled = file_size::survive_limit();
    points.pass(Point::Begun);
    match supervise(directory, points) {
        Ok(()) => ExitCode::SUCCESS,
        // The client sees no start, or a start without an end.
        Err(error) if is_out_of_room(&error) => ExitCode::from(NO_ROOM),
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise(path: &Path, points: &dyn Points) -> io::Result<()> {
    let directory = Directory::at(path)?;
    let Some(mut held) = take_lock(&directory)? else { return Ok(()) };
    points.pass(Point::Locked);
    // Whoever removed the directory while we took the lock knew that nobody needs the command any more.
    if held.metadata()?.nlink() == 0 {
        return Ok(());
    }
    // Somebody has begun, or has seen to it that nobody begins any more.
    if directory.load_started()?.is_some() || directory.load_exit()?.is_some() {
        return Ok(());
    }
    let spec = read_spec()?;
    // Before the wish is looked for: one that comes later calls.
    let calls = wake::listen(&directory);
    if directory.stop().exists() {
        return finish(&directory, &Exit::bare(Reason::Stopped, None), spec.limits.room, points);
    }
    let group = if spec.grouped { Group::enter(&spec.token) } else { None };
    // Nothing has begun as long as this is not whole. What one who found no room has left is half of it.
    held.set_len(0)?;
    let started = started(&spec, group.as_ref());
    held.write_all(&serde_json::to_vec(&started)?)?;
    points.pass(Point::Recorded);
    set_child_subreaper(Some(getpid()))?;
    open_files::take_back();
    let (begun, room) = (moment(), spec.limits.room);
    let child = spawn::spawn(&spec);
    if let Some(group) = &group {
        group.leave()?;
    }
    let exit = match child {
        Ok(child) => {
            points.pass(Point::Spawned);
            let watched = watch::Watch::new(&directory, spec, child, begun)
                .and_then(|watch| watch.run(calls.as_ref(), points));
            watched.unwrap_or_else(|error| {
                // A command that can't be watched is not left alone.
                reaper::end_everything();
                Exit::bare(Reason::Lost, Some(format!("it could not be watched: {error}")))
            })
        }
        Err(message) => Exit::bare(Reason::NotStarted, Some(message)),
    };
    if let Some(group) = &group {
        group.remove();
    }
    finish(&directory, &exit, room, points).inspect_err(|error| {
        if is_out_of_room(error) {
            // Without it the end is that of a supervisor that died.
            let _noted = note_out_of_room(&held, started);
        }
    })
}

/// Notes why there is no record of the end. It takes no more room than what is written over.
fn note_out_of_room(held: &File, started: Started) -> io::Result<()> {
    let length = usize::try_from(held.metadata()?.len()).unwrap_or_default();
    let mut text = serde_json::to_vec(&Started { out_of_room: true, ..started })?;
    // `true` is shorter than `false`.
    text.resize(length, b' ');
    held.write_all_at(&text, 0)
}

/// What to execute, from whoever has started us.
fn read_spec() -> io::Result<CommandSpec> {
    let mut text = Vec::new();
    io::stdin().lock().take(DOCUMENT_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// The lock, unless another supervisor has it.
fn take_lock(directory: &Directory) -> io::Result<Option<File>> {
    let path = directory.started();
    match lock::take(&path, Duration::ZERO)? {
        None if directory.load_started()?.is_some() => Ok(None),
        // Somebody who only looks has it for an instant.
        None => lock::take(&path, LOCK_WAIT),
        lock => Ok(lock),
    }
}

fn started(spec: &CommandSpec, group: Option<&Group>) -> Started {
    let supervisor = getpid().as_raw_nonzero().get();
    Started {
        supervisor,
        since_ticks: Process::load(supervisor).map_or(0, |process| process.since_ticks),
        boot: boot(),
        token: spec.token.clone(),
        group: group.map(|group| group.path().to_owned()),
        at_ms: time_of_day_ms(),
        out_of_room: false,
    }
}

/// Writes down how it ended. A full disk is given a while: without this the command counts as lost.
fn finish(
    directory: &Directory,
    exit: &Exit,
    room: Duration,
    points: &dyn Points,
) -> io::Result<()> {
    points.pass(Point::Ended);
    let until = moment() + room;
    while let Err(error) = directory.put(&directory.exit(), exit) {
        if moment() > until {
            return Err(error);
        }
        pause(ROOM_ROUND);
    }
    points.pass(Point::Written);
    Ok(())
}
