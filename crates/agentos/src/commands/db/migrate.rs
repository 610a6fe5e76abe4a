//! `agentos db migrate`: runs of another database are copied into this one, with their files. The other is only read.
//!
//! A run that has not ended goes on from one database: the copy is held, or with `--move` the other database notes beside
//! itself that the run was moved.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentos_store::sqlite::{OpenError, SqliteStore};
use agentos_store::transfer::UnreadableRun;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::identity::Identity;
use agentos_workspace::link;
use serde::Serialize;
use uuid::Uuid;

use super::link::failed;
use crate::databases::carry::{Carrier, Copied, Home, Outcome, Unfinished};
use crate::databases::families::{Family, families};
use crate::databases::source::Source;
use crate::databases::{counted, named, target};
use crate::error::{CommandError, ErrorKind, Result};
use crate::names;
use crate::session::Session;
use crate::terminal::bytes;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The database that runs are copied from, or a checkout that has one
    #[arg(long, value_name = "PATH")]
    from: PathBuf,

    /// The database that they are copied into; the one of this checkout if left out
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,

    /// Only this run and, unless all have ended, its parent and child runs: its id, its short name, or the beginning of one
    /// (can be said several times)
    #[arg(long, value_name = "RUN")]
    run: Vec<String>,

    /// Continue unfinished runs in the target, and no longer in the source (default: hold their copies)
    #[arg(long = "move")]
    moves: bool,

    /// Only say what would be copied
    #[arg(long)]
    dry_run: bool,

    /// Print a document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    from: String,
    to: String,
    dry_run: bool,
    items: Vec<Copied>,
    /// Runs of the source whose rows can't be read.
    unreadable: Vec<UnreadableRun>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let from = named(session, &args.from)?;
    let to = match &args.to {
        Some(path) => named(session, path)?,
        None => session.database()?.to_owned(),
    };
    refuse_itself(&from, &to)?;
    let source = Source::open(&from)?;
    let (families, unreadable) = chosen(&source, &args.run).await?;
    let home = home(session, args, &to)?;
    let target = open_target(session, args, &to)?;
    let unfinished = if args.moves { Unfinished::InTarget } else { Unfinished::InSource };
    let (target, is_trial) = (target.as_ref(), args.dry_run);
    let carrier = Carrier { source: &source, target, home, unfinished, is_trial };
    if !args.json {
        let told = unreadable.iter().map(|run| format!("{}: failed ({})", run.run_id, run.reason));
        session.output.lines(told)?;
    }
    let mut items = Vec::new();
    for family in &families {
        let copied = carrier.carry_family(family).await;
        if !args.json {
            session.output.lines(copied.iter().map(|copied| line(copied, args.dry_run)))?;
        }
        items.extend(copied);
    }
    let report = Report {
        from: source.path.display().to_string(),
        to: to.display().to_string(),
        dry_run: args.dry_run,
        items,
        unreadable,
    };
    if args.json {
        session.output.document(&report)?;
    } else {
        session.output.lines([summary(&report)])?;
    }
    answer(&report)
}

fn refuse_itself(from: &Path, to: &Path) -> Result<()> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(from) == real(to) {
        return Err(CommandError::usage(format!("{} is the database itself", from.display()))
            .hint("name another one with `--from`, or where to copy to with `--to`"));
    }
    Ok(())
}

/// The runs that are meant, with their families, the oldest first; and those that can't be read.
async fn chosen(source: &Source, wanted: &[String]) -> Result<(Vec<Family>, Vec<UnreadableRun>)> {
    let (all, unreadable) = source.store.readable_candidates().await.map_err(|error| {
        let message = format!("{} can't be read: {error}", source.path.display());
        CommandError::failed(message).hint("it is as it was; bring back a copy that is whole")
    })?;
    let families = families(all);
    if wanted.is_empty() {
        return Ok((families, unreadable));
    }
    let mut meant = HashSet::new();
    for name in wanted {
        meant.insert(names::find(&source.store, name).await?);
    }
    // Of those that can't be read nobody asked for one that could be found.
    Ok((families.into_iter().filter_map(|family| family.meant(&meant)).collect(), Vec::new()))
}

