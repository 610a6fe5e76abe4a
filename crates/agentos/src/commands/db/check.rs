//! `agentos db check`: looks the database through, and what lies beside it; with `--fix` it mends what is safe to mend.

use std::path::PathBuf;
use std::process::ExitCode;

use agentos_store::counterpart::Counterparts;
use agentos_store::sqlite::{Finding, OpenError, Sizes, SqliteStore};
use agentos_workspace::stale_lock::FoundLock;
use serde::Serialize;

use crate::databases::litter::{self, Litter};
use crate::databases::locks;
use crate::databases::others::{self, Others};
use crate::databases::source::Source;
use crate::databases::{counted, folders};
use crate::error::{ErrorKind, Result};
use crate::session::Session;
use crate::terminal::bytes;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Mend what can be mended without losing anything
    #[arg(long)]
    fix: bool,

    /// Print a document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    database: PathBuf,
    runs: u64,
    interrupted: usize,
    sizes: Amounts,
    problems: Vec<Problem>,
    /// What dead processes did not clear away, and the next one that drives runs does.
    leftovers: Vec<Problem>,
    /// Locks of gits that are at work: they go by themselves.
    notes: Vec<Problem>,
}

#[derive(Serialize)]
struct Amounts {
    #[serde(flatten)]
    inside: Sizes,
    /// Everything in the folders of runs.
    folders: u64,
}

#[derive(Serialize)]
struct Problem {
    message: String,
    /// What was done about it.
    mended: Option<String>,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What {
    Inside(Finding),
    Beside(Litter),
    Lock(FoundLock),
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let path = session.database()?.to_owned();
    let looked_at = match SqliteStore::open_untouched(&path) {
        Err(OpenError::NotFound { .. }) => {
            session.output.lines([format!("there is no database at {} yet", path.display())])?;
            return Ok(ExitCode::SUCCESS);
        }
        looked => looked.map(|_| ()),
    };
    if !matches!(looked_at, Err(OpenError::NoIndex { .. })) {
        looked_at?;
    }
    let mut report = look(session, &path).await?;
    if args.fix && !(report.problems.is_empty() && report.leftovers.is_empty()) {
        mend(session, &mut report).await?;
    }
    if args.json {
        session.output.document(&report)?;
    } else {
        session.output.lines(lines(&report, args.fix))?;
    }
    let is_fine = report.problems.iter().all(|problem| problem.mended.is_some());
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn look(session: &Session, path: &std::path::Path) -> Result<Report> {
    let source = Source::open(path)?;
    let found = source.store.examine().await?;
    let inside = found.findings.into_iter().map(|finding| Problem {
        message: finding.message.clone(),
        mended: None,
        what: What::Inside(finding),
    });
    let mut problems: Vec<Problem> = inside.collect();
    let others = Others::ask(&others::paths(session, &source.path)).await;
    // A file that is damaged may not be able to say which runs there are.
    let beside = litter::find(&source.store, &source.path, &others).await.unwrap_or_default();
    let told = |litter: Litter| {
        let (message, mended) = (litter.words(), None);
        Problem { message, mended, what: What::Beside(litter) }
    };
    let (swept, others): (Vec<_>, Vec<_>) = beside.into_iter().partition(Litter::is_swept);
    problems.extend(others.into_iter().map(told));
    let leftovers = swept.into_iter().map(told).collect();
    let (held, left): (Vec<_>, Vec<_>) =
        locks::find(session).await.into_iter().partition(FoundLock::is_held);
    let told = |lock: FoundLock| {
        let (message, mended) = (lock.to_string(), None);
        Problem { message, mended, what: What::Lock(lock) }
    };
    problems.extend(left.into_iter().map(told));
    let notes = held.into_iter().map(told).collect();
    let projects = source.store.candidates().await.unwrap_or_default();
    let projects: std::collections::BTreeSet<PathBuf> =
        projects.into_iter().filter_map(|run| run.work_dir.map(PathBuf::from)).collect();
    let folders = projects
        .iter()
        .map(|project| folders::measure(&agentos_store::folder::executions(project)).bytes)
        .sum();
    let sizes = Amounts { inside: found.sizes, folders };
    // What goes on elsewhere is noted beside the database itself, which may have been copied to be read.
    let elsewhere = Counterparts::of(&source.path).all();
    let interrupted = found.interrupted.iter().filter(|run| !elsewhere.contains(run)).count();
    let (database, runs) = (source.path, found.runs);
    Ok(Report { database, runs, interrupted, sizes, problems, leftovers, notes })
}

async fn mend(session: &Session, report: &mut Report) -> Result<()> {
    let store = session.open()?.store;
    for problem in report.problems.iter_mut().chain(&mut report.leftovers) {
        let done = match &problem.what {
            What::Inside(finding) => match store.mend(finding).await {
                Ok(true) => Some("made again from what is sound".to_owned()),
                Ok(false) => None,
                Err(error) => return Err(error.into()),
            },
            What::Beside(litter) => told(session, litter::clear(session, &store, litter).await)?,
            What::Lock(lock) => told(session, locks::clear(lock).await)?,
        };
        problem.mended = done;
    }
    Ok(())
}

/// What was done about a problem. That it did not work is no reason not to mend the others.
fn told(session: &Session, cleared: Result<Option<String>>) -> Result<Option<String>> {
    match cleared {
        Err(error) if error.kind == ErrorKind::Failed => {
            session.output.note(&error.message);
            Ok(None)
        }
        cleared => cleared,
    }
}

fn lines(report: &Report, is_fixing: bool) -> Vec<String> {
    let inside = report.sizes.inside;
    let mut lines = vec![
        report.database.display().to_string(),
        format!(
            "  {}, {} interrupted",
            counted(usize::try_from(report.runs).unwrap_or(0), "run"),
            report.interrupted
        ),
        format!(
            "  database {} ({} free), write-ahead log {}",
            bytes::size(inside.database),
            bytes::size(inside.free),
            bytes::size(inside.wal)
        ),
        format!(
            "  logs of runs {}, large values {}, artifacts {}, folders of runs {}",
            bytes::size(inside.log),
            bytes::size(inside.values),
            bytes::size(inside.artifacts),
            bytes::size(report.sizes.folders)
        ),
    ];
    for problem in &report.problems {
        let done = match &problem.mended {
            Some(done) => format!(" (mended: {done})"),
            None if is_fixing => " (left: it can't be mended safely)".to_owned(),
            None => String::new(),
        };
        lines.push(format!("problem: {}{done}", problem.message));
    }
    for left in &report.leftovers {
        lines.push(match &left.mended {
            Some(done) => format!("left behind: {} ({done})", left.message),
            None => format!("left behind: {}; the next run removes it", left.message),
        });
    }
    lines.extend(report.notes.iter().map(|note| format!("note: {}", note.message)));
    let open = report.problems.iter().filter(|problem| problem.mended.is_none()).count();
    lines.push(match (open, is_fixing) {
        (0, _) => "everything is fine".to_owned(),
        (open, false) => {
            format!("{}; `agentos db check --fix` mends what it can", counted(open, "problem"))
        }
        (open, true) => format!("{} left", counted(open, "problem")),
    });
    lines
}
