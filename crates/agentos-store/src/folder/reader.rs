//! A log file that is read while it is written.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// A line that is longer than this is handed out in parts, in bytes. Nobody here writes such lines; the file may have been
/// put there by somebody else.
const LONGEST: usize = 4 << 20;

/// A file that may not be there yet, and grows.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    file: Option<BufReader<File>>,
    /// What has been written of the next line.
    rest: Vec<u8>,
    /// Where the next line begins.
    position: u64,
}

impl LogReader {
    /// Reads from the beginning.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path, file: None, rest: Vec::new(), position: 0 }
    }

    /// Reads a file that somebody else has found and opened.
    #[must_use]
    pub fn of(file: File) -> Self {
        Self { file: Some(BufReader::new(file)), ..Self::new(PathBuf::new()) }
    }

    /// Reads only what comes from now on. A line that is half written is seen from here on.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn skip_to_end(&mut self) -> io::Result<()> {
        if let Some(file) = self.open()? {
            self.position = file.seek(SeekFrom::End(0))?;
        }
        Ok(())
    }

    /// Goes on at this place of the file: a [`position`](Self::position) from before.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn skip_to(&mut self, position: u64) -> io::Result<()> {
        if let Some(file) = self.open()? {
            self.position = file.seek(SeekFrom::Start(position))?;
        }
        Ok(())
    }

    /// Where the next line begins, in bytes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The file, if it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next lines that are complete by now, at most so many; none if there are no more yet.
    ///
    /// # Errors
    /// Those of the file system. A file that is not there yet is empty.
    pub fn next_lines(&mut self, most: usize) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut rest = std::mem::take(&mut self.rest);
        let mut handed_out = 0;
        if let Some(file) = self.open()? {
            while lines.len() < most && read_on(file, &mut rest)? > 0 {
                if rest.ends_with(b"\n") || rest.len() >= LONGEST {
                    handed_out += rest.len() as u64;
                    lines.push(String::from_utf8_lossy(&rest).trim_end().to_owned());
                    rest.clear();
                }
            }
        }
        (self.rest, self.position) = (rest, self.position + handed_out);
        Ok(lines)
    }

    fn open(&mut self) -> io::Result<Option<&mut BufReader<File>>> {
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.file = Some(BufReader::new(file)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.file.as_mut())
    }
}

/// Reads to the end of the line, of the buffer or of the file, whatever comes first.
fn read_on(file: &mut BufReader<File>, rest: &mut Vec<u8>) -> io::Result<usize> {
    let buffer = file.fill_buf()?;
    let length = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |at| at + 1);
    rest.extend_from_slice(&buffer[..length]);
    file.consume(length);
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_are_handed_out_when_they_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let mut reader = LogReader::new(path.clone());
        assert!(reader.next_lines(10).unwrap().is_empty(), "it is not there yet");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(reader.next_lines(10).unwrap(), ["one"]);
        assert!(reader.next_lines(10).unwrap().is_empty());
        let mut late = LogReader::of(File::open(path).unwrap());
        late.skip_to_end().unwrap();
        file.write_all(b"o\nthree\nfour\n").unwrap();
        assert_eq!(reader.next_lines(2).unwrap(), ["two", "three"]);
        assert_eq!(reader.position(), 14);
        assert_eq!(reader.next_lines(2).unwrap(), ["four"]);
        reader.skip_to(8).unwrap();
        assert_eq!(reader.next_lines(1).unwrap(), ["three"]);
        assert_eq!(late.next_lines(10).unwrap(), ["o", "three", "four"]);
    }
}
