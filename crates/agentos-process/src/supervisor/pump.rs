//! Moves what the command writes from its pipes to the log, masked.

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
    frame: Vec<u8>,
    written: u64,
}

impl Pump {
    pub(super) fn new(stream: Stream, pipe: Option<OwnedFd>, secrets: &Secrets) -> Self {
        Self { stream, pipe, masker: Masker::new(secrets), frame: Vec::new(), written: 0 }
    }

    /// The pipe, while somebody may write to it.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// How much came through, masked, in bytes.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Moves what is there, once. The pipe must have something to say.
    pub(super) fn once(&mut self, chunk: &mut [u8; CHUNK_BYTES], log: &mut LogWriter) {
        let Some(pipe) = &self.pipe else { return };
        match rustix::io::read(pipe, &mut chunk[..]) {
            Ok(0) => self.close(log),
            Ok(length) => {
                self.begin();
                self.masker.feed(&chunk[..length], &mut self.frame);
                self.append(log);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.close(log),
        }
    }

    /// Reads no further: what was held back comes out.
    pub(super) fn close(&mut self, log: &mut LogWriter) {
        if self.pipe.take().is_some() {
            self.begin();
            self.masker.finish(&mut self.frame);
            self.append(log);
        }
    }

    fn begin(&mut self) {
        self.frame.clear();
        self.frame.resize(HEADER, 0);
    }

    fn append(&mut self, log: &mut LogWriter) {
        self.written += (self.frame.len() - HEADER) as u64;
        log.append(&mut self.frame, time_of_day_ms(), self.stream);
    }
}
