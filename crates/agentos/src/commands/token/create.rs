//! `agentos token create`: a new token, shown once.

use std::process::ExitCode;

use agentos_core::time::Timestamp;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_server::access::Secret;
use agentos_store::registry::{AddTokenError, KnownToken, Scope};

use super::{document, refused, registry};
use crate::config::Age;
use crate::error::{CommandError, Result};
use crate::session::Session;

/// The longest name.
const LONGEST_NAME: usize = 64;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to call it: who it is for
    #[arg(long, value_parser = name)]
    name: String,

    /// What its holder may do: look; also start, answer and cancel runs; everything
    #[arg(long, value_enum)]
    scope: Wanted,

    /// After how long it is worth nothing: `12h`, `30d`, `4w` (default: never)
    #[arg(long, value_name = "TIME", value_parser = age)]
    expires: Option<Age>,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Wanted {
    Read,
    Run,
    Admin,
}

impl From<Wanted> for Scope {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Read => Self::Read,
            Wanted::Run => Self::Run,
            Wanted::Admin => Self::Admin,
        }
    }
}

fn name(text: &str) -> Result<String, &'static str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || " -_.@".contains(letter);
    let is_fine = (1..=LONGEST_NAME).contains(&text.chars().count())
        && text.chars().all(is_plain)
        && text.trim() == text;
    match is_fine {
        true => Ok(text.to_owned()),
        false => Err("a name has up to 64 letters, digits, spaces, and any of - _ . @"),
    }
}

fn age(text: &str) -> Result<Age, &'static str> {
    let age = Age::try_from(text.to_owned())?;
    match age.ms() {
        Some(ms) if ms > 0 => Ok(age),
        _ => Err("must be a time: a number and m, h, d or w"),
    }
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let now = SystemClock.now();
    let secret = Secret::random()?;
    let lasts_ms = args.expires.as_ref().and_then(Age::ms);
    let token = KnownToken {
        id: secret.id().to_owned(),
        name: args.name.clone(),
        scope: args.scope.into(),
        created_at: now,
        expires_at: lasts_ms.map(|ms| Timestamp(now.0.saturating_add(ms))),
        used_at: None,
    };
    registry(session)?.add_token(&token, &secret.hash()).map_err(|error| match error {
        AddTokenError::Registry(error) => refused(&error),
        other => CommandError::refused(other.to_string()).hint("`agentos token list` shows them"),
    })?;
    if args.json {
        let mut document = document(&token, now);
        document["token"] = secret.reveal().into();
        session.output.document(&document)?;
        return Ok(ExitCode::SUCCESS);
    }
    session.output.lines([secret.reveal()])?;
    session.output.note(
        "this is the only time that the token is shown; send it as `Authorization: Bearer TOKEN`",
    );
    Ok(ExitCode::SUCCESS)
}
