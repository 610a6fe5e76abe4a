//! `agentos show`: one run with everything about it.

use std::process::ExitCode;

use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::RunDetail;
use jiff::tz::TimeZone;

use crate::error::Result;
use crate::names;
use crate::session::Session;
use crate::terminal::moment::date_and_clock;
use crate::terminal::paint::Tone;
use crate::terminal::text::{Line, harmless};
use crate::terminal::tree::{self, Frame};
use crate::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let store = session.look_for(&args.run)?;
    let detail = names::find_detail(&store, &args.run).await?;
    if args.json {
        session.output.document(&detail)?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = &session.output;
    let mut lines = facts(session, &detail);
    lines.push(String::new());
    let view = view::load_family(&store, detail.run.id).await?;
    let size = output.size.map(|size| crate::terminal::size::Size { height: usize::MAX, ..size });
    lines.extend(tree::lines(&view, &Frame { now: SystemClock.now(), size, paint: output.paint }));
    lines.extend(remarks(&view.run));
    output.lines(lines)?;
    Ok(ExitCode::SUCCESS)
}

/// What is known of the run beside its steps.
fn facts(session: &Session, detail: &RunDetail) -> Vec<String> {
    let run = &detail.run;
    let version =
        run.definition_version.map(|version| format!("{} (version {version})", run.workflow));
    let error = run.error.as_ref().and_then(|error| error.get("message")).and_then(Value::as_str);
    let json = |value: &Option<Value>| {
        value.as_ref().filter(|value| !value.is_null()).map(ToString::to_string)
    };
    let facts = [
        ("id", Some(run.id.to_string())),
        ("workflow", Some(version.unwrap_or_else(|| run.workflow.clone()))),
        ("started", run.started_at.map(|at| date_and_clock(at, &TimeZone::system()))),
        ("worktree", run.worktree_id.clone()),
        ("works in", run.workspace_dir.clone()),
        ("parent", run.parent_run_id.clone()),
        ("forked from", run.forked_from.clone()),
        ("input", json(&run.input)),
        ("output", json(&run.output)),
        ("error", error.map(str::to_owned)),
        ("state", json(&run.state).filter(|state| state != "{}")),
        ("log", run.log_file_path.clone()),
    ];
    let (paint, width) = (session.output.paint, session.output.size.map(|size| size.width));
    let line = |(name, value): (&str, Option<String>)| {
        let line =
            Line::of(Tone::Faint, &format!("{name:<12}")).with(Tone::Plain, &harmless(&value?));
        Some(width.map_or_else(|| line.painted(paint), |width| line.fitted(width, paint)))
    };
    facts.into_iter().filter_map(line).collect()
}

fn remarks(detail: &RunDetail) -> Vec<String> {
    let remarks = detail.comments.iter().map(|comment| {
        let author = comment.author.as_deref().unwrap_or("workflow");
        format!("{author}: {}", harmless(&comment.message))
    });
    let mut lines: Vec<String> = remarks.collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}
