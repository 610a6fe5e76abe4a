//! `agentos workspace gc`: removes workspaces that are larger, older or more than they may be, and backups that are older.
//! Without limits, none.

mod backups;

use std::process::ExitCode;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_workspace::workspace::limits::{self, Limits, Weighed, Why};
use agentos_workspace::workspace::verdict::size;
use serde_json::{Value, json};

use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;
use crate::workspace::removal;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only tell what would be removed, and why
    #[arg(long)]
    dry_run: bool,

    /// Back up what would be lost, and remove it all the same
    #[arg(long)]
    force: bool,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let limits = session.config.workspace.keeping.limits();
    let has_limits =
        limits != Limits::default() || session.config.workspace.keeping.keep_backups_ms().is_some();
    let mut items: Vec<Value> = Vec::new();
    if has_limits && let Some(_) = session.look()? {
        let opened = session.open()?;
        let desk = Desk::open(session, &opened.store)?;
        for (weighed, why) in over(&desk, limits).await? {
            items.push(one(session, args, &desk, (weighed, why)).await?);
        }
        items.extend(backups::remove_old(session, args, &desk).await?);
        removal::sweep_later(session, desk.root());
    } else if !args.json {
        session.output.note("no limits are set (workspace.max_size, max_total_size, max_age, min_free_disk, keep_backups): nothing goes");
    }
    if args.json {
        session.output.document(&json!({ "items": items, "total": items.len() }))?;
    } else if items.is_empty() && has_limits {
        session.output.note("all workspaces are within their limits");
    }
    Ok(ExitCode::SUCCESS)
}

/// Which have to go.
async fn over(desk: &Desk, limits: Limits) -> Result<Vec<(Weighed, Why)>> {
    let mut there = desk.all().await?;
    there.retain(|workspace| {
        let is_idle = workspace.state != agentos_workspace::workspace::State::InUse;
        workspace.state.is_there() && is_idle && !workspace.is_adopted && workspace.path.is_dir()
    });
    let root = desk.root().to_owned();
    let weighed = tokio::task::spawn_blocking(move || -> std::io::Result<_> {
        let free = if root.is_dir() { limits::free_bytes(&root)? } else { u64::MAX };
        let weighed: std::io::Result<Vec<Weighed>> = there.into_iter().map(Weighed::of).collect();
        Ok(limits::over(&limits, weighed?, (SystemClock.now(), free)))
    });
    let failed =
        |error: String| CommandError::failed(format!("workspaces can't be weighed: {error}"));
    let weighed = weighed.await.map_err(|error| failed(error.to_string()))?;
    weighed.map_err(|error| failed(error.to_string()))
}

/// Removes one, unless only asked about; what became of it.
async fn one(
    session: &Session,
    args: &Args,
    desk: &Desk,
    (weighed, why): (Weighed, Why),
) -> Result<Value> {
    let told = format!("{}: {} ({})", weighed.workspace.id, size(weighed.bytes), why.key());
    let reason = json!({ "bytes": weighed.bytes, "why": why });
    let id = weighed.workspace.id.clone();
    if args.dry_run {
        if !args.json {
            session.output.lines([told])?;
        }
        return Ok(json!({ "workspace_id": id, "is_removed": false, "reason": reason }));
    }
    let outcome = removal::clean(desk, weighed.workspace, args.force).await?;
    if !args.json {
        session.output.lines([told])?;
        session.output.lines(outcome.lines())?;
    }
    let mut document = outcome.document();
    document["reason"] = reason;
    Ok(document)
}
