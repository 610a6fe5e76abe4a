//! `agentos workspace status`: whether workspaces are what they should be; with an id, the metadata file as it is.

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use agentos_engine::workspaces::workspace_of;
use agentos_store::records::Records as _;
use agentos_workspace::metadata;
use agentos_workspace::workspace::verify::{VerifyError, verify};
use agentos_workspace::workspace::{State, Workspace, changes};
use serde_json::{Value, json};

use super::not_found;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workspace whose metadata file is printed
    id: Option<String>,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let rows = match Desk::settled(session).await? {
        Some(store) => store.workspaces().await?,
        None => Vec::new(),
    };
    let mut workspaces: Vec<Workspace> = rows.iter().filter_map(workspace_of).collect();
    if let Some(id) = &args.id {
        let found = workspaces.iter().find(|workspace| workspace.id.as_str() == *id);
        return print_file(session, found.ok_or_else(|| not_found(id))?);
    }
    workspaces.retain(|workspace| workspace.state != State::Gone);
    let told: Vec<Value> = workspaces.iter().map(|found| standing(session, found)).collect();
    if args.json {
        session.output.document(&json!({ "items": told, "total": told.len() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (workspace, told) in workspaces.iter().zip(&told) {
        let branch = workspace.branch.as_deref().unwrap_or("no branch");
        session.output.lines([
            format!("{}  {}  {}", workspace.id, workspace.kind, workspace.state.as_str()),
            format!("  {}", workspace.path.display()),
            format!("  {branch}, from {}", workspace.base.get(..12).unwrap_or(&workspace.base)),
            format!("  {}", told["is"].as_str().unwrap_or_default()),
        ])?;
    }
    if workspaces.is_empty() {
        session.output.note("no workspaces");
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether nothing is at a path.
pub(super) fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The file as it is, whatever is in it.
fn print_file(session: &Session, workspace: &Workspace) -> Result<ExitCode> {
    if workspace.state.is_there() && is_missing(&workspace.path) {
        let message = VerifyError::Missing { path: workspace.path.clone() }.to_string();
        return Err(CommandError::not_found(message).hint(format!(
            "if you have moved it, move it back; if it is lost, `agentos workspace run {} -- true` makes it again from its \
             branch",
            workspace.id
        )));
    }
    let file = workspace.path.join(metadata::FILE);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        CommandError::not_found(format!("{} can't be read: {error}", file.display()))
            .hint(format!("the workspace is {}", workspace.state.as_str()))
    })?;
    session.output.lines(text.lines())?;
    Ok(ExitCode::SUCCESS)
}

/// How a workspace stands, for people and for programs.
fn standing(session: &Session, workspace: &Workspace) -> Value {
    let is = match verify(&session.surroundings, workspace) {
        Err(VerifyError::Missing { .. }) => "its folder is gone".to_owned(),
        Err(error) => error.to_string(),
        Ok(_) => match changes::count(&session.surroundings, &workspace.path) {
            Ok(0) => "nothing uncommitted".to_owned(),
            Ok(1) => "1 file with uncommitted changes".to_owned(),
            Ok(count) => format!("{count} files with uncommitted changes"),
            Err(error) => error.to_string(),
        },
    };
    json!({
        "id": workspace.id,
        "kind": workspace.kind,
        "state": workspace.state,
        "path": workspace.path,
        "branch": workspace.branch,
        "base": workspace.base,
        "run": workspace.run,
        "is_adopted": workspace.is_adopted,
        "is": is,
    })
}
