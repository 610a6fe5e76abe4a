//! Follows one command on a thread of its own: its output goes to the sink and to whoever watches.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::failure::Failure;
use agentos_process::attached::{Event, FollowError};
use agentos_process::bounds::{RETURNED_BYTES, STARTS};
use agentos_process::directory::Directory;
use agentos_process::frame::Frame;
use agentos_process::outcome::{Collector, Outcome};
use agentos_process::spec::CommandSpec;
use serde_json::json;
use tokio::sync::oneshot::Sender;

use super::{Settings, Whose, failed};
use crate::performer::Ticket;
use crate::room::{IsWanted, wait_for_room};

/// How long until it is noticed that nobody wants to know any more.
const LOOK: Duration = Duration::from_millis(500);

/// No more than one piece of progress in so many milliseconds.
const PROGRESS_MS: u64 = 100;

/// How much of a piece of output whoever watches is shown, in bytes.
const SHOWN: usize = 4 * 1024;

/// What is followed.
pub(super) struct Followed {
    pub(super) settings: Arc<Settings>,
    pub(super) whose: Whose,
    pub(super) path: PathBuf,
    pub(super) spec: CommandSpec,
}

type Told = Sender<Result<Outcome, FollowError>>;

impl Followed {
    pub(super) fn directory(&self) -> Result<Directory, Failure> {
        Directory::at(&self.path).map_err(|error| failed(error.to_string()))
    }
}

/// Starts the command or finds it, and follows it to its end, or until nobody wants to know.
pub(super) fn follow(followed: &Followed, ticket: &Ticket, tell: Told) {
    let mut outcome = Ok(None);
    for _ in 0..STARTS {
        outcome = follow_once(followed, ticket, &tell);
        if !matches!(outcome, Ok(None)) || tell.is_closed() {
            break;
        }
    }
    let outcome = outcome
        .and_then(|outcome| outcome.ok_or_else(|| followed.settings.launcher.no_supervisor()));
    // If nobody is there any more the command goes on, or its end waits in its directory.
    let _unheard = tell.send(outcome);
}

/// The same with one supervisor. Nothing if it died before it began, or nobody wants to know.
fn follow_once(
    followed: &Followed,
    ticket: &Ticket,
    tell: &Told,
) -> Result<Option<Outcome>, FollowError> {
    let launcher = &followed.settings.launcher;
    let mut attached = launcher.start_or_attach(&followed.path, &followed.spec)?;
    let is_wanted = || !tell.is_closed() && !ticket.stop.is_cancelled();
    let mut shown = Shown::new(followed, ticket, &is_wanted);
    let mut collector = Collector::new(RETURNED_BYTES);
    loop {
        let event = attached.next(LOOK)?;
        // Whoever performs the order next shows what comes from here on.
        if tell.is_closed() {
            return Ok(None);
        }
        match event {
            Event::Output(frame) => {
                collector.add(&frame);
                shown.output(&frame);
            }
            Event::Gap(bytes) => {
                collector.add_gap(bytes);
                shown.position += bytes;
            }
            Event::Ended(exit) => return Ok(Some(collector.outcome(*exit))),
            Event::Vacant => return Ok(None),
            Event::Quiet => {}
        }
    }
}

/// What whoever keeps or watches has seen.
struct Shown<'a> {
    followed: &'a Followed,
    ticket: &'a Ticket,
    is_wanted: IsWanted<'a>,
    kept: u64,
    position: u64,
    last_ms: u64,
}

impl<'a> Shown<'a> {
    fn new(followed: &'a Followed, ticket: &'a Ticket, is_wanted: IsWanted<'a>) -> Self {
        let kept = followed.settings.output.kept(&followed.whose);
        Self { followed, ticket, is_wanted, kept, position: 0, last_ms: 0 }
    }

    fn output(&mut self, frame: &Frame) {
        let end = self.position + frame.bytes.len() as u64;
        if end > self.kept {
            // A piece may have been kept in part.
            let known = usize::try_from(self.kept.saturating_sub(self.position)).unwrap_or(0);
            let rest = Frame { bytes: frame.bytes[known..].to_vec(), ..*frame };
            let position = self.position.max(self.kept);
            let Followed { settings, whose, .. } = self.followed;
            let write = || settings.output.write(whose, position, &rest);
            if let Err(error) = wait_for_room(self.is_wanted, write) {
                tracing::warn!(run = %whose.run, %error, "output of a command is not in the run's log");
            }
        }
        self.position = end;
        // The clock may have been set back.
        if frame.at_ms.abs_diff(self.last_ms) >= PROGRESS_MS {
            self.last_ms = frame.at_ms;
            let end = &frame.bytes[frame.bytes.len().saturating_sub(SHOWN)..];
            let text = String::from_utf8_lossy(end);
            self.ticket.progress(json!({ "stream": frame.stream, "text": text }));
        }
    }
}
