//! `agentos workspace adopt`: takes in a worktree that the user has made.

use std::path::PathBuf;
use std::process::ExitCode;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_workspace::workspace::adopt::AdoptError;
use agentos_workspace::workspace::id::WorkspaceId;

use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::start;
use crate::workspace::desk::Desk;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The worktree
    path: PathBuf,

    /// Its id as a workspace (default: the name of its folder)
    #[arg(long)]
    id: Option<String>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let folder = session.surroundings.cwd.clone().unwrap_or_default();
    let path = folder.join(&args.path);
    let path = path.canonicalize().map_err(|error| {
        CommandError::not_found(format!("{} can't be looked at: {error}", path.display()))
    })?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let text = args.id.clone().or(name).unwrap_or_default();
    let id: WorkspaceId = text.parse().map_err(|error| {
        CommandError::usage(format!("{error}")).hint("name another id with `--id`")
    })?;
    let opened = session.open()?;
    let prepared = start::adopt(&opened.store, session.location()?, opened.prepared).await?;
    start::register_project(&opened.store, &prepared).await?;
    let desk = Desk::open(session, &opened.store)?;
    let workspace = desk.work(move |yard| yard.adopt(&path, &id, SystemClock.now())).await?;
    session.output.lines([workspace.id.to_string()])?;
    session.output.note(match workspace.is_adopted {
        true => "it stays yours: AgentOS does not remove it",
        false => "AgentOS has made it itself, and removes it when it is told to (`agentos workspace clean`)",
    });
    Ok(ExitCode::SUCCESS)
}

impl From<AdoptError> for CommandError {
    fn from(error: AdoptError) -> Self {
        match error {
            AdoptError::Unsuitable { .. } => Self::usage(error.to_string()),
            AdoptError::IdTaken { .. } => Self::refused(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}
