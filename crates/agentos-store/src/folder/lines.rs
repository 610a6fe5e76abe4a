//! Log files: every line once, also after a crash.
//!
//! A workflow's own lines are numbered, and the same line has the same number whenever the workflow is executed. Numbers
//! follow from positions in the run's log: they only grow, and leave large gaps. So each file is asked for its last number
//! when it is opened, and takes only lines after it. What a crash left of a last line is cut off first; the line comes
//! again. A step's file is written before the run's, so a line that the run's file has is not missing there.
//!
//! Output of commands has no numbers; each piece says of which command it is and how much of its output is kept with it, so
//! that whoever attaches to a command again goes on behind that. If writing fails, every file is
//! cut back to what it was, so that all the lines can be given again.
//!
//! A file that may not become larger (`ulimit -f`) has every line up to a last one that says so. The other files go on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use agentos_core::id::{RunId, StepNumber};
use agentos_core::path::{OperationId, StepPath};
use agentos_core::time::Timestamp;
use agentos_core::turn::LogLevel;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{FolderError, RunFolder};
use crate::file_limit::file_limit;
use crate::ids::step_id;
use crate::moment::written;

/// How many files of steps are kept open.
const OPEN_FILES: usize = 8;

/// How much is read at once when the end of a file is looked at.
const BLOCK: u64 = 64 * 1024;

/// How much of a file that may not become larger is left for the line that says so, in bytes.
const LAST_LINE_BYTES: u64 = 512;

/// How the end of a numbered line begins: the number is the last field.
const NUMBER: &[u8] = b",\"n\":";

/// How much of a line's end holds its number, however large.
const NUMBER_BYTES: u64 = 32;

/// Who said a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// The workflow, with `ctx.log`.
    Log,
    /// A command, on its standard output.
    Stdout,
    /// A command, on its standard error.
    Stderr,
    /// An agent.
    Agent,
}

/// The step that a line belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepName {
    /// Its id.
    pub id: Uuid,
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Another name, under which an earlier version may have begun its file.
    pub earlier: Option<String>,
}

/// A line for the log files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number of the workflow's own line: larger than that of the line before, not the next after it. Other lines
    /// have none.
    pub ordinal: Option<u64>,
    /// When.
    pub at: Timestamp,
    /// How loud.
    pub level: LogLevel,
    /// The step that it belongs to.
    pub step: Option<StepName>,
    /// Who said it.
    pub stream: Stream,
    /// What.
    pub message: String,
    /// Of which command's output this is a piece.
    pub piece: Option<Piece>,
}

impl StepName {
    /// The step of this number at this path: that of a step, or of an operation that forms one.
    #[must_use]
    pub fn of(run: RunId, number: StepNumber, path: &str) -> Self {
        let operation = path.parse::<OperationId>().ok().and_then(|operation| operation.name());
        let name = operation.or_else(|| path.parse::<StepPath>().ok().and_then(|step| step.name()));
        let name = name.map_or_else(|| path.to_owned(), |name| name.to_string());
        Self { id: step_id(run, path), number: number.0, name, earlier: None }
    }

    /// The same under the name that says what it does.
    #[must_use]
    pub fn titled(self, title: String) -> Self {
        Self { name: title, earlier: Some(self.name), ..self }
    }
}

/// A piece of a command's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The command: one try of one operation.
    pub command: String,
    /// How many bytes of its output are kept with this piece.
    pub end: u64,
    /// Whether the line goes on with the next piece.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    at: String,
    level: LogLevel,
    step_id: Option<Uuid>,
    stream: Stream,
    msg: &'a str,
    #[serde(flatten)]
    piece: Option<&'a Piece>,
    /// Has to be the last: see [`number_at_end`].
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
}

/// The open log files of a run. One process has them open at a time: the run's owner.
#[derive(Debug)]
pub struct RunLogs {
    folder: RunFolder,
    run: LogFile,
    steps: BTreeMap<u32, LogFile>,
}

impl RunLogs {
    pub(super) fn open(folder: &RunFolder) -> Result<Self, FolderError> {
        folder.create()?;
        let run = LogFile::open(folder.project.join(folder.log_file()))?;
        Ok(Self { folder: folder.clone(), run, steps: BTreeMap::new() })
    }

