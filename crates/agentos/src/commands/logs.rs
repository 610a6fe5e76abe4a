//! `agentos logs`: what a run has said.

pub(crate) mod tail;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agentos_core::turn::LogLevel;
use agentos_store::folder::{Piece, RunFolder, Stream};
use agentos_store::records::RunDetail;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use clap::ValueEnum;
use serde::Deserialize;

use crate::error::{CommandError, Result};
use crate::names;
use crate::session::Session;
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::text::{Line, harmless};

/// A line of a command that is longer than this is shown in parts, in bytes.
const LONGEST: usize = 64 << 10;

/// How often a growing file is looked at.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// Go on until the run has ended
    #[arg(long, short)]
    follow: bool,

    /// Only this step
    #[arg(long, value_name = "NUMBER")]
    step: Option<u32>,

    /// Only lines that are at least so loud
    #[arg(long, value_enum, default_value_t = Level::Trace)]
    level: Level,

    /// Print the lines as they are in the file: JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Fatal,
}

impl Level {
    const fn of_line(self) -> LogLevel {
        match self {
            Self::Trace => LogLevel::Trace,
            Self::Debug => LogLevel::Debug,
            Self::Info => LogLevel::Info,
            Self::Warn => LogLevel::Warn,
            Self::Error => LogLevel::Error,
            Self::Fatal => LogLevel::Fatal,
        }
    }
}

/// A line of the file, as far as it is shown.
#[derive(Deserialize)]
struct Written {
    at: String,
    level: LogLevel,
    stream: Stream,
    msg: String,
    #[serde(flatten)]
    piece: Option<Piece>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let store = session.look_for(&args.run)?;
    let detail = names::find_detail(&store, &args.run).await?;
    let path = log_file(&detail, args.step)?;
    let mut reader = Reader { path, file: None, rest: String::new() };
    let mut shown = Shown { args, paint: session.output.paint, unfinished: BTreeMap::new() };
    loop {
        // Whoever has ended says nothing more, so its end is looked at first.
        let is_over = !args.follow || has_ended(&store, &detail).await?;
        let lines = reader.new_lines()?;
        session.output.lines(lines.iter().filter_map(|line| shown.line(line)))?;
        if is_over {
            session.output.lines(shown.rest())?;
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn has_ended(store: &SqliteStore, detail: &RunDetail) -> Result<bool> {
    Ok(store.head(detail.run.id).await?.standing.is_ended())
}

fn log_file(detail: &RunDetail, step: Option<u32>) -> Result<PathBuf> {
    let relative = match step {
        // Of a child nobody has written down where its log is; it is where all are.
        None => detail.run.log_file_path.clone().or_else(|| {
            let project = Path::new(detail.run.work_dir.as_deref()?);
            let file = RunFolder::new(project, detail.run.id).log_file();
            Some(file.to_string_lossy().into_owned())
        }),
        Some(number) => {
            let step = detail.steps.iter().find(|step| step.step_number == number);
            let step = step.ok_or_else(|| {
                CommandError::not_found(format!("{} has no step {number}", detail.run.run_id))
                    .hint(format!("`agentos show {}` lists its steps", detail.run.run_id))
            })?;
            step.log_file_path.clone()
        }
    };
    let (Some(project), Some(relative)) = (&detail.run.work_dir, relative) else {
        return Err(CommandError::not_found(format!("{} keeps no log files", detail.run.run_id)));
    };
    Ok(Path::new(project).join(relative))
}

/// Lines on their way to whoever reads them.
struct Shown<'a> {
    args: &'a Args,
    paint: Paint,
    /// Beginnings of lines that commands have not finished, and when those began.
    unfinished: BTreeMap<(String, Stream), (String, String)>,
}

impl Shown<'_> {
    /// A line as it is shown; one that can't be understood is shown as it is.
    fn line(&mut self, line: &str) -> Option<String> {
        let Ok(Written { at, level, stream, msg, piece }) = serde_json::from_str(line) else {
            return Some(harmless(line).into_owned());
        };
        if level < self.args.level.of_line() {
            return None;
        }
        if self.args.json {
            return Some(line.to_owned());
        }
        let Some(Piece { command, goes_on, .. }) = piece else {
            return Some(painted(self.paint, &at, level, &msg));
        };
        let begun = self.unfinished.remove(&(command.clone(), stream));
        let (at, begun) = begun.unwrap_or((at, String::new()));
        let text = begun + &msg;
        if goes_on && text.len() < LONGEST {
            self.unfinished.insert((command, stream), (at, text));
            return None;
        }
        Some(self.output(&at, stream, &text))
    }

    /// Lines that no command will finish any more.
    fn rest(&mut self) -> Vec<String> {
        let unfinished = std::mem::take(&mut self.unfinished);
        unfinished
            .into_iter()
            .map(|((_, stream), (at, text))| self.output(&at, stream, &text))
            .collect()
    }

    fn output(&self, at: &str, stream: Stream, text: &str) -> String {
        let sign = if stream == Stream::Stderr { "! " } else { "| " };
        let line = Line::of(Tone::Faint, at).with(Tone::Faint, &format!(" {sign}"));
        line.with(Tone::Plain, &harmless(text)).painted(self.paint)
    }
}

fn painted(paint: Paint, at: &str, level: LogLevel, message: &str) -> String {
    let (tone, word) = match level {
        LogLevel::Trace => (Tone::Faint, "trace"),
        LogLevel::Debug => (Tone::Faint, "debug"),
        LogLevel::Info => (Tone::Plain, "info"),
        LogLevel::Warn => (Tone::Warning, "warn"),
        LogLevel::Error => (Tone::Bad, "error"),
        LogLevel::Fatal => (Tone::Bad, "fatal"),
    };
    let line = Line::of(Tone::Faint, at).with(tone, &format!(" {word:<5} "));
    line.with(Tone::Plain, &harmless(message)).painted(paint)
}

/// A file that may not be there yet, and grows.
struct Reader {
    path: PathBuf,
    file: Option<BufReader<File>>,
    /// What has been written of the next line.
    rest: String,
}

impl Reader {
    /// The lines that are complete by now.
    fn new_lines(&mut self) -> Result<Vec<String>> {
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
        while file.read_until(b'\n', &mut bytes)? > 0 {
            self.rest.push_str(&String::from_utf8_lossy(&bytes));
            bytes.clear();
            if self.rest.ends_with('\n') {
                lines.push(std::mem::take(&mut self.rest).trim_end().to_owned());
            }
        }
        Ok(lines)
    }
}
