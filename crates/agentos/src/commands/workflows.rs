//! `agentos workflows`: what can be started here.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::check::shown;
use crate::catalog::Listed;
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
    let all = found(session);
    if args.json {
        session.output.document(&document(&all))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        Column::precious("WORKFLOW"),
        Column::text("WHAT IT DOES"),
        Column::text("FROM"),
    ]);
    for workflow in all {
        table.row(vec![
            Line::of(Tone::Strong, &workflow.name),
            Line::of(Tone::Plain, workflow.description.as_deref().unwrap_or_default()),
            Line::of(Tone::Faint, &origin(&workflow)),
        ]);
    }
    let output = &session.output;
    output.lines(table.lines(output.size.map(|size| size.width), output.paint))?;
    Ok(ExitCode::SUCCESS)
}

/// What can be started. What is broken is told beside.
pub(crate) fn found(session: &Session) -> Vec<Listed> {
    let all = session.catalog.all();
    for broken in session.catalog.diagnostics() {
        shown(session, broken).iter().for_each(|line| session.output.mention(line));
    }
    all
}

/// Workflows as every interface lists them.
pub(crate) fn document(all: &[Listed]) -> Value {
    let total = all.len();
    json!({ "items": all, "page": 1, "limit": total, "total": total, "next": null })
}

fn origin(workflow: &Listed) -> String {
    let from = workflow.file.as_deref().unwrap_or("built in");
    match workflow.replaces_built_in {
        true => format!("{from} (in the place of the built-in one)"),
        false => from.to_owned(),
    }
}
