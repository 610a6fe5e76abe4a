//! `agentos token revoke`: a token is taken back. What it has opened is closed by the server within seconds.

use std::process::ExitCode;

use super::{refused, registry};
use crate::error::{CommandError, Result};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The token: its id, or its name
    token: String,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let revoked = registry(session)?.revoke_token(&args.token).map_err(|error| refused(&error))?;
    match revoked {
        Some(token) => {
            session.output.note(&format!("{} ({}) is revoked", token.name, token.id));
            Ok(ExitCode::SUCCESS)
        }
        None => Err(CommandError::not_found(format!("there is no token {}", args.token))
            .hint("`agentos token list` shows what there is")),
    }
}
