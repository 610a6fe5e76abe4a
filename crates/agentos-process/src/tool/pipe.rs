//! Listening to the pipes of a tool without a thread for each: never longer than there is something to read.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often an ended tool is looked for whose pipes are still open.
const TICK: Duration = Duration::from_millis(10);

/// The pause between two looks at a tool that has closed its pipes and is about to end.
const MOMENT: Duration = Duration::from_micros(200);

/// One of the pipes that the tool writes to.
pub(super) struct Pipe<R> {
    source: Option<R>,
    pub(super) kept: Vec<u8>,
    limit: usize,
    pub(super) is_over_limit: bool,
}

pub(super) trait Listened {
    fn open(&self) -> Option<BorrowedFd<'_>>;
}

impl<R: AsFd> Listened for Pipe<R> {
    fn open(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }
}

impl<R: Read + AsFd> Pipe<R> {
    pub(super) fn new(source: Option<R>, limit: usize) -> Self {
        Self { source, kept: Vec::new(), limit, is_over_limit: false }
    }

    /// Reads until it would have to wait. What is beyond the limit is read and dropped.
    pub(super) fn read_what_is_there(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 << 10];
        while let Some(source) = &mut self.source
            && is_readable(source)?
        {
            match source.read(&mut bytes) {
                Ok(0) => self.source = None,
                Ok(count) => {
                    let room = self.limit.saturating_sub(self.kept.len()).min(count);
                    self.kept.extend_from_slice(&bytes[..room]);
                    self.is_over_limit |= room < count;
                    if self.is_over_limit {
                        // There may be no end to it; the caller decides.
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_readable(source: &impl AsFd) -> io::Result<bool> {
    let mut asked = [PollFd::new(source, PollFlags::IN)];
    wait(&mut asked, Duration::ZERO)?;
    Ok(!asked[0].revents().is_empty())
}

/// Waits until one of the pipes has something to say, or it is worth looking whether the tool has ended.
pub(super) fn wait_for_news(pipes: &[&dyn Listened], left: Duration) -> io::Result<()> {
    let open: Vec<BorrowedFd<'_>> = pipes.iter().filter_map(|pipe| pipe.open()).collect();
    let mut asked: Vec<PollFd<'_>> =
        open.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
    let pause = if asked.is_empty() { MOMENT } else { TICK };
    wait(&mut asked, pause.min(left))
}

fn wait(asked: &mut [PollFd<'_>], at_most: Duration) -> io::Result<()> {
    let at_most = Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    match poll(asked, Some(&at_most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
