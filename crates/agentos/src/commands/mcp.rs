//! `agentos mcp`: coding agents ask what runs where, over the Model Context Protocol.

use std::process::ExitCode;

use crate::error::Result;
use crate::mcp::{self, Allowed, Permission};
use crate::session::Session;

/// What `--help` says beside the options.
const SETUP: &str = "\
Set it up once, in the worktree or for all of them:
  claude mcp add agentos -- agentos mcp
  codex mcp add agentos -- agentos mcp
  gemini mcp add agentos agentos mcp

Reading and commenting is always possible. Starting and signalling has to be allowed, here or with
`[mcp] allow = [\"run\", \"signal\"]` in the configuration; approving only here, and never to what a run has started.";

#[derive(Debug, clap::Args)]
#[command(after_help = SETUP)]
pub(crate) struct Args {
    /// What agents may do beside reading and commenting (several: `--allow run,signal`)
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    allow: Vec<Permission>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let allowed = match args.allow.is_empty() {
        true => Allowed::new(&session.config.mcp.allow.value),
        false => Allowed::new(&args.allow),
    };
    mcp::serve(session, allowed).await?;
    Ok(ExitCode::SUCCESS)
}
