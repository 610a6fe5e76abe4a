//! `agentos workflows`: what can be started here.

use std::process::ExitCode;

use serde_json::json;

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
    let all = session.catalog.all();
    if args.json {
        let total = all.len();
        session.output.document(
            &json!({ "items": all, "page": 1, "limit": total, "total": total, "next": null }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        session.output.note("there are no workflows here");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        Column::precious("WORKFLOW"),
        Column::text("VERSION"),
        Column::text("WHAT IT DOES"),
    ]);
    for workflow in all {
        table.row(vec![
            Line::of(Tone::Strong, &workflow.name),
            Line::of(Tone::Faint, &workflow.version.unwrap_or_default()),
            Line::of(Tone::Plain, &workflow.description.unwrap_or_default()),
        ]);
    }
    let output = &session.output;
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    Ok(ExitCode::SUCCESS)
}
