//! `agentos check`: reads all templates with a critical eye.

use std::process::ExitCode;

use agentos_script::definition::Definition;
use agentos_script::diagnostic::{Diagnostic, Severity};
use agentos_script::templates::{check_templates, has_errors, sort};
use agentos_sdk::{WrongDefault, wrong_defaults};
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
    let mut found = check_templates(root);
    found.extend(session.catalog.definitions().flat_map(|workflow| wrong_defaults_of(workflow)));
    sort(&mut found);
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

/// Defaults of its input that every run without that input would be refused for.
fn wrong_defaults_of(workflow: &Definition) -> Vec<Diagnostic> {
    let Some(schema) = &workflow.config().input else { return Vec::new() };
    match wrong_defaults(schema) {
        Ok(wrong) => {
            let error = |WrongDefault { pointer, message }| {
                let message = format!("a default of the input does not fit its schema: {message}");
                workflow.schema_error(&format!("{pointer}/default"), message)
            };
            wrong.into_iter().map(error).collect()
        }
        Err(error) => vec![workflow.schema_error("", error.to_string())],
    }
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
