//! `agentos status`: the runs of this checkout's database.

use std::process::ExitCode;

use agentos_core::time::Timestamp;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::projection::{Waiting, WorkflowStatus};
use agentos_store::records::{Paging, Records as _, RunListing, RunQuery, RunRecord};
use serde::Serialize;
use serde_json::Value;

use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::terminal::mark::tone_of_run;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;
use crate::terminal::title::title;
use crate::terminal::{duration, moment, wait};

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

    /// Only runs of this worktree
    #[arg(long, value_name = "ID")]
    pub(crate) worktree: Option<String>,

    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,

    /// Which page of them
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) page: u32,

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

/// A list as every interface writes it.
#[derive(Serialize)]
struct Listing<T> {
    items: Vec<T>,
    page: u32,
    limit: u16,
    total: u64,
    next: Option<String>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match args.json {
        true => session.output.document(&document(session, args).await?)?,
        false => show(session, args, &listing(session, args).await?)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn listing(session: &Session, args: &Args) -> Result<RunListing> {
    Ok(match session.look()? {
        Some(store) => store.query_runs(query(args)).await?,
        None => RunListing { runs: Vec::new(), total: Some(0), next: None },
    })
}

/// The runs as every interface lists them.
pub(crate) async fn document(session: &Session, args: &Args) -> Result<impl Serialize> {
    let RunListing { runs, total, next } = listing(session, args).await?;
    Ok(Listing {
        items: runs.iter().map(without_values).collect::<Result<Vec<Value>>>()?,
        page: args.page,
        limit: args.limit,
        total: total.unwrap_or(0),
        next: next.map(|next| next.0),
    })
}

/// A listing leaves out what can be large.
fn without_values(run: &RunRecord) -> Result<Value> {
    let mut document =
        serde_json::to_value(run).map_err(|error| CommandError::failed(error.to_string()))?;
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|key, _| !matches!(key.as_str(), "input" | "output" | "state"));
    }
    Ok(document)
}

fn query(args: &Args) -> RunQuery {
    RunQuery {
        statuses: args.status.clone(),
        workflow: args.workflow.clone(),
        worktree: args.worktree.clone(),
        paging: Paging::Page(u64::from(args.page)),
        limit: usize::from(args.limit),
        with_total: true,
        ..RunQuery::default()
    }
}

/// Whoever attends to a run notices within so many milliseconds that its time has come.
const NOTICED_MS: i64 = 2_000;

/// Runs that have ended longer ago than this are left out unless one asks for all.
const RECENT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

fn show(session: &Session, args: &Args, listing: &RunListing) -> Result<()> {
    let now = SystemClock.now();
    let is_shown = |run: &&RunRecord| {
        let ended = run.completed_at.unwrap_or(now);
        args.all || !args.status.is_empty() || now.0 - ended.0 < RECENT_MS
    };
    let runs: Vec<&RunRecord> = listing.runs.iter().filter(is_shown).collect();
    if runs.is_empty() {
        session.output.note(match listing.runs.is_empty() {
            true => "no runs; `agentos workflows` lists what can be started",
            false => "no runs in the last week; `agentos status --all` lists older ones",
        });
        return Ok(());
    }
    let mut table = Table::new(&[
        Column::precious("RUN"),
        Column::precious("STATUS"),
        Column::text("STEP"),
        Column::text("STARTED"),
        Column::number("TIME"),
    ]);
    for run in &runs {
        table.row(row(run, now));
    }
    let output = &session.output;
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    let more = listing.total.unwrap_or(0).saturating_sub(listing.runs.len() as u64);
    if more > 0 && listing.next.is_some() {
        output.note(&format!("{more} more; `--page {}` shows the next", args.page + 1));
    }
    Ok(())
}

/// Whether the time of a wait has passed without anybody noticing: nobody attends to the run.
fn is_overdue(waiting: &Waiting, now: Timestamp) -> bool {
    waiting.until.is_some_and(|until| until.0.saturating_add(NOTICED_MS) < now.0)
}

fn row(run: &RunRecord, now: Timestamp) -> Vec<Line> {
    let status = match (run.interrupted, &run.waiting) {
        (true, _) => Line::of(Tone::Warning, "INTERRUPTED"),
        (false, Some(waiting)) if is_overdue(waiting, now) => Line::of(Tone::Warning, "OVERDUE"),
        (false, Some(waiting)) => Line::of(tone_of_run(run.status), run.status.as_str())
            .with(Tone::Faint, &format!(" ({})", wait::words(waiting, now))),
        (false, None) => Line::of(tone_of_run(run.status), run.status.as_str()),
    };
    let step = run.current_step.as_ref().map(title).unwrap_or_default();
    let started = run.started_at.map(|at| moment::seen_from(at, now)).unwrap_or_default();
    let taken = run.started_at.map(|at| run.completed_at.unwrap_or(now).0 - at.0);
    let taken = taken.map(duration::span).unwrap_or_default();
    vec![
        Line::of(Tone::Strong, &run.run_id),
        status,
        Line::of(Tone::Plain, &step),
        Line::of(Tone::Faint, &started),
        Line::of(Tone::Plain, &taken),
    ]
}
