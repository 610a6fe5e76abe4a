//! One page of runs, as a document or as a table.

use agentos_core::time::Timestamp;
use agentos_store::unified::{UnifiedListing, UnifiedRun, Unreadable};
use serde::Serialize;

use super::{Args, rows};
use crate::error::Result;
use crate::session::Session;

/// A list as every interface writes it.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    items: &'a [UnifiedRun],
    page: u32,
    limit: u16,
    total: u64,
    next: Option<&'a str>,
    unreadable: &'a [Unreadable],
}

pub(crate) fn document<'a>(args: &Args, listing: &'a UnifiedListing) -> Result<Document<'a>> {
    Ok(Document {
        items: &listing.runs,
        page: args.page,
        limit: args.limit,
        total: listing.total.unwrap_or(0),
        next: listing.next.as_ref().map(|next| next.0.as_str()),
        unreadable: &listing.unreadable,
    })
}

/// Runs that have ended longer ago than this are left out unless one asks for all.
const RECENT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Whether a run is shown to people who have not asked for old ones.
pub(super) fn is_shown(args: &Args, run: &UnifiedRun, now: Timestamp) -> bool {
    let ended = run.run.completed_at.unwrap_or(now);
    let is_asked_for = args.all || !args.status.is_empty() || args.since.is_some();
    is_asked_for || now.0 - ended.0 < RECENT_MS
}

pub(super) fn show(
    session: &Session,
    args: &Args,
    listing: &UnifiedListing,
    now: Timestamp,
) -> Result<()> {
    let is_shown = |run: &&UnifiedRun| is_shown(args, run, now);
    let runs: Vec<&UnifiedRun> = listing.runs.iter().filter(is_shown).collect();
    if runs.is_empty() {
        let is_some_asked =
            args.workflow.is_some() || args.worktree.is_some() || args.since.is_some();
        let is_some_asked = is_some_asked || !args.status.is_empty() || args.after.is_some();
        session.output.note(match (listing.runs.is_empty(), is_some_asked || args.page > 1) {
            (true, false) => "no runs; `agentos workflows` lists what can be started",
            (true, true) => "no run is like that; `agentos status --all` lists every run",
            (false, _) => "no runs in the last week; `agentos status --all` lists older ones",
        });
        return Ok(());
    }
    let output = &session.output;
    let table = rows::table(runs.iter().copied(), now);
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    let before = u64::from(args.page - 1) * u64::from(args.limit);
    let seen = before + listing.runs.len() as u64;
    let more = listing.total.unwrap_or(0).saturating_sub(seen);
    if let Some(next) = &listing.next {
        output.note(&match args.after {
            Some(_) => format!("there are more; `--after {}` shows the next", next.0),
            None => format!("{more} more; `--page {}` shows the next", args.page + 1),
        });
    }
    Ok(())
}
