//! `agentos db path`: where the database is, and why it is this one.

use std::process::ExitCode;

use crate::error::Result;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Also what was looked at, and why it is this one
    #[arg(long)]
    explain: bool,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let location = session.location()?;
    session.output.lines([location.database.to_string()])?;
    if args.explain {
        session.output.lines(location.explain().into_iter().map(|line| format!("  {line}")))?;
    }
    Ok(ExitCode::SUCCESS)
}