    /// The number of the last of the workflow's own lines that is written: what
    /// [`Options::lines_written`](agentos_core::execution::Options) wants to know.
    #[must_use]
    pub const fn last_ordinal(&self) -> u64 {
        self.run.last
    }

    /// How many bytes of a command's output are kept in a step's log.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn kept_output(&self, step: &StepName, command: &str) -> Result<u64, FolderError> {
        #[derive(Deserialize)]
        struct Kept {
            command: Option<String>,
            end: Option<u64>,
        }
        let path = self.step_file(step);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(FolderError::at(&path)(error)),
        };
        let mut kept = 0;
        for line in io::BufReader::new(file).split(b'\n') {
            let line = line.map_err(FolderError::at(&path))?;
            if let Ok(Kept { command: Some(of), end: Some(end) }) = serde_json::from_slice(&line)
                && of == command
            {
                kept = end;
            }
        }
        Ok(kept)
    }

    /// Where the lines of a step are written: where they were begun.
    fn step_file(&self, step: &StepName) -> PathBuf {
        let file =
            |name: &String| self.folder.project.join(self.folder.step_log_file(step.number, name));
        let named = file(&step.name);
        let earlier = step.earlier.as_ref().map(file).filter(|path| path.exists());
        earlier.filter(|_| !named.exists()).unwrap_or(named)
    }

    /// Writes lines. Those that a file has already are left out.
    ///
    /// # Errors
    /// [`FolderError`]; then none of them is written. Give all of them again.
    pub fn append(&mut self, lines: &[Line]) -> Result<(), FolderError> {
        let mut of_steps: BTreeMap<u32, (&StepName, Vec<&Line>)> = BTreeMap::new();
        for line in lines {
            if let Some(step) = &line.step {
                of_steps.entry(step.number).or_insert_with(|| (step, Vec::new())).1.push(line);
            }
        }
        if self.steps.len() > OPEN_FILES {
            // They are opened again when they are needed; a run may have more steps than a process may have files.
            self.steps.retain(|number, _| of_steps.contains_key(number));
        }
        let mut written = Vec::new();
        let done = self.append_to_all(of_steps, lines, &mut written);
        if done.is_err() {
            for (number, end) in written {
                if let Some(file) = self.steps.get_mut(&number) {
                    file.cut_back(end);
                }
            }
        }
        done
    }

    /// `written` is told which steps' files have grown, and where they ended before.
    fn append_to_all(
        &mut self,
        of_steps: BTreeMap<u32, (&StepName, Vec<&Line>)>,
        lines: &[Line],
        written: &mut Vec<(u32, End)>,
    ) -> Result<(), FolderError> {
        for (number, (step, lines)) in of_steps {
            if !self.steps.contains_key(&number) {
                self.steps.insert(number, LogFile::open(self.step_file(step))?);
            }
            if let Some(file) = self.steps.get_mut(&number) {
                written.push((number, file.append(lines.into_iter())?));
            }
        }
        self.run.append(lines.iter())?;
        Ok(())
    }
}

/// Where a file ends, and the last number in it.
#[derive(Debug, Clone, Copy)]
struct End {
    length: u64,
    last: u64,
    is_full: bool,
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    last: u64,
    /// Where the file has to be cut before anything else is written, if that failed.
    torn_at: Option<u64>,
    /// How large the file may become, in bytes.
    limit: Option<u64>,
    /// It has come to that, and says so. Nothing more is written.
    is_full: bool,
    /// How much is written before the disk is full.
    #[cfg(test)]
    room: Option<usize>,
}

impl LogFile {
    fn open(path: PathBuf) -> Result<Self, FolderError> {
        let opened = || -> io::Result<(File, u64)> {
            let file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
            let last = mend(&file)?;
            Ok((file, last))
        };
        let (file, last) = opened().map_err(FolderError::at(&path))?;
        let torn_at = None;
        Ok(Self {
            path,
            file,
            last,
            torn_at,
            limit: file_limit(),
            is_full: false,
            #[cfg(test)]
            room: None,
        })
    }

