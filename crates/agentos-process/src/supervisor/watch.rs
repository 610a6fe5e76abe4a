//! Watches the command: moves its output, holds it to its limits, and ends everything in the end.
//!
//! Output that can't be written is held until it can be, and the command is not over before. If that takes too long, the
//! command is ended as lost: an end without all of its output would be taken for one with nothing to say.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid};

use super::pump::Pump;
use super::reaper::Reaper;
use crate::bounds::{CHUNK_BYTES, KILL_ROUND, LOOK, ROOM_ROUND};
use crate::clock::{Moment, millis, moment, timespec};
use crate::directory::Directory;
use crate::exit::{Exit, Reason};
use crate::frame::Stream;
use crate::lock;
use crate::log_writer::LogWriter;
use crate::points::{Point, Points};
use crate::processes::signal_below;
use crate::spec::{CommandSpec, Limits};

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The command runs.
    Running,
    /// It has exited; its pipes may have something left until then.
    Draining { until: Moment },
    /// Everything was asked to end, and is killed then.
    Ending { kill_at: Moment },
    /// Everything is killed, again and again, next then.
    Killing { next: Moment },
    /// Nothing is left.
    Over,
}

/// Output is held, because it can't be written.
#[derive(Debug, Clone, Copy)]
struct Stall {
    since: Moment,
    /// When it is tried again.
    next: Moment,
}

