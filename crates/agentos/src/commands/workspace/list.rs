//! `agentos workspace list`: which workspaces there are.

use std::path::Path;
use std::process::ExitCode;

use agentos_core::id::RunId;
use agentos_engine::workspaces::workspace_of;
use agentos_store::backend::BackendError;
use agentos_store::counterpart::{Counterpart, Counterparts};
use agentos_store::moment::written;
use agentos_store::records::{Records as _, Workspace as Row};
use agentos_store::sqlite::SqliteStore;
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
    if rows.iter().all(|listed| workspace_of(&listed.row).is_none()) {
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
    for listed in &rows {
        if let Some(workspace) = workspace_of(&listed.row) {
            table.row(row(&workspace, listed));
        }
    }
    let output = &session.output;
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    Ok(ExitCode::SUCCESS)
}

/// A workspace as it is written down in a database.
#[derive(Debug, Clone)]
pub(crate) struct ListedWorkspace {
    pub(crate) row: Row,
    /// The other database that the run goes on in that works in it, if not in this one.
    elsewhere: Option<Counterpart>,
}

impl ListedWorkspace {
    pub(crate) fn new(row: Row, database: &Path) -> Self {
        let run = workspace_of(&row).filter(|known| known.state == State::InUse);
        let run = run.and_then(|known| known.run?.parse().ok());
        let elsewhere =
            run.and_then(|run| Counterparts::of(database).find(RunId(run)).ok().flatten());
        Self { row, elsewhere }
    }
}

/// The workspaces that are there, or all that there ever were.
pub(crate) async fn rows(session: &Session, all: bool) -> Result<Vec<ListedWorkspace>> {
    Ok(match Desk::settled(session).await? {
        Some(store) => shown(&store, all).await?,
        None => Vec::new(),
    })
}

/// Those of a database that are there, or all.
pub(crate) async fn shown(
    store: &SqliteStore,
    all: bool,
) -> std::result::Result<Vec<ListedWorkspace>, BackendError> {
    let rows = store.workspaces().await?.into_iter();
    let rows = rows.filter(|row| all || row.status.as_str() != State::Gone.as_str());
    Ok(rows.map(|row| ListedWorkspace::new(row, store.path())).collect())
}

/// Workspaces as every interface lists them.
pub(crate) fn document(rows: &[ListedWorkspace]) -> Value {
    let items: Vec<Value> = rows.iter().map(item).collect();
    json!({ "items": items, "total": items.len() })
}

/// A workspace as every interface shows it: what is only of use to ourselves stays where it is.
pub(crate) fn item(ListedWorkspace { row, elsewhere }: &ListedWorkspace) -> Value {
    let known = workspace_of(row);
    let known = known.as_ref();
    json!({
        "id": row.id,
        "project_id": row.project_id,
        "execution_id": known.and_then(|known| known.run.as_deref()),
        "elsewhere": elsewhere,
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

fn row(workspace: &Workspace, listed: &ListedWorkspace) -> Vec<Line> {
    let kind = match workspace.is_adopted {
        true => format!("{} (yours)", workspace.kind),
        false => workspace.kind.to_string(),
    };
    let mut state = workspace.state.as_str().to_owned();
    if workspace.state.is_there() && is_missing(&workspace.path) {
        state.push_str(", its folder is gone");
    }
    if let Some(other) = &listed.elsewhere {
        state.push_str(&format!(" by a run {other}"));
    }
    vec![
        Line::of(Tone::Strong, workspace.id.as_str()),
        Line::of(Tone::Plain, &kind),
        Line::of(Tone::Plain, &state),
        Line::of(Tone::Plain, workspace.branch.as_deref().unwrap_or_default()),
        Line::of(Tone::Faint, &workspace.path.to_string_lossy()),
    ]
}
