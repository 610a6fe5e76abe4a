//! `agentos db prune`: what is over and old goes. Nothing goes unless the configuration or a flag says so.
//!
//! A run's folder is put aside first, then its rows go, then the folder. Whoever is killed in between leaves a folder that
//! says what it is: `agentos db check --fix` puts it back if the run is still there, and removes it otherwise.
//!
//! A run that was copied is in several databases of the repository. Of such a one only the rows go; its files are those of
//! the others too, and go with the last of them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentos_core::id::RunId;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::shell::run_folder;
use agentos_store::folder::RunFolder;
use agentos_store::records::{RecordError, Records as _, WorkspaceState};
use agentos_store::sqlite::SqliteStore;
use agentos_store::transfer::Candidate;
use serde::Serialize;

use crate::config::Age;
use crate::databases::litter::{PRUNED, REMOVED};
use crate::databases::others::{self, Others};
use crate::databases::{counted, folders};
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::supervise::commands_folder;
use crate::terminal::bytes;
use crate::workspace::desk::Desk;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,

    /// Runs that ended longer ago than this go: 30d, 12h, 2w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Age>,

    /// Only runs that ended so (can be said several times)
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<String>,

    /// The newest of them stay, this many
    #[arg(long, value_name = "NUMBER")]
    keep: Option<usize>,

    /// Print a document
    #[arg(long)]
    json: bool,
}

fn age(text: &str) -> Result<Age, String> {
    let age = Age::try_from(text.to_owned()).map_err(str::to_owned)?;
    age.ms().map(|_| age).ok_or_else(|| "must be a time: a number and m, h, d or w".to_owned())
}

fn status(text: &str) -> Result<String, String> {
    const KNOWN: [&str; 4] = ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"];
    let said = text.to_ascii_uppercase().replace('-', "_");
    let known = KNOWN.iter().any(|known| *known == said);
    known.then_some(said).ok_or_else(|| format!("must be one of {}", KNOWN.join(", ")))
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    removed: Vec<Removed>,
    kept: Vec<Kept>,
    freed: u64,
    /// Whether the space inside the database went back to the disk.
    reclaimed: bool,
}

#[derive(Serialize)]
struct Removed {
    id: RunId,
    run_id: String,
    what: &'static str,
    bytes: u64,
    /// Whether its files stay, since another database has the run as well.
    is_elsewhere: bool,
}

