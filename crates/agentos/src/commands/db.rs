//! `agentos db`: the checkpoint database.

mod backup;
mod check;
mod link;
mod migrate;
mod path;
mod prune;
mod unlink;

use std::process::ExitCode;

use clap::Subcommand;

use crate::error::Result;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print where the database is
    Path(path::Args),
    /// Have this checkout use another one's database
    Link(link::Args),
    /// Have this checkout use a database of its own again
    Unlink(unlink::Args),
    /// Copy runs with their files from another database; that one is not changed
    Migrate(migrate::Args),
    /// Copy the database to a file, also while runs are at work
    Backup(backup::Args),
    /// Look the database through, and what lies beside it
    Check(check::Args),
    /// Remove runs that are over and old
    Prune(prune::Args),
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.verb {
        Verb::Path(args) => path::run(session, args),
        Verb::Link(args) => link::run(session, args).await,
        Verb::Unlink(args) => unlink::run(session, args).await,
        Verb::Migrate(args) => migrate::run(session, args).await,
        Verb::Backup(args) => backup::run(session, args).await,
        Verb::Check(args) => check::run(session, args).await,
        Verb::Prune(args) => prune::run(session, args).await,
    }
}

/// Whoever has named a database with the variable uses that one, linked or not.
fn note_variable(session: &Session) {
    let variable = agentos_workspace::named::VARIABLE;
    if session.surroundings.variable(variable).is_some() {
        session.output.note(&format!("{variable} is set, and decides while it is"));
    }
}
