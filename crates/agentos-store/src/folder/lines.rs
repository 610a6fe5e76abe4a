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
use crate::ids::step_id;
use crate::moment::written;

/// How many files of steps are kept open.
const OPEN_FILES: usize = 8;

/// How much is read at once when the end of a file is looked at.
const BLOCK: u64 = 64 * 1024;

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
        Self { id: step_id(run, path), number: number.0, name }
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
        let path = self.folder.project.join(self.folder.step_log_file(step.number, &step.name));
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
                let path = self.folder.step_log_file(number, &step.name);
                self.steps.insert(number, LogFile::open(self.folder.project.join(path))?);
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
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    last: u64,
    /// Where the file has to be cut before anything else is written, if that failed.
    torn_at: Option<u64>,
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
            #[cfg(test)]
            room: None,
        })
    }

    /// Answers with where the file ended before.
    fn append<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) -> Result<End, FolderError> {
        let mut text = Vec::new();
        let mut last = self.last;
        for line in lines {
            match line.ordinal {
                Some(ordinal) if ordinal <= last => continue,
                Some(ordinal) => last = ordinal,
                None => {}
            }
            let written = Written {
                at: written(line.at),
                level: line.level,
                step_id: line.step.as_ref().map(|step| step.id),
                stream: line.stream,
                msg: &line.message,
                piece: line.piece.as_ref(),
                n: line.ordinal,
            };
            serde_json::to_writer(&mut text, &written).map_err(|error| FolderError::Io {
                path: self.path.clone(),
                source: error.into(),
            })?;
            text.push(b'\n');
        }
        let before = self.end().map_err(FolderError::at(&self.path))?;
        if let Err(error) = self.write(&text) {
            self.cut_back(before);
            return Err(FolderError::at(&self.path)(error));
        }
        self.last = last;
        Ok(before)
    }

    fn end(&mut self) -> io::Result<End> {
        if let Some(length) = self.torn_at {
            self.cut(length)?;
            self.torn_at = None;
        }
        Ok(End { length: self.file.metadata()?.len(), last: self.last })
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
        self.last = to.last;
        self.torn_at = self.cut(to.length).is_err().then_some(to.length);
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        if self.file.metadata()?.len() > length { self.file.set_len(length) } else { Ok(()) }
    }
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
mod tests {
    use super::*;

