//! `agentos workspace gc`: removes workspaces that are larger, older or more than they may be, and backups that are older.
//! Without limits, none.

mod backups;

use std::collections::BTreeSet;
use std::process::ExitCode;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_workspace::workspace::State;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::limits::{self, Limits, Weighed, Why};
use agentos_workspace::workspace::verdict::size;
use serde_json::{Value, json};

use crate::error::{CommandError, ErrorKind, Result};
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
    let (mut items, mut unreached) = (Vec::new(), Unreached::default());
    if has_limits && let Some(_) = session.look()? {
        let opened = session.open()?;
        let desk = Desk::open(session, &opened.store)?;
        let (weighed, free) = weigh(&desk).await?;
        (items, unreached) = reduce(session, args, &desk, limits, (weighed, free)).await?;
        items.extend(backups::remove_old(session, args, &desk).await?);
        removal::sweep_later(session, desk.root());
    } else if !args.json {
        session.output.note("no limits are set (workspace.max_size, max_total_size, max_age, min_free_disk, keep_backups): nothing goes");
    }
    let Unreached { limits, in_use } = unreached;
    let keys: Vec<&str> = limits.iter().map(|why| why.key()).collect();
    if args.json {
        let total = items.len();
        let document =
            json!({ "items": items, "total": total, "unreached": keys, "in_use": in_use });
        session.output.document(&document)?;
    } else if items.is_empty() && keys.is_empty() && has_limits {
        session.output.note("all workspaces are within their limits");
    }
    if keys.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = if args.dry_run { "would not be reached" } else { "could not be reached" };
    let mut message = format!("{} {outcome}", keys.join(", "));
    if !in_use.is_empty() {
        let in_use: Vec<&str> = in_use.iter().map(WorkspaceId::as_str).collect();
        message.push_str(&format!("; in use: {}", in_use.join(", ")));
    }
    let refused = CommandError::refused(message);
    let is_left = items.iter().any(|item| !item["error"].is_null());
    Err(if args.force || !is_left {
        refused.hint("end what works in the workspaces that are left, or raise the limit")
    } else {
        refused.hint("`--force` backs up what would be lost, and removes it")
    })
}

/// The limits that are exceeded in the end.
#[derive(Default)]
struct Unreached {
    limits: Vec<Why>,
    /// The workspaces that count for them and are in use.
    in_use: Vec<WorkspaceId>,
}

/// What those take that count, and what is free on their disk.
async fn weigh(desk: &Desk) -> Result<(Vec<Weighed>, u64)> {
    let mut there = desk.all().await?;
    there.retain(|workspace| {
        workspace.state.is_there() && !workspace.is_adopted && workspace.path.is_dir()
    });
    let root = desk.root().to_owned();
    let weighed = tokio::task::spawn_blocking(move || -> std::io::Result<_> {
        let free = if root.is_dir() { limits::free_bytes(&root)? } else { u64::MAX };
        let weighed: std::io::Result<Vec<Weighed>> = there.into_iter().map(Weighed::of).collect();
        Ok((weighed?, free))
    });
    let failed =
        |error: String| CommandError::failed(format!("workspaces can't be weighed: {error}"));
    let weighed = weighed.await.map_err(|error| failed(error.to_string()))?;
    weighed.map_err(|error| failed(error.to_string()))
}

/// Those that are in use: they count, and stay.
fn in_use(weighed: &[Weighed]) -> BTreeSet<WorkspaceId> {
    let in_use = weighed.iter().filter(|weighed| weighed.workspace.state == State::InUse);
    in_use.map(|weighed| weighed.workspace.id.clone()).collect()
}

/// Removes one after the other until the limits are kept, or none is left that can go; what became of each, and the limits that
/// are not kept. A dry run goes the same way, and takes each that could go for gone.
async fn reduce(
    session: &Session,
    args: &Args,
    desk: &Desk,
    limits: Limits,
    (mut there, mut free): (Vec<Weighed>, u64),
) -> Result<(Vec<Value>, Unreached)> {
    let (mut items, mut stay) = (Vec::new(), in_use(&there));
    while let Some((weighed, why)) = limits::next(&limits, &there, &stay, (SystemClock.now(), free))
    {
        let (told, reason) = (told(&weighed, why), reason(&weighed, why));
        let (id, bytes) = (weighed.workspace.id.clone(), weighed.bytes);
        let outcome = match args.dry_run {
            true => removal::judge(desk, weighed.workspace, args.force).await?,
            false => removal::clean(desk, weighed.workspace, args.force).await?,
        };
        if !args.json {
            session.output.lines([told])?;
            session.output.lines(outcome.lines())?;
        }
        match outcome.failure() {
            None | Some(ErrorKind::NotFound) => {
                there.retain(|other| other.workspace.id != id);
                free = free.saturating_add(bytes);
            }
            Some(_) => drop(stay.insert(id)),
        }
        let mut document = outcome.document();
        document["reason"] = reason;
        items.push(document);
    }
    let now = SystemClock.now();
    let exceeded = limits::exceeded(&limits, &there, (now, free));
    there.retain(|weighed| weighed.workspace.state == State::InUse);
    let in_use = limits::counting(&limits, &there, &exceeded, now);
    Ok((items, Unreached { limits: exceeded, in_use }))
}

fn told(weighed: &Weighed, why: Why) -> String {
    format!("{}: {} ({})", weighed.workspace.id, size(weighed.bytes), why.key())
}

fn reason(weighed: &Weighed, why: Why) -> Value {
    json!({ "bytes": weighed.bytes, "why": why })
}
