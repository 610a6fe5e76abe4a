//! What runs and their commands say: into the files of their runs, and to whoever watches.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_core::entry::RunStarted;
use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_core::turn::{LogLevel, LogLine};
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::lines::LineSink;
use agentos_engine::shell::{OutputSink, Whose};
use agentos_process::attached::is_out_of_room;
use agentos_process::frame::{self, Frame};
use agentos_store::folder::{FolderError, Line, Piece, RunFolder, RunLogs, StepName, Stream};
use tokio::sync::mpsc;

/// A line that somebody who watches sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) at: Timestamp,
    pub(crate) run: RunId,
    pub(crate) level: LogLevel,
    pub(crate) message: String,
}

/// How many lines wait for a slow terminal before further ones are left out. The file has them all.
pub(crate) const WAITING: usize = 1_000;

/// How much of one command's output goes into the logs, in bytes. All of it is in the command's own directory.
const OUTPUT_BYTES: u64 = 16 << 20;

/// How many lines of a run wait for room on the disk before the oldest of them are lost.
const UNWRITTEN: usize = 10_000;

/// The logs of a run.
struct OpenLogs {
    logs: RunLogs,
    /// Lines of the workflow that found no room yet.
    unwritten: Vec<Line>,
}

impl OpenLogs {
    /// Writes what found no room before. What can't be written for another reason is lost.
    fn write_rest(&mut self, run: RunId) {
        if self.unwritten.is_empty() {
            return;
        }
        match self.logs.append(&self.unwritten) {
            Ok(()) => self.unwritten.clear(),
            Err(FolderError::Io { source, .. }) if is_out_of_room(&source) => {
                let too_many = self.unwritten.len().saturating_sub(UNWRITTEN);
                if too_many > 0 {
                    tracing::warn!(%run, lines = too_many, "log lines of the run are lost: no room");
                    self.unwritten.drain(..too_many);
                }
            }
            Err(error) => {
                tracing::warn!(%run, %error, "log lines of the run are lost");
                self.unwritten.clear();
            }
        }
    }
}

/// Writes lines into the folders of their runs. Clones write into the same.
#[derive(Clone, Default)]
pub(crate) struct FileLines {
    open: Arc<Mutex<HashMap<RunId, OpenLogs>>>,
    /// Whoever watches.
    watcher: Option<mpsc::Sender<Said>>,
}

impl FileLines {
    /// With somebody who hears lines worth knowing.
    pub(crate) fn watched_by(watcher: mpsc::Sender<Said>) -> Self {
        Self { watcher: Some(watcher), ..Self::default() }
    }

    fn logs(&self) -> MutexGuard<'_, HashMap<RunId, OpenLogs>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the logs of a run, which are opened if they are not.
    fn with_logs<T>(
        &self,
        (run, project): (RunId, &str),
        act: impl FnOnce(&mut RunLogs) -> Result<T, FolderError>,
    ) -> Result<Option<T>, FolderError> {
        if project.is_empty() {
            return Ok(None);
        }
        let mut all = self.logs();
        if let Some(open) = all.get_mut(&run) {
            open.write_rest(run);
            return act(&mut open.logs).map(Some);
        }
        let mut logs = RunFolder::new(Path::new(project), run).open_logs()?;
        let done = act(&mut logs)?;
        all.insert(run, OpenLogs { logs, unwritten: Vec::new() });
        Ok(Some(done))
    }

    fn tell(&self, run: RunId, line: &LogLine) {
        if let Some(watcher) = self.watcher.as_ref().filter(|_| line.level >= LogLevel::Info) {
            let (at, level, message) = (line.at, line.level, line.message.clone());
            // A terminal that is slow misses lines; a run is not held up for it.
            let _full = watcher.try_send(Said { at, run, level, message });
        }
    }
}

impl LineSink for FileLines {
    fn open(&self, start: &RunStarted) -> u64 {
        let opened =
            self.with_logs((start.run, &start.home.project_path), |logs| Ok(logs.last_ordinal()));
        opened.map(Option::unwrap_or_default).unwrap_or_else(|error| {
            tracing::warn!(run = %start.run, %error, "the run's log lines are not kept");
            0
        })
    }

    fn write(&self, run: RunId, lines: Vec<LogLine>) {
        lines.iter().for_each(|line| self.tell(run, line));
        if let Some(open) = self.logs().get_mut(&run) {
            open.unwritten.extend(lines.into_iter().map(|line| written(run, line)));
            open.write_rest(run);
        }
    }

    fn close(&self, run: RunId) {
        let Some(mut open) = self.logs().remove(&run) else { return };
        open.write_rest(run);
        let lines = open.unwritten.len();
        if lines > 0 {
            tracing::warn!(%run, lines, "log lines of the run are lost: there is no room for them");
        }
    }
}

fn written(run: RunId, line: LogLine) -> Line {
    Line {
        ordinal: Some(line.ordinal),
        at: line.at,
        level: line.level,
        step: line.step.map(|step| StepName::of(run, step.number, step.path.as_str())),
        stream: Stream::Log,
        message: line.message,
        piece: None,
    }
}