#[derive(Serialize)]
struct Kept {
    run_id: String,
    why: String,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Some(looked) = session.look()? else {
        session.output.lines(["there is no database here yet".to_owned()])?;
        return Ok(ExitCode::SUCCESS);
    };
    let candidates = looked.candidates().await?;
    let rules = Rules::new(session, args, looked.path()).await;
    if rules.is_none() {
        let told = "everything is kept for ever: neither [retention] nor a flag says otherwise";
        session.output.lines([told])?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = match args.dry_run {
        true => looked,
        false => {
            // Whoever has it open to look at it can't write to it as well.
            drop(looked);
            session.open()?.store
        }
    };
    let mut report = Report {
        dry_run: args.dry_run,
        removed: Vec::new(),
        kept: Vec::new(),
        freed: 0,
        reclaimed: false,
    };
    remove_runs(&store, &candidates, &rules, &mut report).await?;
    let gone: BTreeSet<String> =
        report.removed.iter().map(|removed| removed.run_id.clone()).collect();
    let rest = candidates.iter().filter(|run| !gone.contains(&run.run_id));
    remove_parts(rest, &rules, &mut report)?;
    report.freed = report.removed.iter().map(|removed| removed.bytes).sum();
    if !args.dry_run && !gone.is_empty() {
        forget_snapshots(session, &store, &report.removed).await;
        let freed = store.reclaim()?;
        report.reclaimed = freed.is_some();
        report.freed += freed.unwrap_or(0);
    }
    if args.json {
        session.output.document(&report)?;
    } else {
        session.output.lines(lines(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What goes when.
struct Rules<'a> {
    session: &'a Session,
    args: &'a Args,
    now: i64,
    others: Others,
}

impl<'a> Rules<'a> {
    async fn new(session: &'a Session, args: &'a Args, own: &Path) -> Self {
        let others = Others::ask(&others::paths(session, own)).await;
        Self { session, args, now: SystemClock.now().0, others }
    }

    fn is_none(&self) -> bool {
        let retention = &self.session.config.retention;
        let all = ["COMPLETED", "FAILED", "CANCELLED"];
        self.args.older_than.is_none()
            && self.args.keep.is_none()
            && all.iter().all(|status| retention.of_status(status).is_none())
            && retention.logs().is_none()
            && retention.artifacts().is_none()
    }

    /// Whether a flag says what goes; then the configuration does not.
    const fn is_by_flag(&self) -> bool {
        self.args.older_than.is_some() || self.args.keep.is_some()
    }

    fn is_meant(&self, run: &Candidate) -> bool {
        run.is_ended && (self.args.status.is_empty() || self.args.status.contains(&run.status))
    }

    fn is_older(&self, run: &Candidate, limit: Option<i64>) -> bool {
        let ended = run.completed_at.map_or(i64::MAX, |at| at.0);
        limit.is_some_and(|limit| self.now.saturating_sub(limit) > ended)
    }

    fn is_over(&self, run: &Candidate) -> bool {
        match (&self.args.older_than, self.args.keep) {
            (Some(age), _) => self.is_older(run, age.ms()),
            // Everything beyond those that stay.
            (None, Some(_)) => true,
            (None, None) => {
                self.is_older(run, self.session.config.retention.of_status(&run.status))
            }
        }
    }
}

async fn remove_runs(
    store: &SqliteStore,
    candidates: &[Candidate],
    rules: &Rules<'_>,
    report: &mut Report,
) -> Result<()> {
    let workspaces = store.workspaces().await?;
    let is_there = |id: &str| {
        let known = workspaces.iter().find(|workspace| workspace.id == id);
        known.is_some_and(|known| known.status != WorkspaceState::Gone)
    };
    let mut meant: Vec<&Candidate> = candidates.iter().filter(|run| rules.is_meant(run)).collect();
    meant.sort_by_key(|run| std::cmp::Reverse(run.completed_at.map(|at| at.0)));
    for run in meant.into_iter().skip(rules.args.keep.unwrap_or(0)) {
        if !rules.is_over(run) {
            continue;
        }
        let id = run.run.to_string();
        let child =
            candidates.iter().find(|child| child.parent.as_ref() == Some(&id) && !child.is_ended);
        let why = match (child, run.workspace_id.as_deref().filter(|id| is_there(id))) {
            (Some(child), _) => Some(format!("its child {} has not ended", child.run_id)),
            (_, Some(workspace)) => Some(format!(
                "its workspace is still there (`agentos workspace clean {workspace}`)"
            )),
            _ => None,
        };
        if let Some(why) = why {
            report.kept.push(Kept { run_id: run.run_id.clone(), why });
            continue;
        }
        let is_elsewhere = rules.others.may_know(run.run);
        let project = run.work_dir.as_deref().filter(|_| !is_elsewhere);
        let folder = project.map(|project| RunFolder::new(Path::new(project), run.run).path());
        let bytes = folder.as_deref().map_or(0, |folder| folders::measure(folder).bytes);
        if report.dry_run || remove_run(store, run, folder.as_deref(), report).await? {
            report.removed.push(Removed {
                id: run.run,
                run_id: run.run_id.clone(),
                what: "run",
                bytes,
                is_elsewhere,
            });
        }
    }
    Ok(())
}

/// Removes one run with everything. Answers whether it went.
async fn remove_run(
    store: &SqliteStore,
    run: &Candidate,
    folder: Option<&Path>,
    report: &mut Report,
) -> Result<bool> {
    let failed = |path: &Path, error: &io::Error| {
        CommandError::failed(format!("{} can't be removed: {error}", path.display()))
    };
    let aside = folder.map(|folder| folder.with_file_name(format!("{PRUNED}{}", run.run)));
    if let (Some(folder), Some(aside)) = (folder, &aside) {
        match fs::rename(folder, aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(folder, &error));
            }
            _ => {}
        }
    }
    match store.delete_run(run.run).await {
        Ok(()) | Err(RecordError::NotFound { .. }) => {}
        Err(error) => {
            if let (Some(folder), Some(aside)) = (folder, &aside) {
                // If that fails, `db check --fix` does it.
                let _put_back = fs::rename(aside, folder);
            }
            report.kept.push(Kept { run_id: run.run_id.clone(), why: error.to_string() });
            return Ok(false);
        }
    }
    let commands = run_folder(&commands_folder(store.path()), run.run);
    for path in aside.into_iter().chain([commands]) {
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&path, &error));
            }
            _ => {}
        }
    }
    Ok(true)
}

