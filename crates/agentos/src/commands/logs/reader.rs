//! A log file that is read while it is written.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::PathBuf;

use crate::error::{CommandError, Result};

/// A file that may not be there yet, and grows.
pub(super) struct Reader {
    path: PathBuf,
    file: Option<BufReader<File>>,
    /// What has been written of the next line.
    rest: String,
}

impl Reader {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, file: None, rest: String::new() }
    }

    /// The next lines that are complete by now, at most so many; none if there are no more yet.
    pub(super) fn next_lines(&mut self, most: usize) -> Result<Vec<String>> {
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.file = Some(BufReader::new(file)),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => {
                    let path = self.path.display();
                    return Err(CommandError::failed(format!("{path} can't be read: {error}")));
                }
            }
        }
        let mut lines = Vec::new();
        let Some(file) = &mut self.file else { return Ok(lines) };
        let mut bytes = Vec::new();
        while lines.len() < most && file.read_until(b'\n', &mut bytes)? > 0 {
            self.rest.push_str(&String::from_utf8_lossy(&bytes));
            bytes.clear();
            if self.rest.ends_with('\n') {
                lines.push(std::mem::take(&mut self.rest).trim_end().to_owned());
            }
        }
        Ok(lines)
    }
}
