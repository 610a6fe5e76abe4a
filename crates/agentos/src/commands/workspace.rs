//! `agentos workspace`: checkouts in which somebody works and nobody else.

mod adopt;
mod inside;
mod list;
mod run;
mod shell;
mod status;

use std::process::ExitCode;

use clap::Subcommand;

use crate::error::{CommandError, Result};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Execute a command in a workspace, which is made if there is none of this id
    Run(run::Args),
    /// Tell how workspaces stand; with an id, print the workspace's metadata file
    Status(status::Args),
    /// List workspaces
    List(list::Args),
    /// Open a shell in a workspace
    Shell(shell::Args),
    /// Take in a worktree that you have made yourself; it is never removed by AgentOS
    Adopt(adopt::Args),
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.verb {
        Verb::Run(args) => run::run(session, args).await,
        Verb::Status(args) => status::run(session, args).await,
        Verb::List(args) => list::run(session, args).await,
        Verb::Shell(args) => shell::run(session, args).await,
        Verb::Adopt(args) => adopt::run(session, args).await,
    }
}

fn not_found(id: &str) -> CommandError {
    CommandError::not_found(format!("there is no workspace `{id}`"))
        .hint("`agentos workspace list` lists them")
}
