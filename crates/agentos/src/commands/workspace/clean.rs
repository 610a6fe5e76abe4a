//! `agentos workspace clean`: removes workspaces from which nothing would be lost; by force others too, after a backup.

use std::process::ExitCode;

use agentos_workspace::workspace::Workspace;
use serde_json::{Value, json};

use super::not_found;
use crate::error::{CommandError, ErrorKind, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;
use crate::workspace::removal;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workspaces
    #[arg(required_unless_present = "all")]
    ids: Vec<String>,

    /// All of them
    #[arg(long, conflicts_with = "ids")]
    all: bool,

    /// Back up what would be lost, and remove it all the same
    #[arg(long)]
    force: bool,

    /// Only tell what would be lost
    #[arg(long)]
    dry_run: bool,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Some(_) = Desk::settled(session).await? else { return nothing(session, args) };
    let opened = session.open()?;
    let desk = Desk::open(session, &opened.store)?;
    let chosen = chosen(&desk, args).await?;
    if chosen.is_empty() {
        return nothing(session, args);
    }
    if args.dry_run {
        return look(session, args, &desk, chosen).await;
    }
    let mut outcomes = Vec::new();
    for workspace in chosen {
        let outcome = removal::clean(&desk, workspace, args.force).await?;
        if !args.json {
            session.output.lines(outcome.lines())?;
        }
        outcomes.push(outcome);
    }
    if args.json {
        let items: Vec<Value> = outcomes.iter().map(removal::Outcome::document).collect();
        session.output.document(&json!({ "items": items, "total": items.len() }))?;
    }
    removal::sweep_later(session, desk.root());
    // The worst of them: what was refused, and before that what went wrong.
    let failures: Vec<ErrorKind> = outcomes.iter().filter_map(removal::Outcome::failure).collect();
    let is = |kind: ErrorKind| failures.contains(&kind);
    let worst = [ErrorKind::Unusable, ErrorKind::Failed, ErrorKind::Refused, ErrorKind::NotFound];
    let worst = worst.into_iter().find(|kind| is(*kind));
    Ok(worst.map_or(ExitCode::SUCCESS, |kind| CommandError::new(kind, "").exit_code()))
}

/// Which are meant. Those that were adopted are not ours, and go with `--all` only by name.
async fn chosen(desk: &Desk, args: &Args) -> Result<Vec<Workspace>> {
    let mut there = desk.all().await?;
    there.retain(|workspace| workspace.state.is_there());
    if args.all {
        there.retain(|workspace| !workspace.is_adopted);
        return Ok(there);
    }
    let find = |id: &String| {
        let found = there.iter().find(|workspace| workspace.id.as_str() == *id);
        found.cloned().ok_or_else(|| not_found(id))
    };
    args.ids.iter().map(find).collect()
}

async fn look(
    session: &Session,
    args: &Args,
    desk: &Desk,
    chosen: Vec<Workspace>,
) -> Result<ExitCode> {
    let mut items = Vec::new();
    for workspace in chosen {
        let desk = desk.clone().at(&workspace)?;
        let keeping = desk.keeping();
        let verdict = desk.work(move |yard| yard.look(&workspace, &keeping)).await?;
        if !args.json {
            session.output.lines([verdict.to_string()])?;
        }
        items.push(json!({ "workspace_id": verdict.workspace_id, "verdict": verdict }));
    }
    if args.json {
        session.output.document(&json!({ "items": items, "total": items.len() }))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(session: &Session, args: &Args) -> Result<ExitCode> {
    if let Some(id) = args.ids.first() {
        return Err(not_found(id));
    }
    if args.json {
        session.output.document(&json!({ "items": [], "total": 0 }))?;
    } else {
        session.output.note("no workspaces");
    }
    Ok(ExitCode::SUCCESS)
}
