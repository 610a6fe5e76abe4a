//! `agentos top`: every run of every worktree on the whole screen, live.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use crate::error::{CommandError, Result};
use crate::overview::Scope;
use crate::session::Session;
use crate::terminal::live;
use crate::top;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Of every repository that you have used
    #[arg(long)]
    all_repos: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let is_terminal = session.output.size.is_some() && std::io::stdin().is_terminal();
    if !live::is_possible(&session.surroundings.environment, is_terminal) {
        return Err(CommandError::usage("this is no terminal that can be drawn on")
            .hint("`agentos status --watch` tells of changes line by line"));
    }
    let scope = if args.all_repos { Scope::Everything } else { Scope::Repository };
    top::run(session, scope).await
}
