//! `agentos check`: reads all templates with a critical eye.

use std::process::ExitCode;

use agentos_script::diagnostic::{Diagnostic, Severity};
use agentos_script::templates::{check_templates, has_errors};
use serde_json::json;

use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::text::{Line, harmless};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let location = session.location()?;
    let root = location.project_path().map_err(|error| CommandError::failed(error.to_string()))?;
    let found = check_templates(root);
    if args.json {
        session.output.document(&json!({ "diagnostics": found }))?;
    } else if found.is_empty() {
        let count = session.catalog.all().iter().filter(|listed| listed.file.is_some()).count();
        let s = if count == 1 { "" } else { "s" };
        session.output.lines([format!("{count} template{s}, nothing to complain about")])?;
    } else {
        session.output.lines(found.iter().flat_map(|found| shown(session, found)))?;
    }
    Ok(if has_errors(&found) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A remark with its frame.
pub(super) fn shown(session: &Session, found: &Diagnostic) -> Vec<String> {
    let (tone, word) = match found.severity {
        Severity::Warning => (Tone::Warning, "warning"),
        Severity::Error => (Tone::Bad, "error"),
    };
    let text = found.to_string();
    let mut lines = text.lines();
    let first = Line::of(tone, &format!("{word}: "))
        .with(Tone::Strong, lines.next().unwrap_or_default())
        .painted(session.output.paint);
    std::iter::once(first).chain(lines.map(|line| harmless(line).into_owned())).collect()
}
