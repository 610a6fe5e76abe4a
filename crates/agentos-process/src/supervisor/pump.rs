//! Moves what the command writes from its pipes to the log, masked.
//!
//! What can't be written stays here, one piece of each stream, and nothing more is read before it is: the command waits in
//! its next write. So a full disk holds a command up and takes nothing away from it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::bounds::CHUNK_BYTES;
use crate::clock::time_of_day_ms;
use crate::frame::{HEADER, Stream};
use crate::log_writer::LogWriter;
use crate::mask::Masker;
use crate::secret::Secrets;

/// One stream on its way from the pipe to the log.
#[derive(Debug)]
pub(super) struct Pump {
    stream: Stream,
    pipe: Option<OwnedFd>,
    masker: Masker,
    /// What was read and is not written yet, behind room for its header.
    frame: Vec<u8>,
    /// When it was read.
    at_ms: u64,
    written: u64,
}

impl Pump {
    pub(super) fn new(stream: Stream, pipe: Option<OwnedFd>, secrets: &Secrets) -> Self {
        let (masker, frame) = (Masker::new(secrets), vec![0; HEADER]);
        Self { stream, pipe, masker, frame, at_ms: 0, written: 0 }
    }

    /// The pipe, while somebody may write to it.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// How much came through, masked, in bytes.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Moves what is there, once. The pipe must have something to say, and everything before has to be written.
    ///
    /// # Errors
    /// It could not be written, and is kept for [`Pump::flush`].
    pub(super) fn once(
        &mut self,
        chunk: &mut [u8; CHUNK_BYTES],
        log: &mut LogWriter,
    ) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        match rustix::io::read(pipe, &mut chunk[..]) {
            Ok(0) => self.close(log),
            Ok(length) => {
                self.masker.feed(&chunk[..length], &mut self.frame);
                self.append(log)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(_) => self.close(log),
        }
    }

    /// Reads no further: what was held back comes out.
    ///
    /// # Errors
    /// It could not be written, and is kept for [`Pump::flush`].
    pub(super) fn close(&mut self, log: &mut LogWriter) -> io::Result<()> {
        if self.pipe.take().is_some() {
            self.masker.finish(&mut self.frame);
        }
        self.append(log)
    }

    /// Writes what could not be written before.
    ///
    /// # Errors
    /// It still can't be.
    pub(super) fn flush(&mut self, log: &mut LogWriter) -> io::Result<()> {
        let before = self.frame.len();
        let written = log.append(&mut self.frame, self.at_ms, self.stream);
        self.written += (before - self.frame.len()) as u64;
        written
    }

    /// Reads what is there, once, and writes nothing any more, of what is held neither.
    pub(super) fn discard(&mut self, chunk: &mut [u8; CHUNK_BYTES]) {
        self.frame.truncate(HEADER);
        let Some(pipe) = &self.pipe else { return };
        if !matches!(
            rustix::io::read(pipe, &mut chunk[..]),
            Ok(1..) | Err(Errno::INTR | Errno::AGAIN)
        ) {
            self.pipe = None;
        }
    }

    fn append(&mut self, log: &mut LogWriter) -> io::Result<()> {
        self.at_ms = time_of_day_ms();
        self.flush(log)
    }
}
