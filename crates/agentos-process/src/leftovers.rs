//! Ends what a dead supervisor has left behind, and proves that nothing of it is alive.
//!
//! While a supervisor lives, everything below it stays below it. When it was killed, its descendants belong to nobody.
//! They are found by the operation's mark in their environment, by the supervisor's session, and by descent from either.
//! A process that has cleared its environment, made a session of its own and lost its parents is found only by the command's
//! control group, if it has one.
//!
//! A short program ([`crate::tool`]) has no supervisor. What is left of one whose caller was killed is found by its mark
//! alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use rustix::process::Signal;
use thiserror::Error;

use crate::bounds::{KILL_ROUND, LEFTOVERS};
use crate::clock::{moment, pause};
use crate::group::Group;
use crate::processes::{Process, below, load_all};
use crate::started::{Started, boot};
use crate::token::Token;

/// Why leftovers could not be ended.
#[derive(Debug, Error)]
pub enum LeftoverError {
    /// The processes of this machine can't be listed.
    #[error("the processes of this machine can't be listed: {0}; is /proc mounted?")]
    Unseen(#[from] io::Error),
    /// They live on.
    #[error("{} that nobody owns can't be ended: {pids:?}; end them by hand", amount(pids.len()))]
    Alive {
        /// Which.
        pids: Vec<i32>,
    },
}

fn amount(number: usize) -> String {
    if number == 1 { "a process".to_owned() } else { format!("{number} processes") }
}

/// Ends everything that belongs to a start whose supervisor is dead: TERM, grace, then KILL until nothing is left.
/// Returns how many there were.
pub(crate) fn end(started: &Started, grace: Duration) -> Result<u32, LeftoverError> {
    // Nothing outlives the machine.
    if started.boot != boot() {
        return Ok(0);
    }
    let ended = end_all(|| belonging(started), grace)?;
    if let Some(group) = group(started) {
        group.remove();
    }
    Ok(ended)
}

/// Ends everything that carries a mark, and what is below it: TERM, grace, then KILL until nothing is left. Returns how many
/// there were.
///
/// # Errors
/// [`LeftoverError`]
pub fn end_marked(mark: &Token, grace: Duration) -> Result<u32, LeftoverError> {
    end_all(|| alive(|process| mark.is_in(&process.environment()), []), grace)
}

fn end_all(
    find: impl Fn() -> io::Result<Vec<Process>>,
    grace: Duration,
) -> Result<u32, LeftoverError> {
    let mut ended = BTreeSet::new();
    let begun = moment();
    let mut was_empty = false;
    loop {
        let left = find()?;
        // Processes are listed one after the other: what one starts just before it ends may be missed by one list.
        if std::mem::replace(&mut was_empty, left.is_empty()) && was_empty {
            return Ok(u32::try_from(ended.len()).unwrap_or(u32::MAX));
        }
        if was_empty {
            continue;
        }
        let waited = moment() - begun;
        if waited > grace + LEFTOVERS {
            return Err(LeftoverError::Alive { pids: left.iter().map(|left| left.pid).collect() });
        }
        for process in &left {
            let is_new = ended.insert((process.pid, process.since_ticks));
            if waited >= grace {
                process.signal(&[Signal::KILL]);
            } else if is_new {
                process.signal(&[Signal::TERM, Signal::CONT]);
            }
        }
        pause(KILL_ROUND);
    }
}

/// What is alive of a start, whether its supervisor lives or not.
fn belonging(started: &Started) -> io::Result<Vec<Process>> {
    let members = group(started).iter().flat_map(Group::members).collect::<Vec<i32>>();
    alive(|process| is_of(process, started), members)
}

/// What is alive of those that are meant and of everything below them.
fn alive(
    is_meant: impl Fn(&Process) -> bool,
    members: impl IntoIterator<Item = i32>,
) -> io::Result<Vec<Process>> {
    let all = load_all()?;
    let mut tops: BTreeSet<i32> =
        all.values().filter(|process| is_meant(process)).map(|process| process.pid).collect();
    tops.extend(members);
    let found = below(&all, &tops);
    tops.extend(found);
    let ours = ourselves(&all);
    let alive = tops.iter().filter(|pid| !ours.contains(pid)).filter_map(|pid| all.get(pid));
    Ok(alive.filter(|process| !process.is_zombie).copied().collect())
}

fn group(started: &Started) -> Option<Group> {
    started.group.clone().map(Group::at)
}

fn is_of(process: &Process, started: &Started) -> bool {
    if process.since_ticks < started.since_ticks {
        return false;
    }
    let is_of_session = process.session == started.supervisor && process.pid != started.supervisor;
    is_of_session || started.token.is_in(&process.environment())
}

/// This process and those above it: whoever clears up does not end himself.
fn ourselves(all: &BTreeMap<i32, Process>) -> BTreeSet<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut found = BTreeSet::new();
    let mut next = Some(own);
    while let Some(pid) = next.filter(|pid| found.insert(*pid)) {
        next = all.get(&pid).map(|process| process.parent);
    }
    found
}
