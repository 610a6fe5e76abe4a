//! `agentos workspace list`: which workspaces there are.

use std::process::ExitCode;

use agentos_engine::workspaces::workspace_of;
use agentos_store::moment::written;
use agentos_store::records::{Records as _, Workspace as Row};
use agentos_workspace::workspace::{State, Workspace};
use serde_json::{Value, json};

use super::status::is_missing;
use crate::error::Result;
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;
use crate::workspace::desk::Desk;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also those that are gone
    #[arg(long)]
    all: bool,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let rows = rows(session, args.all).await?;
    if args.json {
        session.output.document(&document(&rows))?;
        return Ok(ExitCode::SUCCESS);
    }
    let workspaces: Vec<Workspace> = rows.iter().filter_map(workspace_of).collect();
    if workspaces.is_empty() {
        session
            .output
            .note("no workspaces; runs get one each, and `agentos workspace run` makes one");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        Column::precious("WORKSPACE"),
        Column::text("KIND"),
        Column::text("STATE"),
        Column::text("BRANCH"),
        Column::text("PATH"),
    ]);
    for workspace in &workspaces {
        table.row(row(workspace));
    }
    let output = &session.output;
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    Ok(ExitCode::SUCCESS)
}

/// The workspaces that are there, or all that there ever were.
pub(crate) async fn rows(session: &Session, all: bool) -> Result<Vec<Row>> {
    let rows = match Desk::settled(session).await? {
        Some(store) => store.workspaces().await?,
        None => Vec::new(),
    };
    Ok(shown(rows, all).collect())
}

/// Those that are there, or all.
pub(crate) fn shown(rows: Vec<Row>, all: bool) -> impl Iterator<Item = Row> {
    let is_shown = move |row: &Row| all || row.status.as_str() != State::Gone.as_str();
    rows.into_iter().filter(is_shown)
}

/// Workspaces as every interface lists them.
pub(crate) fn document(rows: &[Row]) -> Value {
    let items: Vec<Value> = rows.iter().map(item).collect();
    json!({ "items": items, "total": items.len() })
}

/// A workspace as every interface shows it: what is only of use to ourselves stays where it is.
pub(crate) fn item(row: &Row) -> Value {
    let known = workspace_of(row);
    let known = known.as_ref();
    json!({
        "id": row.id,
        "project_id": row.project_id,
        "execution_id": known.and_then(|known| known.run.as_deref()),
        "kind": row.kind,
        "status": row.status,
        "path": row.path,
        "repository": known.map(|known| &known.repository),
        "branch": row.branch,
        "base": row.base,
        "is_adopted": known.is_some_and(|known| known.is_adopted),
        "version": row.version,
        "created_at": written(row.created_at),
        "updated_at": written(row.updated_at),
    })
}

fn row(workspace: &Workspace) -> Vec<Line> {
    let kind = match workspace.is_adopted {
        true => format!("{} (yours)", workspace.kind),
        false => workspace.kind.to_string(),
    };
    let state = match workspace.state.is_there() && is_missing(&workspace.path) {
        true => format!("{}, its folder is gone", workspace.state.as_str()),
        false => workspace.state.as_str().to_owned(),
    };
    vec![
        Line::of(Tone::Strong, workspace.id.as_str()),
        Line::of(Tone::Plain, &kind),
        Line::of(Tone::Plain, &state),
        Line::of(Tone::Plain, workspace.branch.as_deref().unwrap_or_default()),
        Line::of(Tone::Faint, &workspace.path.to_string_lossy()),
    ]
}