impl OutputSink for FileLines {
    fn kept(&self, whose: &Whose) -> u64 {
        let Some(step) = step_of(whose) else { return 0 };
        let kept = self.with_logs((whose.run, &whose.home.project_path), |logs| {
            logs.kept_output(&step, &command_of(whose))
        });
        kept.map(Option::unwrap_or_default).unwrap_or_else(|error| {
            tracing::warn!(run = %whose.run, %error, "the run's log can't be read");
            0
        })
    }

    fn write(&self, whose: &Whose, position: u64, frame: &Frame) -> io::Result<()> {
        let lines = pieces(whose, position, frame);
        let written =
            self.with_logs((whose.run, &whose.home.project_path), |logs| logs.append(&lines));
        written.map(drop).map_err(|error| match &error {
            FolderError::Io { source, .. } => io::Error::new(source.kind(), error),
            FolderError::Name { .. } => io::Error::other(error),
        })
    }

    fn remark(&self, whose: &Whose, text: &str) {
        let line = Line {
            ordinal: None,
            at: SystemClock.now(),
            level: LogLevel::Info,
            step: step_of(whose),
            stream: Stream::Log,
            message: text.to_owned(),
            piece: None,
        };
        let written =
            self.with_logs((whose.run, &whose.home.project_path), |logs| logs.append(&[line]));
        if let Err(error) = written {
            tracing::warn!(run = %whose.run, %error, "a remark is not in the run's log");
        }
    }
}

fn step_of(whose: &Whose) -> Option<StepName> {
    let (number, path) = whose.step.as_ref()?;
    let step = StepName::of(whose.run, *number, path);
    Some(match &whose.title {
        Some(title) => step.titled(title.clone()),
        None => step,
    })
}

/// A command among those of a run.
fn command_of(whose: &Whose) -> String {
    format!("{}@{}", whose.operation, whose.r#try)
}

/// The lines in a piece of output. The last may go on in the next piece.
fn pieces(whose: &Whose, position: u64, frame: &Frame) -> Vec<Line> {
    if position >= OUTPUT_BYTES {
        return Vec::new();
    }
    let (step, command) = (step_of(whose), command_of(whose));
    let line = |message: String, end: u64, goes_on: bool| Line {
        ordinal: None,
        at: Timestamp(i64::try_from(frame.at_ms).unwrap_or(i64::MAX)),
        level: LogLevel::Info,
        step: step.clone(),
        stream: match frame.stream {
            frame::Stream::Stdout => Stream::Stdout,
            frame::Stream::Stderr => Stream::Stderr,
        },
        message,
        piece: Some(Piece { command: command.clone(), end, goes_on }),
    };
    let mut end = position;
    let mut lines: Vec<Line> = Vec::new();
    for bytes in frame.bytes.split_inclusive(|byte| *byte == b'\n') {
        end += bytes.len() as u64;
        let text = String::from_utf8_lossy(bytes);
        let whole = text.strip_suffix('\n');
        lines.push(line(whole.unwrap_or(&text).to_owned(), end, whole.is_none()));
    }
    if end >= OUTPUT_BYTES {
        let note = "… the rest of this command's output is not in this log";
        lines.push(line(note.to_owned(), end, false));
    }
    lines
}

#[cfg(test)]
mod tests {
    use agentos_core::entry::Home;
    use agentos_core::id::{StepNumber, Try};
    use uuid::Uuid;

    use super::*;

    fn whose(project: &Path) -> Whose {
        Whose {
            run: RunId(Uuid::from_u128(7)),
            home: Home { project_path: project.display().to_string(), ..Home::default() },
            operation: "/build#1@1/shell:make#1".parse().expect("an operation"),
            step: Some((StepNumber(3), "/build#1".to_owned())),
            title: None,
            r#try: Try(1),
        }
    }

    fn frame(text: &str) -> Frame {
        Frame { at_ms: 5, stream: frame::Stream::Stdout, bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn output_is_kept_once_however_often_somebody_attaches() {
        let project = tempfile::tempdir().expect("a folder");
        let (whose, lines) = (whose(project.path()), FileLines::default());
        assert_eq!(lines.kept(&whose), 0);
        OutputSink::write(&lines, &whose, 0, &frame("one\ntw")).expect("room");
        OutputSink::write(&lines, &whose, 6, &frame("o\n")).expect("room");
        // Somebody else goes on.
        let lines = FileLines::default();
        assert_eq!(lines.kept(&whose), 8);
        let folder = RunFolder::new(project.path(), whose.run);
        let log = project.path().join(folder.step_log_file(3, "build"));
        let text = std::fs::read_to_string(log).expect("the step's log");
        let said: Vec<(String, bool)> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a line of JSON"))
            .map(|line| {
                (line["msg"].as_str().unwrap_or_default().to_owned(), line["goes_on"] == true)
            })
            .collect();
        assert_eq!(said, [("one".into(), false), ("tw".into(), true), ("o".into(), false)]);
    }

    #[test]
    fn more_output_than_a_log_takes_is_left_out_and_said_so() {
        let whose = whose(Path::new("/nowhere"));
        let last = pieces(&whose, OUTPUT_BYTES - 1, &frame("x\ny\n"));
        assert!(last.last().is_some_and(|line| line.message.contains("not in this log")));
        assert_eq!(pieces(&whose, OUTPUT_BYTES, &frame("more\n")), []);
    }
}
