//! `agentos query`: SQL over every worktree's database at once, which changes nothing.

mod csv;
mod schema;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentos_store::unified::{Answer, Cell, Question, SelectError};
use serde_json::{Map, Value, json};

use super::status::tell_unreadable;
use crate::error::{CommandError, Result};
use crate::overview::{self, Scope};
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::text::{Line, harmless};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One SELECT over workflow_runs, workflow_steps, …; `-` reads it from standard input
    #[arg(value_name = "SQL", required_unless_present = "schema")]
    sql: Option<String>,

    /// Tell which tables and columns there are
    #[arg(long, conflicts_with_all = ["sql", "csv"])]
    schema: bool,

    /// Of every repository that you have used
    #[arg(long)]
    all_repos: bool,

    /// How many rows at most
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,

    /// How many seconds it may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    timeout: u32,

    /// Print a JSON document
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values (RFC 4180)
    #[arg(long)]
    csv: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Some(sql) = &args.sql else { return schema::show(session, args.json) };
    let sql = if sql == "-" { std::io::read_to_string(std::io::stdin())? } else { sql.clone() };
    let scope = if args.all_repos { Scope::Everything } else { Scope::Repository };
    let view = overview::open(session, scope)?;
    let stop = Arc::new(AtomicBool::new(false));
    let question = Question { sql, rows: args.limit as usize, stop: Arc::clone(&stop) };
    let timeout = Duration::from_secs(u64::from(args.timeout));
    let clock = tokio::spawn(async move {
        tokio::time::sleep(timeout).await;
        stop.store(true, Ordering::Relaxed);
    });
    let answer = view.select(question).await;
    clock.abort();
    let answer = answer.map_err(|error| complaint(error, args))?;
    if args.json {
        session.output.document(&document(&answer))?;
    } else if args.csv {
        session.output.raw(&csv::written(&answer))?;
    } else {
        session.output.lines(table(session, &answer))?;
    }
    if !args.json {
        tell_unreadable(session, &answer.unreadable);
    }
    if answer.has_more {
        session.output.note(&format!("there are more rows; `--limit` is {}", args.limit));
    }
    Ok(ExitCode::SUCCESS)
}

fn complaint(error: SelectError, args: &Args) -> CommandError {
    let message = error.to_string();
    match error {
        SelectError::Sql { .. } => CommandError::usage(message)
            .hint("`agentos query --schema` tells which tables and columns there are"),
        SelectError::Refused { .. } => CommandError::refused(message),
        SelectError::Stopped => CommandError::failed(message)
            .hint(format!("it had {} seconds; `--timeout` gives it more", args.timeout)),
        SelectError::TooMuch { .. } => CommandError::failed(message)
            .hint("look at one database: AGENTOS_WORKFLOW_DB=PATH agentos query …"),
        SelectError::Changing | SelectError::Internal(_) => CommandError::failed(message),
    }
}

/// Rows as objects. Of two columns of one name the last counts, so their names are listed too.
fn document(answer: &Answer) -> Value {
    let row = |cells: &Vec<Cell>| -> Value {
        let fields = answer.columns.iter().cloned().zip(cells.iter().map(|cell| json!(cell)));
        Value::Object(fields.collect::<Map<String, Value>>())
    };
    json!({
        "columns": answer.columns,
        "items": answer.rows.iter().map(row).collect::<Vec<Value>>(),
        "has_more": answer.has_more,
        "unreadable": answer.unreadable,
    })
}

/// Between two columns.
const GAP: &str = "  ";

fn table(session: &Session, answer: &Answer) -> Vec<String> {
    let texts = |cells: &Vec<Cell>| -> Vec<Line> {
        cells.iter().map(|cell| Line::of(tone(cell), &harmless(&text(cell)))).collect()
    };
    let titles = answer.columns.iter().map(|name| Line::of(Tone::Faint, &harmless(name))).collect();
    let mut rows: Vec<Vec<Line>> = vec![titles];
    rows.extend(answer.rows.iter().map(texts));
    let widest = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..answer.columns.len()).map(widest).collect();
    let is_number = |at: usize| {
        let mut cells = answer.rows.iter().map(|row| &row[at]);
        !answer.rows.is_empty() && cells.all(|cell| !matches!(cell, Cell::Text(_) | Cell::Blob(_)))
    };
    let numbers: Vec<bool> = (0..answer.columns.len()).map(is_number).collect();
    let (paint, width) = (session.output.paint, session.output.size.map(|size| size.width));
    let line = |row: &Vec<Line>| {
        let mut line = Line::default();
        for (at, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[at] - cell.width());
            let (before, after) =
                if numbers[at] { (space, String::new()) } else { (String::new(), space) };
            line.push(Tone::Plain, &before);
            line.append(cell.clone());
            if at + 1 < row.len() {
                line.push(Tone::Plain, &(after + GAP));
            }
        }
        width.map_or_else(|| line.painted(paint), |width| line.fitted(width, paint))
    };
    rows.iter().map(line).collect()
}

fn tone(cell: &Cell) -> Tone {
    if *cell == Cell::Null { Tone::Faint } else { Tone::Plain }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(value) => value.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
