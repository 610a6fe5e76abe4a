//! `agentos query --schema`: what can be asked for.

use std::process::ExitCode;

use agentos_store::unified::describe_tables;
use serde_json::json;

use crate::error::Result;
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;

/// How wide the names of columns are.
const MARGIN: usize = 22;

pub(super) fn show(session: &Session, is_json: bool) -> Result<ExitCode> {
    let tables = describe_tables();
    if is_json {
        session.output.document(&json!({ "tables": tables }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let paint = session.output.paint;
    let mut lines = Vec::new();
    for table in &tables {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let title =
            Line::of(Tone::Strong, table.name).with(Tone::Faint, &format!("  {}", table.about));
        lines.push(title.painted(paint));
        for column in &table.columns {
            let name = Line::of(Tone::Plain, &format!("  {:<MARGIN$}", column.name));
            lines.push(name.with(Tone::Faint, column.about).painted(paint));
        }
    }
    session.output.lines(lines)?;
    Ok(ExitCode::SUCCESS)
}