/// The watch over one command.
pub(super) struct Watch<'a> {
    directory: &'a Directory,
    limits: Limits,
    log: LogWriter,
    pumps: [Pump; 2],
    reaper: Reaper,
    chunk: Box<[u8; CHUNK_BYTES]>,
    phase: Phase,
    reason: Reason,
    stall: Option<Stall>,
    /// How long output could not be written, in all stalls that are over.
    stalled: Duration,
    /// Why output was given up.
    lost: Option<String>,
    leftovers: u32,
    begun: Moment,
    last_word: Moment,
    last_attached: Moment,
    next_look: Moment,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        directory: &'a Directory,
        spec: CommandSpec,
        mut child: Child,
        begun: Moment,
    ) -> io::Result<Self> {
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        Ok(Self {
            directory,
            limits: spec.limits,
            log: LogWriter::create(directory, spec.kept_bytes),
            pumps: [
                Pump::new(Stream::Stdout, stdout, &spec.secrets),
                Pump::new(Stream::Stderr, stderr, &spec.secrets),
            ],
            reaper: Reaper::new(child.id()),
            chunk: Box::new([0; CHUNK_BYTES]),
            phase: Phase::Running,
            reason: Reason::Exited,
            stall: None,
            stalled: Duration::ZERO,
            lost: None,
            leftovers: 0,
            begun,
            last_word: begun,
            last_attached: begun,
            next_look: begun,
        })
    }

    /// Watches until nothing is left.
    pub(super) fn run(
        mut self,
        calls: Option<&UnixDatagram>,
        points: &dyn Points,
    ) -> io::Result<Exit> {
        while self.phase != Phase::Over {
            let is_called = self.wait(calls)?;
            let now = moment();
            self.write_again(now);
            if is_called || now >= self.next_look {
                self.look(now);
            }
            loop {
                let before = self.phase;
                self.step(now)?;
                if before == self.phase {
                    break;
                }
                if before == Phase::Running && self.reaper.status().is_some() {
                    points.pass(Point::Exited);
                }
            }
        }
        Ok(self.exit())
    }

    /// Waits until there is output, an exit, a call, or the time for something; moves output. Whether somebody called.
    fn wait(&mut self, calls: Option<&UnixDatagram>) -> io::Result<bool> {
        let wanted = self.next_moment().saturating_sub(moment());
        // While output is held nothing more is read.
        let [stdout, stderr] =
            self.pumps.each_ref().map(|pump| pump.pipe().filter(|_| self.stall.is_none()));
        let sources = [calls.map(AsFd::as_fd), self.reaper.exit(), stdout, stderr];
        let mut polled: Vec<PollFd<'_>> = sources
            .iter()
            .flatten()
            .map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN))
            .collect();
        match poll(&mut polled, Some(&timespec(wanted))) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let mut answers = polled.iter().map(|polled| !polled.revents().is_empty());
        let ready = sources.map(|source| source.is_some() && answers.next() == Some(true));
        let [is_called, has_exited, readable @ ..] = ready;
        if let Some(calls) = calls.filter(|_| is_called) {
            // What was said does not matter.
            while calls.recv(&mut self.chunk[..]).is_ok() {}
        }
        let is_ending = matches!(self.phase, Phase::Ending { .. } | Phase::Killing { .. });
        for (pump, _) in self.pumps.iter_mut().zip(readable).filter(|(_, readable)| *readable) {
            self.last_word = moment();
            if self.lost.is_some() {
                pump.discard(&mut self.chunk);
            } else if pump.once(&mut self.chunk, &mut self.log).is_err() {
                self.stall = Some(Stall { since: self.last_word, next: self.last_word });
            }
        }
        if has_exited || is_ending || self.reaper.exit().is_none() {
            self.reaper.bury();
        }
        Ok(is_called)
    }

    /// Writes what could not be written before; gives up where that takes too long, or the command was stopped.
    fn write_again(&mut self, now: Moment) {
        let Some(stall) = self.stall.filter(|stall| now >= stall.next) else { return };
        let log = &mut self.log;
        let Err(error) = self.pumps.iter_mut().try_for_each(|pump| pump.flush(log)) else {
            self.end_stall(stall, now);
            if let Phase::Draining { until } = &mut self.phase {
                *until = now + self.limits.drain;
            }
            return;
        };
        let is_wanted = self.reason != Reason::Stopped;
        if is_wanted && now.saturating_sub(stall.since) < self.limits.room {
            self.stall = Some(Stall { next: now + ROOM_ROUND, ..stall });
            return;
        }
        self.end_stall(stall, now);
        self.lost = Some(format!("its output could not be kept: {error}"));
        if is_wanted && self.phase == Phase::Running {
            self.end_because(Reason::Lost, now);
        } else if is_wanted {
            self.reason = Reason::Lost;
        }
    }

    /// The command goes on, as if no time had passed since its output could not be written.
    fn end_stall(&mut self, stall: Stall, now: Moment) {
        self.stall = None;
        self.stalled += now.saturating_sub(stall.since);
        self.last_word = now;
    }

    /// Reads no further, and writes what is left.
    fn close_pipes(&mut self, now: Moment) {
        if self.lost.is_some() {
            return;
        }
        for pump in &mut self.pumps {
            if pump.close(&mut self.log).is_err() {
                self.stall = Some(Stall { since: now, next: now });
            }
        }
    }

    /// When the command will have taken too long, and when it will have said nothing for too long. While its output can't be
    /// written, neither comes: what holds it up is the disk.
    fn deadlines(&self) -> [Option<Moment>; 2] {
        match self.stall {
            Some(_) => [None, None],
            None => [
                self.limits.wall.map(|wall| self.begun + self.stalled + wall),
                self.limits.idle.map(|idle| self.last_word + idle),
            ],
        }
    }

    /// When something has to be done even if nothing happens.
    fn next_moment(&self) -> Moment {
        let of_phase = match self.phase {
            Phase::Running => {
                let orphan = self.limits.orphan.map(|orphan| self.last_attached + orphan);
                self.deadlines().into_iter().chain([orphan]).flatten().min()
            }
            Phase::Draining { until } => Some(until),
            // Nobody tells when the last one is gone.
            Phase::Ending { kill_at } => Some(kill_at.min(moment() + KILL_ROUND)),
            Phase::Killing { next } => Some(next),
            Phase::Over => Some(Duration::ZERO),
        };
        let of_stall = self.stall.map(|stall| stall.next);
        let of_phase = of_phase.filter(|_| !self.is_draining() || of_stall.is_none());
        [of_phase, of_stall].into_iter().flatten().fold(self.next_look, Moment::min)
    }

    const fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining { .. })
    }

    /// Looks at what nobody tells of.
    fn look(&mut self, now: Moment) {
        // Whoever has left is missed soon after, however short the time is that a command may be alone.
        self.next_look = now + self.limits.orphan.map_or(LOOK, |orphan| LOOK.min(orphan / 4));
        self.reaper.bury();
        if self.limits.orphan.is_some() && self.is_attended() {
            self.last_attached = now;
        }
        let is_running = self.phase == Phase::Running;
        if (is_running || self.stall.is_some()) && self.directory.stop().exists() {
            if is_running {
                self.end_because(Reason::Stopped, now);
            }
            self.reason = Reason::Stopped;
        }
    }

    fn is_attended(&self) -> bool {
        // If it can't be told, somebody is there: that costs less than ending what is waited for.
        lock::is_shared(self.directory.path()).unwrap_or(true)
    }

    fn step(&mut self, now: Moment) -> io::Result<()> {
        let is_drained = self.pumps.iter().all(|pump| pump.pipe().is_none());
        match self.phase {
            Phase::Running if self.reaper.status().is_some() => {
                self.phase = Phase::Draining { until: now + self.limits.drain };
            }
            Phase::Running => self.hold_to_limits(now),
            // What is held, and what may still be in the pipes, comes first.
            Phase::Draining { .. } if self.stall.is_some() => {}
            Phase::Draining { until } if is_drained || now >= until => {
                if self.reaper.is_empty() {
                    self.close_pipes(now);
                    if self.stall.is_none() {
                        self.phase = Phase::Over;
                    }
                } else {
                    self.leftovers += self.ask_to_end(now)?;
                }
            }
            Phase::Ending { .. } | Phase::Killing { .. } if self.reaper.is_empty() => {
                self.phase = Phase::Draining { until: now + self.limits.drain };
            }
            Phase::Ending { kill_at } if now >= kill_at => self.kill(now)?,
            Phase::Killing { next } if now >= next => self.kill(now)?,
            Phase::Draining { .. } | Phase::Ending { .. } | Phase::Killing { .. } | Phase::Over => {
            }
        }
        Ok(())
    }

    fn hold_to_limits(&mut self, now: Moment) {
        let is_over = |deadline: Option<Moment>| deadline.is_some_and(|deadline| now >= deadline);
        let [wall, idle] = self.deadlines();
        if is_over(wall) {
            self.end_because(Reason::Timeout, now);
        } else if is_over(idle) {
            self.end_because(Reason::Idle, now);
        } else if is_over(self.limits.orphan.map(|orphan| self.last_attached + orphan)) {
            if self.is_attended() {
                self.last_attached = now;
            } else {
                self.end_because(Reason::Orphaned, now);
            }
        }
    }

    fn end_because(&mut self, reason: Reason, now: Moment) {
        self.reason = reason;
        // If they can't be listed now they are killed later.
        let _asked = self.ask_to_end(now);
    }

    fn ask_to_end(&mut self, now: Moment) -> io::Result<u32> {
        self.phase = Phase::Ending { kill_at: now + self.limits.grace };
        signal_below(getpid().as_raw_nonzero().get(), &[Signal::TERM, Signal::CONT])
    }

    fn kill(&mut self, now: Moment) -> io::Result<()> {
        self.phase = Phase::Killing { next: now + KILL_ROUND };
        signal_below(getpid().as_raw_nonzero().get(), &[Signal::KILL]).map(drop)
    }

    fn exit(&self) -> Exit {
        let status = self.reaper.status();
        let [stdout, stderr] = &self.pumps;
        Exit {
            reason: self.reason,
            exit_code: status.and_then(rustix::process::WaitStatus::exit_status),
            signal: status.and_then(rustix::process::WaitStatus::terminating_signal),
            duration_ms: millis(moment().saturating_sub(self.begun)),
            waited_ms: millis(self.stalled),
            stdout_bytes: stdout.written(),
            stderr_bytes: stderr.written(),
            dropped_bytes: self.log.dropped(),
            leftovers: self.leftovers,
            message: self.lost.clone(),
        }
    }
}