    /// Answers with where the file ended before.
    fn append<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) -> Result<End, FolderError> {
        let before = self.end().map_err(FolderError::at(&self.path))?;
        let mut text = Vec::new();
        let (mut last, mut is_full) = (self.last, self.is_full);
        for line in lines.take_while(|_| !self.is_full) {
            if line.ordinal.is_some_and(|ordinal| ordinal <= last) {
                continue;
            }
            let end = text.len();
            self.add(line, &mut text)?;
            if let Some(limit) = self.limit
                && before.length + text.len() as u64 + LAST_LINE_BYTES > limit
            {
                text.truncate(end);
                self.add(&last_line(line, limit), &mut text)?;
                if before.length + text.len() as u64 > limit {
                    text.truncate(end);
                }
                is_full = true;
                break;
            }
            last = line.ordinal.unwrap_or(last);
        }
        if let Err(error) = self.write(&text) {
            self.cut_back(before);
            return Err(FolderError::at(&self.path)(error));
        }
        (self.last, self.is_full) = (last, is_full);
        Ok(before)
    }

    /// Adds the text of a line.
    fn add(&self, line: &Line, text: &mut Vec<u8>) -> Result<(), FolderError> {
        let written = Written {
            at: written(line.at),
            level: line.level,
            step_id: line.step.as_ref().map(|step| step.id),
            stream: line.stream,
            msg: &line.message,
            piece: line.piece.as_ref(),
            n: line.ordinal,
        };
        serde_json::to_writer(&mut *text, &written)
            .map_err(|error| FolderError::Io { path: self.path.clone(), source: error.into() })?;
        text.push(b'\n');
        Ok(())
    }

    fn end(&mut self) -> io::Result<End> {
        if let Some(length) = self.torn_at {
            self.cut(length)?;
            self.torn_at = None;
        }
        let length = self.file.metadata()?.len();
        Ok(End { length, last: self.last, is_full: self.is_full })
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        if let Some(room) = self.room.take() {
            self.file.write_all(&text[..room.min(text.len())])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write_all(text)
    }

    /// Takes back what was written since. If that fails as well, it is done before anything else is written.
    fn cut_back(&mut self, to: End) {
        (self.last, self.is_full) = (to.last, to.is_full);
        self.torn_at = self.cut(to.length).is_err().then_some(to.length);
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        if self.file.metadata()?.len() > length { self.file.set_len(length) } else { Ok(()) }
    }
}

/// Says, where this line would stand, that it and what comes after it are not in the file.
fn last_line(missing: &Line, limit: u64) -> Line {
    let message = format!(
        "… the rest is not in this log: a file may not be larger than {limit} bytes here (`ulimit -f`)"
    );
    let (at, step) = (missing.at, missing.step.clone());
    let (level, stream) = (LogLevel::Warn, Stream::Log);
    Line { ordinal: None, at, level, step, stream, message, piece: None }
}

/// Cuts off what is left of an unfinished line, and finds the last number.
fn mend(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let (whole, last) = whole_lines(file, length)?;
    if whole != length {
        file.set_len(whole)?;
    }
    Ok(last)
}

/// Where the last whole line ends, and the last number; 0 if there is none.
///
/// The file is read backwards, each byte once and a block at a time, however much of it was said by commands.
fn whole_lines(file: &impl FileExt, length: u64) -> io::Result<(u64, u64)> {
    let mut whole = None;
    let mut block = Vec::new();
    let mut end = length;
    while end > 0 {
        let begin = end.saturating_sub(BLOCK);
        // A number that lies across the edge of two blocks is read with the later one.
        let first = begin.saturating_sub(NUMBER_BYTES);
        block.resize(usize::try_from(end - first).unwrap_or(0), 0);
        file.read_exact_at(&mut block, first)?;
        let edge = usize::try_from(begin - first).unwrap_or(0);
        for line_end in (edge..block.len()).rev().filter(|at| block[*at] == b'\n') {
            let whole = *whole.get_or_insert(first + line_end as u64 + 1);
            if let Some(number) = number_at_end(&block[..line_end]) {
                return Ok((whole, number));
            }
        }
        end = begin;
    }
    Ok((whole.unwrap_or(0), 0))
}

/// The number of the line that ends so. A line without one ends with its message, so with a quotation mark.
fn number_at_end(text: &[u8]) -> Option<u64> {
    let digits = text.strip_suffix(b"}")?;
    let begin = digits.iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
    let (before, digits) = digits.split_at(begin);
    before.ends_with(NUMBER).then_some(())?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