/// The checkout whose database it is; none if it is nobody's.
fn home(session: &Session, args: &Args, to: &Path) -> Result<Option<Home>> {
    if args.to.is_none() {
        let location = session.location()?;
        if args.dry_run {
            let path = location.project_path().map_err(failed)?;
            return Ok(Some(Home::new(Uuid::nil(), path, String::new())));
        }
        let prepared = location.prepare()?;
        let identity = prepared.identity;
        return Ok(Some(Home::new(identity.project, &prepared.project_path, identity.worktree)));
    }
    let Some(root) = link::root_of(to) else { return Ok(None) };
    let found = Checkout::of_folder(&session.surroundings, root).ok().flatten();
    let Some(found) = found.filter(|found| found.root == root) else { return Ok(None) };
    if args.dry_run {
        return Ok(Some(Home::new(Uuid::nil(), &found.root, String::new())));
    }
    let identity = Identity::make(&found).map_err(failed)?;
    Ok(Some(Home::new(identity.project, &found.root, identity.worktree)))
}

/// Only what is really written to is made.
fn open_target(session: &Session, args: &Args, to: &Path) -> Result<Option<SqliteStore>> {
    if args.dry_run {
        return match SqliteStore::open_to_look(to) {
            Ok(store) => Ok(Some(store)),
            Err(OpenError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
    if args.to.is_none() {
        return Ok(Some(session.open()?.store));
    }
    Ok(Some(target::open(to)?))
}

fn line(copied: &Copied, is_trial: bool) -> String {
    let mut line = format!("{}: {}", copied.run_id, copied.outcome.word(is_trial));
    if let Some(other) = &copied.along_with {
        line.push_str(&format!(" along with {other}"));
    }
    if copied.files.files > 0 {
        let size = bytes::size(copied.files.bytes);
        line.push_str(&format!(", with {} ({size})", counted(copied.files.files, "file")));
    }
    if let Some(reason) = &copied.reason {
        line.push_str(&format!(" ({reason})"));
    }
    line
}

fn count(report: &Report, is_counted: impl Fn(Outcome) -> bool) -> usize {
    report.items.iter().filter(|item| is_counted(item.outcome)).count()
}

fn failures(report: &Report) -> usize {
    count(report, |it| it == Outcome::Failed) + report.unreadable.len()
}

fn summary(report: &Report) -> String {
    let new = count(report, Outcome::is_new);
    let verb = if report.dry_run { "would be copied" } else { "copied" };
    let mut line = format!("{} {verb} from {} to {}", counted(new, "run"), report.from, report.to);
    let others = [
        (
            count(report, |it| it == Outcome::Moved),
            if report.dry_run { "to be moved" } else { "moved" },
        ),
        (
            count(report, |it| matches!(it, Outcome::AlreadyThere | Outcome::WentOn)),
            "already there",
        ),
        (count(report, |it| it == Outcome::Skipped), "skipped"),
        (count(report, |it| it == Outcome::Refused), "refused"),
        (failures(report), "failed"),
    ];
    for (number, what) in others.into_iter().filter(|(number, _)| *number > 0) {
        line.push_str(&format!(", {number} {what}"));
    }
    line
}

fn answer(report: &Report) -> Result<ExitCode> {
    let (refused, broken) = (count(report, |it| it == Outcome::Refused), failures(report));
    if broken > 0 {
        let message = format!("{} could not be copied", counted(broken, "run"));
        return Err(
            CommandError::failed(message).hint("everything else was; the source is as it was")
        );
    }
    if refused > 0 {
        let message = format!("{} not copied, to protect what is there", counted(refused, "run"));
        return Err(CommandError::new(ErrorKind::Refused, message)
            .hint("everything else was; the source is as it was"));
    }
    Ok(ExitCode::SUCCESS)
}