/// Forgets the snapshots of runs that are gone (`refs/agentos/runs/…`). Outside of repositories there are none.
async fn forget_snapshots(session: &Session, store: &SqliteStore, gone: &[Removed]) {
    let Ok(desk) = Desk::open(session, store) else { return };
    let gone = gone.iter().filter(|removed| removed.what == "run" && !removed.is_elsewhere);
    let names: Vec<String> =
        gone.flat_map(|removed| [removed.id.to_string(), removed.run_id.clone()]).collect();
    let forgotten = desk.work(move |yard| {
        names.iter().try_for_each(|name| match yard.drop_snapshots(name) {
            Ok(_) => Ok(()),
            Err(error) => Err(CommandError::failed(error.to_string())),
        })
    });
    if let Err(error) = forgotten.await {
        session.output.note(&format!("snapshots of removed runs are left: {}", error.message));
    }
}

/// Removes log files and artifacts of runs that stay.
fn remove_parts<'a>(
    runs: impl Iterator<Item = &'a Candidate>,
    rules: &Rules<'_>,
    report: &mut Report,
) -> Result<()> {
    if rules.is_by_flag() {
        return Ok(());
    }
    let retention = &rules.session.config.retention;
    let parts = [("logs", retention.logs()), ("artifacts", retention.artifacts())];
    for run in runs.filter(|run| rules.is_meant(run)) {
        for (what, limit) in parts {
            let Some(project) = run.work_dir.as_deref().filter(|_| rules.is_older(run, limit))
            else {
                continue;
            };
            let folder = RunFolder::new(Path::new(project), run.run).path().join(what);
            let bytes = folders::measure(&folder).bytes;
            if bytes == 0 {
                continue;
            }
            if rules.others.may_know(run.run) {
                let why = format!("its {what} are those of another database too");
                report.kept.push(Kept { run_id: run.run_id.clone(), why });
                continue;
            }
            if !report.dry_run {
                empty(&folder).map_err(|error| {
                    CommandError::failed(format!("{} can't be removed: {error}", folder.display()))
                })?;
            }
            let (id, run_id) = (run.run, run.run_id.clone());
            report.removed.push(Removed { id, run_id, what, bytes, is_elsewhere: false });
        }
    }
    Ok(())
}

/// Removes everything in a folder, after a word that this was meant.
fn empty(folder: &PathBuf) -> io::Result<()> {
    fs::write(folder.join(REMOVED), "")?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == REMOVED {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

fn lines(report: &Report) -> Vec<String> {
    let verb = if report.dry_run { "would remove" } else { "removed" };
    let mut lines: Vec<String> = Vec::new();
    for Removed { run_id, what, bytes, is_elsewhere, .. } in &report.removed {
        let size = bytes::size(*bytes);
        lines.push(match *what {
            "run" if *is_elsewhere => {
                format!("{verb} {run_id} (its files stay: another database has it too)")
            }
            "run" => format!("{verb} {run_id} ({size} of files)"),
            what => format!("{verb} the {what} of {run_id} ({size})"),
        });
    }
    for Kept { run_id, why } in &report.kept {
        lines.push(format!("kept {run_id}: {why}"));
    }
    let runs = report.removed.iter().filter(|removed| removed.what == "run").count();
    let freed = bytes::size(report.freed);
    lines.push(match report.dry_run {
        true => format!("{} would go, and {freed} of files", counted(runs, "run")),
        false => format!("{} gone, {freed} freed", counted(runs, "run")),
    });
    if !report.dry_run && runs > 0 && !report.reclaimed {
        lines.push("somebody is at work in the database: its file shrinks another time".to_owned());
    }
    lines
}
