//! Keeps output on disk, so much and no more: the beginning, and the end.
//!
//! The log is cut into files of equal size. The first one stays; of the others only the last few do. What can't be kept
//! (the disk is full) is counted and let go: a command is not to fail because its output has no place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::bounds::LEAST_KEPT_BYTES;
use crate::directory::Directory;
use crate::frame::{HEADER, PREFACE, Stream, seal};

/// How many files besides the first are kept, the one that is being written among them.
const LATER: u64 = 3;

/// What all of them are.
const FILES: u64 = LATER + 1;

/// Keeps the output of one command.
#[derive(Debug)]
pub(crate) struct LogWriter {
    directory: Directory,
    file: Option<File>,
    number: u64,
    /// How long the current file is.
    length: u64,
    /// How long a file may become.
    segment_bytes: u64,
    /// How much output came so far.
    total: u64,
    /// How much of it is in each file that is kept, from the first to the current.
    kept: Vec<(u64, u64)>,
    /// How much of it is kept nowhere.
    dropped: u64,
}

impl LogWriter {
    /// A log without output. Its first file is made when there is some.
    pub(crate) fn create(directory: &Directory, kept_bytes: u64) -> Self {
        let segment_bytes = kept_bytes.max(LEAST_KEPT_BYTES) / FILES;
        // A start that the machine's end has wiped out may have left some behind.
        for number in directory.segments().unwrap_or_default() {
            let _removed = fs::remove_file(directory.segment(number));
        }
        let directory = directory.clone();
        let kept = vec![(0, 0)];
        Self {
            directory,
            file: None,
            number: 0,
            length: 0,
            segment_bytes,
            total: 0,
            kept,
            dropped: 0,
        }
    }

    /// How much is kept nowhere.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Appends a frame, whose bytes begin at [`HEADER`].
    pub(crate) fn append(&mut self, frame: &mut [u8], at_ms: u64, stream: Stream) {
        let bytes = (frame.len() - HEADER) as u64;
        if bytes == 0 {
            return;
        }
        seal(frame, at_ms, stream);
        let kept = self.write(frame);
        self.total += bytes;
        match (kept, self.kept.last_mut()) {
            (Ok(()), Some((_, kept))) => *kept += bytes,
            _ => self.dropped += bytes,
        }
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        if self.length >= self.segment_bytes {
            self.turn_over();
        }
        if self.file.is_none() {
            self.open()?;
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        match file.write_all(frame) {
            Ok(()) => {
                self.length += frame.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half a frame would make everything behind it unreadable.
                if file.set_len(self.length).is_err() {
                    self.turn_over();
                }
                Err(error)
            }
        }
    }

    /// Begins the next file, and lets go of one.
    fn turn_over(&mut self) {
        self.file = None;
        self.length = 0;
        self.number += 1;
        self.kept.push((self.number, 0));
        // The first stays; behind it only the latest few.
        while self.kept.len() as u64 > FILES {
            let (number, bytes) = self.kept.remove(1);
            let _removed = fs::remove_file(self.directory.segment(number));
            self.dropped += bytes;
        }
    }

    fn open(&mut self) -> io::Result<()> {
        let path = self.directory.segment(self.number);
        // Every write goes to the end: after a failed one the file is cut back.
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).mode(0o600).open(&path)?;
        file.set_len(0)?;
        file.write_all(&self.total.to_le_bytes())?;
        self.length = PREFACE as u64;
        self.file = Some(file);
        Ok(())
    }
}
