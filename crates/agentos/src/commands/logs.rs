//! `agentos logs`: what a run has said.

mod last;
mod shown;
pub(crate) mod tail;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agentos_core::turn::LogLevel;
use agentos_store::folder::{LogReader, RunFolder};
use agentos_store::records::RunDetail;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use clap::ValueEnum;
use uuid::Uuid;

use crate::error::{Cause, CommandError, Result};
use crate::names;
use crate::session::Session;
use crate::terminal::paint::Paint;
pub(crate) use last::Last;
use shown::Shown;

/// How many lines are in our hands at a time.
const BATCH: usize = 1_000;

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

    /// Only the last lines, so many at most
    #[arg(long, short = 'n', value_name = "NUMBER")]
    tail: Option<usize>,

    /// Print the lines as they are in the file: JSON
    #[arg(long)]
    json: bool,
}

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Fatal,
}

impl Level {
    pub(crate) const fn of_line(self) -> LogLevel {
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

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let store = session.look_for(&args.run)?;
    let detail = names::find_detail(&store, &args.run).await?;
    let mut reader = LogReader::new(log_file(&detail, args.step)?);
    let mut shown = Shown::new(args.level.of_line(), args.json, session.output.paint);
    let mut last = args.tail.map(|most| Last::new(most, usize::MAX));
    loop {
        // Whoever has ended says nothing more, so its end is looked at first.
        let is_over = !args.follow || has_ended(&store, &detail).await?;
        loop {
            let lines = next_lines(&mut reader)?;
            let told = lines.iter().filter_map(|line| shown.line(line));
            match &mut last {
                Some(last) => told.for_each(|line| last.push(line)),
                None => session.output.lines(told)?,
            }
            if lines.is_empty() {
                break;
            }
        }
        if let Some(mut last) = last.take() {
            if is_over {
                shown.rest().into_iter().for_each(|line| last.push(line));
            }
            session.output.lines(last.into_lines())?;
        }
        if is_over {
            session.output.lines(shown.rest())?;
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOK).await;
        if session.output.is_unheard() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// The last lines that a run has said until now, at most so many and so many bytes.
pub(crate) fn tail(
    detail: &RunDetail,
    (step, level): (Option<u32>, Level),
    mut last: Last,
) -> Result<Last> {
    let mut reader = LogReader::new(log_file(detail, step)?);
    let mut shown = Shown::new(level.of_line(), false, Paint::PLAIN);
    loop {
        let lines = next_lines(&mut reader)?;
        lines.iter().filter_map(|line| shown.line(line)).for_each(|line| last.push(line));
        if lines.is_empty() {
            shown.rest().into_iter().for_each(|line| last.push(line));
            return Ok(last);
        }
    }
}

fn next_lines(reader: &mut LogReader) -> Result<Vec<String>> {
    let lines = reader.next_lines(BATCH);
    lines.map_err(|error| {
        CommandError::failed(format!("{} can't be read: {error}", reader.path().display()))
    })
}

async fn has_ended(store: &SqliteStore, detail: &RunDetail) -> Result<bool> {
    Ok(store.head(detail.run.id).await?.standing.is_ended())
}

/// The log of a run or of one of its steps: the project, and the file in it. None if nobody has written down where it is.
pub(crate) fn file_of(
    detail: &RunDetail,
    step: Option<Uuid>,
) -> Result<Option<(PathBuf, PathBuf)>> {
    let number = match step {
        None => None,
        Some(id) => {
            let found = detail.steps.iter().find(|step| step.id == id);
            let found = found.ok_or_else(|| {
                CommandError::not_found(format!("{} has no step {id}", detail.run.run_id))
                    .because(Cause::NoSuchStep)
            })?;
            Some(found.step_number)
        }
    };
    let Some(project) = detail.run.work_dir.as_ref().map(PathBuf::from) else { return Ok(None) };
    let file = log_file(detail, number).ok();
    let inside = file.and_then(|file| Some(file.strip_prefix(&project).ok()?.to_owned()));
    Ok(inside.map(|file| (project, file)))
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
                    .cli_hint(format!("`agentos show {}` lists its steps", detail.run.run_id))
            })?;
            step.log_file_path.clone()
        }
    };
    let (Some(project), Some(relative)) = (&detail.run.work_dir, relative) else {
        return Err(CommandError::not_found(format!("{} keeps no log files", detail.run.run_id)));
    };
    Ok(Path::new(project).join(relative))
}
