//! Log files: every line once, also after a crash.
//!
//! A workflow's own lines are numbered, and the same line has the same number whenever the workflow is executed. So each
//! file is asked for its last number when it is opened, and takes only lines after it. What a crash left of a last line is
//! cut off first; the line comes again. A step's file is written before the run's, so a line that the run's file has is
//! not missing there.
//!
//! Lines of commands and agents have no number here: they are kept by whoever runs those.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use agentos_core::time::Timestamp;
use agentos_core::turn::LogLevel;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::clock::written;
use super::{FolderError, RunFolder};

/// How much is read at once when the end of a file is looked at.
const BLOCK: u64 = 64 * 1024;

/// Who said a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The how-manieth of the workflow's own lines, from 1. Other lines have none.
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
}

#[derive(Serialize)]
struct Written<'a> {
    at: String,
    level: LogLevel,
    step_id: Option<Uuid>,
    stream: Stream,
    msg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
}

#[derive(Deserialize)]
struct Numbered {
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

    /// Writes lines. Those that a file has already are left out.
    ///
    /// # Errors
    /// [`FolderError`]; then some of them may be written. Give all of them again.
    pub fn append(&mut self, lines: &[Line]) -> Result<(), FolderError> {
        let mut of_steps: BTreeMap<u32, (&StepName, Vec<&Line>)> = BTreeMap::new();
        for line in lines {
            if let Some(step) = &line.step {
                of_steps.entry(step.number).or_insert_with(|| (step, Vec::new())).1.push(line);
            }
        }
        for (number, (step, lines)) in of_steps {
            if !self.steps.contains_key(&number) {
                let path = self.folder.step_log_file(number, &step.name);
                self.steps.insert(number, LogFile::open(self.folder.project.join(path))?);
            }
            if let Some(file) = self.steps.get_mut(&number) {
                file.append(lines.into_iter())?;
            }
        }
        self.run.append(lines.iter())
    }
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    last: u64,
}

impl LogFile {
    fn open(path: PathBuf) -> Result<Self, FolderError> {
        let opened = || -> io::Result<(File, u64)> {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&path)?;
            let last = mend(&mut file)?;
            file.seek(SeekFrom::End(0))?;
            Ok((file, last))
        };
        let (file, last) = opened().map_err(FolderError::at(&path))?;
        Ok(Self { path, file, last })
    }

    fn append<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) -> Result<(), FolderError> {
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
                n: line.ordinal,
            };
            serde_json::to_writer(&mut text, &written).map_err(|error| FolderError::Io {
                path: self.path.clone(),
                source: error.into(),
            })?;
            text.push(b'\n');
        }
        self.file.write_all(&text).map_err(FolderError::at(&self.path))?;
        self.last = last;
        Ok(())
    }
}

/// Cuts off what is left of an unfinished line, and finds the last number.
fn mend(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut tail = Vec::new();
    let mut begin = length;
    loop {
        begin = begin.saturating_sub(BLOCK);
        tail.clear();
        file.seek(SeekFrom::Start(begin))?;
        file.take(length - begin).read_to_end(&mut tail)?;
        let end = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if end == 0 && begin > 0 {
            continue;
        }
        // The first line of the block may be a part of one, unless the block begins with the file.
        let whole =
            if begin == 0 { 0 } else { tail.iter().position(|byte| *byte == b'\n').unwrap_or(0) };
        let number = last_number(&tail[whole..end]);
        if number.is_some() || begin == 0 {
            if begin + end as u64 != length {
                file.set_len(begin + end as u64)?;
            }
            return Ok(number.unwrap_or(0));
        }
    }
}

fn last_number(text: &[u8]) -> Option<u64> {
    let lines = text.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice::<Numbered>(line).ok()).find_map(|line| line.n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentos_core::id::RunId;

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
}
