//! `agentos token`: who may use the server from elsewhere.

mod create;
mod list;
mod revoke;

use std::process::ExitCode;

use agentos_core::time::Timestamp;
use agentos_store::moment::written;
use agentos_store::registry::{KnownToken, Registry, RegistryError};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::error::{CommandError, Result};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a token; it is shown once, and never again
    Create(create::Args),
    /// List tokens
    List(list::Args),
    /// Take a token back, and close what it has opened
    Revoke(revoke::Args),
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.verb {
        Verb::Create(args) => create::run(session, args),
        Verb::List(args) => list::run(session, args),
        Verb::Revoke(args) => revoke::run(session, args),
    }
}

fn registry(session: &Session) -> Result<Registry> {
    let file = session.surroundings.registry_file().ok_or_else(|| {
        CommandError::failed("there is no place for tokens, because there is no home")
            .hint("set HOME or XDG_STATE_HOME")
    })?;
    Ok(Registry::at(file))
}

fn refused(error: &RegistryError) -> CommandError {
    CommandError::failed(error.to_string())
}

/// A token as documents have it: never with its secret.
fn document(token: &KnownToken, now: Timestamp) -> Value {
    json!({
        "id": token.id,
        "name": token.name,
        "scope": token.scope.as_str(),
        "created_at": written(token.created_at),
        "expires_at": token.expires_at.map(written),
        "last_used_at": token.used_at.map(written),
        "is_expired": token.is_expired(now),
    })
}
