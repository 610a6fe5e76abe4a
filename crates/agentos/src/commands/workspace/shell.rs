//! `agentos workspace shell`: the user's shell in a workspace.

use std::ffi::OsString;
use std::process::ExitCode;

use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::verify::verify;

use super::{inside, not_found};
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workspace
    id: String,

    /// Allow the `.envrc` of the workspace as it is
    #[arg(long)]
    allow_direnv: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let id: WorkspaceId =
        args.id.parse().map_err(|error| CommandError::usage(format!("{error}")))?;
    let Some(_) = Desk::settled(session).await? else { return Err(not_found(&args.id)) };
    let opened = session.open()?;
    let desk = Desk::open(session, &opened.store)?;
    let found = desk.find(&id).await?;
    let workspace =
        found.filter(|found| found.state.is_there()).ok_or_else(|| not_found(&args.id))?;
    verify(&session.surroundings, &workspace)
        .map_err(|error| CommandError::refused(error.to_string()))?;
    let desk = desk.of(&workspace)?;
    let shell = session.surroundings.variable("SHELL").unwrap_or("/bin/sh".as_ref());
    let words: [OsString; 1] = [shell.to_owned()];
    session.output.note(&format!("in {}; `exit` leaves it", workspace.path.display()));
    let env = inside::direnv(session, &workspace, args.allow_direnv)?;
    inside::execute(session, &desk, (workspace, env), &words).await
}
