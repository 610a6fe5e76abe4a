//! The log lines of runs: into their files, and to whoever watches.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_core::entry::RunStarted;
use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_core::turn::{LogLevel, LogLine};
use agentos_engine::lines::LineSink;
use agentos_store::folder::{Line, RunFolder, RunLogs, StepName, Stream};
use agentos_store::ids::step_id;
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

/// Writes lines into the folders of their runs.
#[derive(Default)]
pub(crate) struct FileLines {
    open: Mutex<HashMap<RunId, RunLogs>>,
    /// Whoever watches.
    watcher: Option<mpsc::Sender<Said>>,
}

impl FileLines {
    /// With somebody who hears lines worth knowing.
    pub(crate) fn watched_by(watcher: mpsc::Sender<Said>) -> Self {
        Self { watcher: Some(watcher), ..Self::default() }
    }

    fn open_logs(&self) -> MutexGuard<'_, HashMap<RunId, RunLogs>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineSink for FileLines {
    fn open(&self, start: &RunStarted) -> u64 {
        if start.home.project_path.is_empty() {
            return 0;
        }
        let folder = RunFolder::new(Path::new(&start.home.project_path), start.run);
        match folder.open_logs() {
            Ok(logs) => {
                let last = logs.last_ordinal();
                self.open_logs().insert(start.run, logs);
                last
            }
            Err(error) => {
                tracing::warn!(run = %start.run, %error, "the run's log lines are not kept");
                0
            }
        }
    }

    fn write(&self, run: RunId, lines: Vec<LogLine>) {
        if let Some(watcher) = &self.watcher {
            for line in lines.iter().filter(|line| line.level >= LogLevel::Info) {
                let said =
                    Said { at: line.at, run, level: line.level, message: line.message.clone() };
                // A terminal that is slow misses lines; a run is not held up for it.
                let _full = watcher.try_send(said);
            }
        }
        if let Some(logs) = self.open_logs().get_mut(&run) {
            let lines: Vec<Line> = lines.into_iter().map(|line| written(run, line)).collect();
            if let Err(error) = logs.append(&lines) {
                tracing::warn!(%run, %error, "log lines of the run are lost");
            }
        }
    }

    fn close(&self, run: RunId) {
        self.open_logs().remove(&run);
    }
}

fn written(run: RunId, line: LogLine) -> Line {
    let step = line.step.map(|step| StepName {
        id: step_id(run, &step.path),
        number: step.number.0,
        name: step.path.name().map(|name| name.to_string()).unwrap_or_default(),
    });
    Line {
        ordinal: Some(line.ordinal),
        at: line.at,
        level: line.level,
        step,
        stream: Stream::Log,
        message: line.message,
    }
}
