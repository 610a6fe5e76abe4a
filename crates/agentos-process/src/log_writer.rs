//! Keeps output on disk, so much and no more: the beginning, and the end.
//!
//! The log is cut into files of equal size. The first one stays; of the others only the last few do. A file is never
//! larger than the process may write (`ulimit -f`): then there are more of them. What can't be written stays with the
//! caller, who gives it again when there may be room.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::bounds::{LEAST_KEPT_BYTES, OUTPUT_FILES};
use crate::directory::Directory;
use crate::file_size;
use crate::frame::{HEADER, PREFACE, Stream, seal};

/// How many files there are where nothing limits their size: the first, and three behind it.
const FILES: u64 = 4;

/// Keeps the output of one command.
#[derive(Debug)]
pub(crate) struct LogWriter {
    directory: Directory,
    file: Option<File>,
    number: u64,
    /// How long the current file is.
    length: u64,
    /// Whether half a frame may stand behind that, which has to be cut off first.
    is_torn: bool,
    /// How long a file becomes before the next one is begun.
    segment_bytes: u64,
    /// How long a file may become.
    file_bytes: u64,
    /// How many files are kept.
    files: u64,
    /// How much output came so far.
    total: u64,
    /// How much of it is in each file that is kept, from the first to the current.
    kept: Vec<(u64, u64)>,
    /// How much of it was left out for what came later.
    dropped: u64,
}

impl LogWriter {
    /// A log without output. Its first file is made when there is some.
    pub(crate) fn create(directory: &Directory, kept_bytes: u64) -> Self {
        let kept_bytes = kept_bytes.max(LEAST_KEPT_BYTES);
        let file_bytes = file_size::limit().unwrap_or(u64::MAX);
        let segment_bytes = (kept_bytes / FILES).min(file_bytes).max(1);
        // A start that the machine's end has wiped out may have left some behind.
        for number in directory.segments().unwrap_or_default() {
            let _removed = fs::remove_file(directory.segment(number));
        }
        Self {
            directory: directory.clone(),
            file: None,
            number: 0,
            length: 0,
            is_torn: false,
            segment_bytes,
            file_bytes,
            files: (kept_bytes / segment_bytes).clamp(FILES, OUTPUT_FILES),
            total: 0,
            kept: vec![(0, 0)],
            dropped: 0,
        }
    }

    /// How much was left out for what came later.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Writes a frame, whose bytes begin at [`HEADER`], and takes out of it what is written: all, or less after an error.
    /// A frame that is larger than a file may be is written in parts.
    pub(crate) fn append(
        &mut self,
        frame: &mut Vec<u8>,
        at_ms: u64,
        stream: Stream,
    ) -> io::Result<()> {
        let room = self.file_bytes.saturating_sub((PREFACE + HEADER) as u64).max(1);
        let most = usize::try_from(room).unwrap_or(usize::MAX);
        while frame.len() > HEADER {
            let end = HEADER + (frame.len() - HEADER).min(most);
            seal(&mut frame[..end], at_ms, stream);
            self.write(&frame[..end])?;
            let bytes = (end - HEADER) as u64;
            self.total += bytes;
            if let Some((_, kept)) = self.kept.last_mut() {
                *kept += bytes;
            }
            frame.drain(HEADER..end);
        }
        Ok(())
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        let is_begun = self.length > PREFACE as u64;
        let is_too_long = self.length.saturating_add(frame.len() as u64) > self.file_bytes;
        if self.length >= self.segment_bytes || (is_begun && is_too_long) {
            self.turn_over();
        }
        if self.file.is_none() {
            self.open()?;
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        if self.is_torn {
            file.set_len(self.length)?;
            self.is_torn = false;
        }
        if let Err(error) = file.write_all(frame) {
            // Half a frame would make everything behind it unreadable.
            self.is_torn = file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += frame.len() as u64;
        Ok(())
    }

    /// Begins the next file, and lets go of one.
    fn turn_over(&mut self) {
        self.file = None;
        self.length = 0;
        self.is_torn = false;
        self.number += 1;
        self.kept.push((self.number, 0));
        // The first stays; behind it only the latest few.
        while self.kept.len() as u64 > self.files {
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
