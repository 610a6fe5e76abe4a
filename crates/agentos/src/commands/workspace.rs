//! `agentos workspace`: checkouts in which somebody works and nobody else.

mod adopt;
mod clean;
mod gc;
mod inside;
pub(crate) mod list;
mod restore;
mod run;
mod shell;
mod snapshot;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentos_process::detached::leave_the_terminal;
use agentos_workspace::workspace::trash;
use clap::Subcommand;

use crate::error::{Cause, CommandError, Result};
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
    /// Remove workspaces from which nothing would be lost; with --force, back up the others first
    Clean(clean::Args),
    /// Remove workspaces that are larger, older or more than the configuration allows
    Gc(gc::Args),
    /// Back a workspace up and leave it as it is
    Snapshot(snapshot::Args),
    /// Bring a workspace back from a backup, at the identical path
    Restore(restore::Args),
    /// Delete what is in the trash
    #[command(hide = true)]
    Sweep {
        /// The folder for all workspaces
        root: PathBuf,
    },
    /// Take in a worktree that you have made yourself; it is never removed by AgentOS
    Adopt(adopt::Args),
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.verb {
        Verb::Run(args) => run::run(session, args).await,
        Verb::Status(args) => status::run(session, args).await,
        Verb::List(args) => list::run(session, args).await,
        Verb::Shell(args) => shell::run(session, args).await,
        Verb::Clean(args) => clean::run(session, args).await,
        Verb::Gc(args) => gc::run(session, args).await,
        Verb::Snapshot(args) => snapshot::run(session, args).await,
        Verb::Restore(args) => restore::run(session, args).await,
        Verb::Sweep { root } => sweep(root),
        Verb::Adopt(args) => adopt::run(session, args).await,
    }
}

/// Deletes what is in the trash, however long that takes.
fn sweep(root: &Path) -> Result<ExitCode> {
    leave_the_terminal();
    let swept = trash::sweep(root)?;
    Ok(if swept.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn not_found(id: &str) -> CommandError {
    CommandError::not_found(format!("there is no workspace `{id}`"))
        .because(Cause::NoSuchWorkspace)
        .cli_hint("`agentos workspace list` lists them")
        .api_hint("`GET /api/workspaces` lists them")
}
