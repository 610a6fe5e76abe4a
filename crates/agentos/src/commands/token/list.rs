//! `agentos token list`: who may use the server from elsewhere.

use std::process::ExitCode;

use agentos_core::time::Timestamp;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::registry::KnownToken;
use serde_json::{Value, json};

use super::{document, refused, registry};
use crate::error::Result;
use crate::session::Session;
use crate::terminal::moment::seen_from;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let now = SystemClock.now();
    let tokens = registry(session)?.tokens().map_err(|error| refused(&error))?;
    if args.json {
        let items: Vec<Value> = tokens.iter().map(|token| document(token, now)).collect();
        let total = items.len();
        session.output.document(
            &json!({ "items": items, "page": 1, "limit": total, "total": total, "next": null }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if tokens.is_empty() {
        session
            .output
            .note("there are no tokens; `agentos token create --name NAME --scope read` makes one");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        Column::precious("ID"),
        Column::text("NAME"),
        Column::text("SCOPE"),
        Column::text("MADE"),
        Column::text("USED"),
        Column::text("EXPIRES"),
    ]);
    for token in &tokens {
        table.row(row(token, now));
    }
    let output = &session.output;
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    Ok(ExitCode::SUCCESS)
}

fn row(token: &KnownToken, now: Timestamp) -> Vec<Line> {
    let seen = |at: Option<Timestamp>, never: &str| {
        at.map_or_else(|| never.to_owned(), |at| seen_from(at, now))
    };
    let (expires, tone) = match token.is_expired(now) {
        true => ("expired".to_owned(), Tone::Bad),
        false => (seen(token.expires_at, "never"), Tone::Plain),
    };
    vec![
        Line::of(Tone::Strong, &token.id),
        Line::of(Tone::Plain, &token.name),
        Line::of(Tone::Plain, token.scope.as_str()),
        Line::of(Tone::Faint, &seen_from(token.created_at, now)),
        Line::of(Tone::Faint, &seen(token.used_at, "never")),
        Line::of(tone, &expires),
    ]
}