    fn lines_of(path: &std::path::Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn line(ordinal: u64, step: u32) -> Line {
        let step =
            StepName { id: Uuid::from_u128(step.into()), number: step, name: "Write Plan!".into() };
        Line {
            ordinal: Some(ordinal),
            at: Timestamp(0),
            level: LogLevel::Info,
            step: (!ordinal.is_multiple_of(3)).then_some(step),
            stream: Stream::Log,
            message: format!("line {ordinal}\n𝄞"),
            piece: None,
        }
    }

    fn all_lines() -> Vec<Line> {
        (1..=12).map(|ordinal| line(ordinal, if ordinal < 7 { 1 } else { 2 })).collect()
    }

    #[test]
    fn a_crash_at_any_byte_loses_and_repeats_no_line() {
        let project = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
        folder.open_logs().unwrap().append(&all_lines()).unwrap();
        let run = project.path().join(folder.log_file());
        let step = project.path().join(folder.step_log_file(1, "Write Plan!"));
        assert!(step.ends_with("step-1-write-plan.log"), "{step:?}");
        let (whole, whole_step) = (lines_of(&run), lines_of(&step));
        assert_eq!((whole.len(), whole_step.len()), (12, 4));
        let bytes = std::fs::read(&run).unwrap();
        let step_bytes = std::fs::read(&step).unwrap();
        for cut in 0..bytes.len() {
            std::fs::write(&run, &bytes[..cut]).unwrap();
            // The step's file is never behind the run's.
            let seen = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
            if seen < 6 {
                let lines = whole[..seen].iter().filter(|line| whole_step.contains(line)).count();
                let kept = step_bytes.split_inclusive(|byte| *byte == b'\n').take(lines).flatten();
                let torn = step_bytes.len().min(kept.clone().count() + cut % 40);
                std::fs::write(&step, &step_bytes[..torn]).unwrap();
            }
            let mut logs = folder.open_logs().unwrap();
            let last = logs.last_ordinal();
            let missing: Vec<Line> =
                all_lines().into_iter().filter(|line| line.ordinal > Some(last)).collect();
            logs.append(&missing).unwrap();
            assert_eq!(lines_of(&run), whole, "cut at {cut}");
            assert_eq!(lines_of(&step), whole_step, "cut at {cut}");
        }
    }

    #[test]
    fn the_last_number_is_found_behind_a_flood_of_output() {
        let project = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
        let mut logs = folder.open_logs().unwrap();
        let output = Line {
            ordinal: None,
            stream: Stream::Stdout,
            message: "x".repeat(10_000),
            ..line(1, 1)
        };
        logs.append(&[line(1, 1)]).unwrap();
        logs.append(&vec![output; 50]).unwrap();
        assert_eq!(folder.open_logs().unwrap().last_ordinal(), 1);
    }

    #[test]
    fn a_run_of_many_steps_has_few_files_open_and_loses_no_line() {
        let project = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
        let mut logs = folder.open_logs().unwrap();
        for round in 0..3 {
            for step in 1..=50 {
                logs.append(&[Line { step: line(1, step).step, ..output(&round.to_string()) }])
                    .unwrap();
                assert!(logs.steps.len() <= OPEN_FILES + 1, "{}", logs.steps.len());
            }
        }
        assert_eq!(lines_of(&project.path().join(folder.step_log_file(7, "Write Plan!"))).len(), 3);
        assert_eq!(lines_of(&project.path().join(folder.log_file())).len(), 150);
    }

    #[test]
    fn output_is_gone_on_with_behind_what_is_kept() {
        let project = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
        let step = StepName::of(RunId(Uuid::from_u128(1)), StepNumber(1), "/shell:build#1");
        assert_eq!(step.name, "build");
        let piece = |command: &str, end| Line {
            step: Some(step.clone()),
            piece: Some(Piece { command: command.into(), end, goes_on: false }),
            ..output("text")
        };
        let mut logs = folder.open_logs().unwrap();
        assert_eq!(logs.kept_output(&step, "a").unwrap(), 0);
        logs.append(&[piece("a", 5), piece("b", 7), piece("a", 11)]).unwrap();
        let logs = folder.open_logs().unwrap();
        assert_eq!(logs.kept_output(&step, "a").unwrap(), 11);
        assert_eq!(logs.kept_output(&step, "b").unwrap(), 7);
        assert_eq!(logs.kept_output(&step, "c").unwrap(), 0);
    }

    fn output(text: &str) -> Line {
        Line { ordinal: None, stream: Stream::Stdout, message: text.into(), ..line(1, 1) }
    }

    /// Output without a number, as long as one likes. Counts what is read of it.
    struct Flood(std::cell::Cell<usize>);

    impl FileExt for Flood {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.0.set(self.0.get() + buffer.len());
            for (at, byte) in (offset..).zip(buffer.iter_mut()) {
                *byte = if at % 100 == 99 { b'\n' } else { b'}' };
            }
            Ok(buffer.len())
        }

        fn write_at(&self, _buffer: &[u8], _offset: u64) -> io::Result<usize> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn opening_a_log_reads_every_byte_of_its_output_once() {
        let flood = Flood(std::cell::Cell::new(0));
        let length = 4 * 1024 * 1024 + 17;
        let (whole, last) = whole_lines(&flood, length).unwrap();
        assert_eq!((whole, last), (length - length % 100, 0));
        let once = usize::try_from(length).unwrap();
        assert!((once..once + once / 100).contains(&flood.0.get()), "{:?}", flood.0);
    }

    #[test]
    fn a_number_is_found_wherever_it_lies_in_its_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let block = usize::try_from(BLOCK).unwrap();
        for behind in (block - 60..block + 10).chain(2 * block - 40..2 * block + 5) {
            let flood = format!("{}\n", "x".repeat(behind));
            let text = format!("{{\"n\":1}}\n{{\"msg\":\"\",\"n\":{}}}\n{flood}torn", u64::MAX);
            std::fs::write(&path, &text).unwrap();
            let file = OpenOptions::new().read(true).append(true).open(&path).unwrap();
            assert_eq!(mend(&file).unwrap(), u64::MAX, "{behind}");
            assert_eq!(file.metadata().unwrap().len() as usize, text.len() - "torn".len());
        }
    }

    #[test]
    fn what_a_message_says_is_no_number() {
        let project = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
        let mut logs = folder.open_logs().unwrap();
        logs.append(&[line(7, 1), output(",\"n\":9}"), output("\",\"n\":9}\n")]).unwrap();
        assert_eq!(folder.open_logs().unwrap().last_ordinal(), 7);
    }

    #[test]
    fn lines_given_again_after_a_failure_are_written_once() {
        let lines: Vec<Line> =
            (1..=4).flat_map(|n| [line(n * 1_000 + 1, 1), output("said")]).collect();
        let text = |room: Option<(bool, usize)>| {
            let project = tempfile::tempdir().unwrap();
            let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
            let mut logs = folder.open_logs().unwrap();
            logs.append(&lines[..2]).unwrap();
            if let Some((of_run, room)) = room {
                let file = if of_run { &mut logs.run } else { logs.steps.get_mut(&1).unwrap() };
                file.room = Some(room);
                assert!(logs.append(&lines[2..]).is_err());
                assert_eq!(logs.last_ordinal(), 1_001);
            }
            logs.append(&lines[2..]).unwrap();
            assert_eq!(logs.last_ordinal(), 4_001);
            let files = [folder.log_file(), folder.step_log_file(1, "Write Plan!")];
            files.map(|file| lines_of(&project.path().join(file)))
        };
        let expected = text(None);
        for room in (0..700).step_by(23) {
            for of_run in [true, false] {
                assert_eq!(
                    text(Some((of_run, room))),
                    expected,
                    "{room} bytes, the run's: {of_run}"
                );
            }
        }
    }

    #[test]
    fn a_line_that_could_not_be_cut_off_is_cut_off_later() {
        let project = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
        let mut logs = folder.open_logs().unwrap();
        logs.append(&[output("whole")]).unwrap();
        let length = logs.run.file.metadata().unwrap().len();
        logs.run.file.write_all(b"{\"at\":\"to").unwrap();
        logs.run.torn_at = Some(length);
        logs.append(&[output("whole")]).unwrap();
        let lines = lines_of(&project.path().join(folder.log_file()));
        assert_eq!((lines.len(), &lines[0]), (2, &lines[1]));
    }
}
