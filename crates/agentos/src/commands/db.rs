//! `agentos db`: the checkpoint database.

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
    Path {
        /// Also what was looked at, and why it is this one
        #[arg(long)]
        explain: bool,
    },
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Verb::Path { explain } = args.verb;
    let location = session.location()?;
    session.output.lines([location.database.to_string()])?;
    if explain {
        session.output.lines(location.explain().into_iter().map(|line| format!("  {line}")))?;
    }
    Ok(ExitCode::SUCCESS)
}
