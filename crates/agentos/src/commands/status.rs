//! `agentos status`: the runs of every worktree of this repository.

mod page;
mod rows;
mod watch;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use agentos_core::time::Timestamp;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::list::RunCursor;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{Paging, RunQuery};
use agentos_store::since;
use agentos_store::unified::{UnifiedListing, UnifiedRun, UnifiedView, Unreadable};
use agentos_workspace::workspace::limits::free_bytes;

pub(crate) use page::document;
pub(crate) use rows::{is_overdue, status_line};

use crate::error::Result;
use crate::overview::{self, Scope};
use crate::session::Session;

/// With less than this on its disk a database can't take a commit, in bytes.
const LEAST_FREE_BYTES: u64 = 64 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also runs that have ended a while ago
    #[arg(long, short)]
    pub(crate) all: bool,

    /// Only runs of this status (several: `--status FAILED --status RUNNING`)
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub(crate) status: Vec<WorkflowStatus>,

    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,

    /// Only runs of this worktree: its id, name or path
    #[arg(long, value_name = "WORKTREE")]
    pub(crate) worktree: Option<String>,

    /// Only runs that started since then: `30m`, `2h`, `3d`, a date, or a moment
    #[arg(long, value_name = "WHEN", value_parser = since::parse)]
    pub(crate) since: Option<since::Since>,

    /// Of every repository that you have used
    #[arg(long)]
    pub(crate) all_repos: bool,

    /// Go on and show what changes, whoever changes it
    #[arg(long, short, conflicts_with_all = ["page", "after"])]
    pub(crate) watch: bool,

    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,

    /// Which page of them
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) page: u32,

    /// Those behind this place: the `next` of another page, which new runs do not shift
    #[arg(long, value_name = "PLACE", conflicts_with = "page")]
    pub(crate) after: Option<String>,

    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn parse_status(text: &str) -> std::result::Result<WorkflowStatus, String> {
    WorkflowStatus::parse(&text.to_uppercase().replace('-', "_")).ok_or_else(|| {
        let names: Vec<&str> = WorkflowStatus::ALL.iter().map(|status| status.as_str()).collect();
        format!("there are {}", names.join(", "))
    })
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.watch {
        return watch::run(session, args, scope(args)).await;
    }
    let now = SystemClock.now();
    let listing = look(session, args, now).await?;
    if args.json {
        session.output.document(&document(args, &listing)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell_unreadable(session, &listing.unreadable);
    page::show(session, args, &listing, now)?;
    tell_full_disks(session, &listing.runs);
    Ok(ExitCode::SUCCESS)
}

/// Names databases on a full disk in which runs are at work: those wait for room, and can't write down that they do.
fn tell_full_disks(session: &Session, runs: &[UnifiedRun]) {
    let is_at_work =
        |run: &&UnifiedRun| run.run.status == WorkflowStatus::Running && run.run.waiting.is_none();
    let databases: BTreeSet<&Path> =
        runs.iter().filter(is_at_work).map(|run| run.database.as_path()).collect();
    for database in databases {
        let folder = database.parent().unwrap_or(database);
        if free_bytes(folder).is_ok_and(|free| free < LEAST_FREE_BYTES) {
            let path = database.display();
            session.output.note(&format!(
                "there is no room on the disk of {path}: its runs wait; make room, and they go on"
            ));
        }
    }
}

const fn scope(args: &Args) -> Scope {
    if args.all_repos { Scope::Everything } else { Scope::Repository }
}

/// The runs that are asked for, as they are now.
pub(crate) async fn look(session: &Session, args: &Args, now: Timestamp) -> Result<UnifiedListing> {
    listing(&overview::open(session, scope(args))?, args, now).await
}

async fn listing(view: &UnifiedView, args: &Args, now: Timestamp) -> Result<UnifiedListing> {
    Ok(view.query_runs(query(view, args, now)).await?)
}

fn query(view: &UnifiedView, args: &Args, now: Timestamp) -> RunQuery {
    let meant = args.worktree.as_ref();
    let worktree = meant.and_then(|meant| view.worktrees().find(meant));
    let id = worktree.and_then(|worktree| worktree.id.clone());
    RunQuery {
        statuses: args.status.clone(),
        workflow: args.workflow.clone(),
        // Many repositories have a `main`; which of them is told by the project.
        projects: worktree
            .filter(|_| args.all_repos)
            .and_then(|worktree| worktree.project)
            .into_iter()
            .collect(),
        // One that is gone, or not known here, may still have runs.
        worktree: id.or_else(|| meant.cloned()),
        since: args.since.map(|since| since.moment(now)),
        paging: match &args.after {
            Some(after) => Paging::After(RunCursor(after.clone())),
            None => Paging::Page(u64::from(args.page)),
        },
        limit: usize::from(args.limit),
        with_total: true,
        ..RunQuery::default()
    }
}

/// Names what is missing from the answer.
pub(crate) fn tell_unreadable(session: &Session, unreadable: &[Unreadable]) {
    for missing in unreadable {
        let Unreadable { path, reason } = missing;
        let path = path.display().to_string();
        // Most reasons begin with the file.
        let about = if reason.contains(&path) { String::new() } else { format!("{path}: ") };
        session.output.note(&format!("its runs are not shown: {about}{reason}"));
    }
}
