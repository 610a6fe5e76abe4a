//! Reads output while it grows, from its beginning, however far behind.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;

use crate::bounds::CHUNK_BYTES;
use crate::directory::Directory;
use crate::frame::{Frame, HEADER, PREFACE, header};

/// The longest frame that is believed: masks may be longer than what they stand for.
const FRAME_BYTES: usize = CHUNK_BYTES * 4;

/// The next of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Output.
    Output(Frame),
    /// So many bytes were written and are not kept.
    Gap(u64),
}

/// Reads the log of one command.
#[derive(Debug)]
pub(crate) struct LogReader {
    directory: Directory,
    file: Option<File>,
    number: u64,
    /// Where the next frame begins in the file.
    at: u64,
    /// How many bytes of output were read or passed over.
    position: u64,
}

impl LogReader {
    pub(crate) fn new(directory: &Directory) -> Self {
        Self { directory: directory.clone(), file: None, number: 0, at: 0, position: 0 }
    }

    /// The next piece, if there is one yet.
    pub(crate) fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if self.file.is_none() {
                if let Some(gap) = self.open_next()? {
                    return Ok(Some(Piece::Gap(gap)));
                }
                if self.file.is_none() {
                    return Ok(None);
                }
            }
            if let Some(frame) = self.frame()? {
                return Ok(Some(Piece::Output(frame)));
            }
            if !self.has_successor()? {
                return Ok(None);
            }
            // Whoever began the next file has finished this one, perhaps after we looked.
            if let Some(frame) = self.frame()? {
                return Ok(Some(Piece::Output(frame)));
            }
            self.file = None;
            self.number += 1;
        }
    }

    /// Opens the next file that is there; returns how much was missed before it.
    fn open_next(&mut self) -> io::Result<Option<u64>> {
        let found = self.directory.segments()?.into_iter().find(|number| *number >= self.number);
        let Some(number) = found else { return Ok(None) };
        let mut file = match File::open(self.directory.segment(number)) {
            Ok(file) => file,
            // It was let go of in between; the next look finds a later one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut preface = [0; PREFACE];
        if file.read_exact(&mut preface).is_err() {
            return Ok(None);
        }
        let before = u64::from_le_bytes(preface);
        let gap = before.saturating_sub(self.position);
        self.position = self.position.max(before);
        (self.file, self.number, self.at) = (Some(file), number, PREFACE as u64);
        Ok((gap > 0).then_some(gap))
    }

    fn has_successor(&self) -> io::Result<bool> {
        Ok(self.directory.segments()?.last().is_some_and(|last| *last > self.number))
    }

    /// The next frame of the current file, if it is there whole.
    fn frame(&mut self) -> io::Result<Option<Frame>> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut head = [0; HEADER];
        if !is_filled(file, self.at, &mut head)? {
            return Ok(None);
        }
        let Some((at_ms, stream, length)) =
            header(&head).filter(|(_, _, length)| *length <= FRAME_BYTES)
        else {
            return Ok(None);
        };
        let mut bytes = vec![0; length];
        if !is_filled(file, self.at + HEADER as u64, &mut bytes)? {
            return Ok(None);
        }
        self.at += (HEADER + length) as u64;
        self.position += length as u64;
        Ok(Some(Frame { at_ms, stream, bytes }))
    }
}

/// Reads the bytes at a place of a file, if all of them are there.
fn is_filled(file: &File, at: u64, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact_at(bytes, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
