//! `agentos config`: what is set, and where each value comes from.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let rows = session.config.rows();
    let output = &session.output;
    if args.json {
        let rows = rows.into_iter().map(|row| {
            // What can be set is written in JSON as in TOML.
            let value = serde_json::from_str(&row.value).unwrap_or(Value::String(row.value));
            (row.key.to_owned(), json!({ "value": value, "origin": row.origin.to_string() }))
        });
        output.document(&rows.collect::<Map<_, _>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table =
        Table::new(&[Column::precious("KEY"), Column::precious("VALUE"), Column::text("FROM")]);
    for row in rows {
        table.row(vec![
            Line::of(Tone::Strong, row.key),
            Line::of(Tone::Plain, &row.value),
            Line::of(Tone::Faint, &row.origin.to_string()),
        ]);
    }
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    Ok(ExitCode::SUCCESS)
}
