//! `agentos workspace restore`: brings a workspace back from a backup, at the identical path.

use std::process::ExitCode;

use agentos_workspace::workspace::id::WorkspaceId;
use serde_json::json;

use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workspace
    id: String,

    /// The number of the backup (default: the last one)
    snapshot: Option<u32>,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let id: WorkspaceId =
        args.id.parse().map_err(|error| CommandError::usage(format!("{error}")))?;
    // Backups are in the repository, so they are found also where the database knows nothing of them.
    let store = Desk::opened(session).await?;
    let mut desk = Desk::open(session, &store)?;
    if let Some(known) = desk.find(&id).await? {
        desk = desk.at(&known)?;
    }
    let number = args.snapshot;
    let (workspace, backup) = desk.work(move |yard| yard.restore(&id, number)).await?;
    if args.json {
        let document =
            json!({ "workspace_id": workspace.id, "path": workspace.path, "backup": backup });
        session.output.document(&document)?;
    } else {
        session.output.lines([workspace.path.display().to_string()])?;
        session.output.note(&format!("as it was in {}", backup.reference));
    }
    Ok(ExitCode::SUCCESS)
}
