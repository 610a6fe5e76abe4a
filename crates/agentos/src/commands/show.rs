//! `agentos show`: one run with everything about it.

use std::process::ExitCode;

use agentos_core::operation::OperationKind;
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::{Records as _, RunCosts, RunDetail};
use agentos_store::sqlite::SqliteStore;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::place_of;
use crate::error::Result;
use crate::operations::{UnderWay, under_way};
use crate::session::Session;
use crate::terminal::duration;
use crate::terminal::moment::date_and_clock;
use crate::terminal::paint::Tone;
use crate::terminal::text::{Line, harmless};
use crate::terminal::tree::{self, Frame};
use crate::travel::changed::ChangedWorkflow;
use crate::{names, supervise, view};

/// How many artifacts are shown with a run.
const ARTIFACTS: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

/// The run with what is under way in it.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    detail: RunDetail,
    operations: Vec<UnderWay>,
    /// Which workflow has changed since the run failed, and what to retry.
    changed: Option<ChangedWorkflow>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.json {
        session.output.document(&document(session, &args.run).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (store, Document { detail, operations, changed }) = look(session, &args.run).await?;
    let output = &session.output;
    let from = origin(&store, &detail).await;
    let mut lines = facts(session, &detail, (from, changed));
    lines.push(String::new());
    let view = view::load_family(&store, detail.run.id).await?;
    let size = output.size.map(|size| crate::terminal::size::Size { height: usize::MAX, ..size });
    lines.extend(tree::lines(&view, &Frame { now: SystemClock.now(), size, paint: output.paint }));
    lines.extend(waited_for(session, &operations, &detail.run.run_id));
    lines.extend(kept(session, &detail));
    lines.extend(remarks(&view.run));
    output.lines(lines)?;
    Ok(ExitCode::SUCCESS)
}

/// What people call the run that this one was made out of; its id, if it is gone.
async fn origin(store: &SqliteStore, detail: &RunDetail) -> Option<String> {
    let from = detail.run.forked_from.clone()?;
    let Ok(run) = names::find(store, &from).await else { return Some(from) };
    Some(store.run_detail(run).await.map_or(from, |found| found.run.run_id))
}

/// The run as every interface shows it.
pub(crate) async fn document(session: &Session, run: &str) -> Result<impl Serialize> {
    let (_, document) = look(session, run).await?;
    if let Some(changed) = &document.changed {
        session.output.note(&changed.to_string());
    }
    Ok(document)
}

async fn look(session: &Session, run: &str) -> Result<(SqliteStore, Document)> {
    let store = session.look_for(run)?;
    let detail = names::find_detail(&store, run).await?;
    // What goes on in another database is under way there.
    let is_over = detail.run.completed_at.is_some() || detail.run.elsewhere.is_some();
    let operations = match is_over {
        true => Vec::new(),
        false => under_way(&store, detail.run.id, &supervise::masks(session)).await?,
    };
    let changed = ChangedWorkflow::find(session, &store, &detail.run).await;
    Ok((store, Document { detail, operations, changed }))
}

/// What is known of the run beside its steps.
fn facts(
    session: &Session,
    detail: &RunDetail,
    (forked_from, changed): (Option<String>, Option<ChangedWorkflow>),
) -> Vec<String> {
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
        ("elsewhere", run.elsewhere.as_ref().map(ToString::to_string)),
        ("worktree", run.worktree_id.clone()),
        ("works in", run.workspace_dir.clone()),
        ("branch", run.branch_name.clone()),
        ("commit", run.commit_sha.clone()),
        ("pr", run.pr_url.clone()),
        ("parent", run.parent_run_id.clone()),
        ("forked from", forked_from),
        ("input", json(&run.input)),
        ("output", json(&run.output)),
        ("error", error.map(str::to_owned)),
        ("failed at", place_of(session, run)),
        ("changed", changed.map(|changed| changed.to_string())),
        ("cost", inherited_cost(&detail.costs)),
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

/// What a run has paid for itself and what it has from another one, if it has something from one.
fn inherited_cost(costs: &RunCosts) -> Option<String> {
    let inherited = costs.inherited_cost_usd?;
    Some(format!("${:.2}, and ${inherited:.2} inherited", costs.cost_usd.unwrap_or_default()))
}

/// What is under way, where to find it, and how to answer what is asked.
fn waited_for(session: &Session, operations: &[UnderWay], run: &str) -> Vec<String> {
    let (paint, now) = (session.output.paint, SystemClock.now());
    let width = session.output.size.map(|size| size.width);
    let fitted =
        |line: Line| width.map_or_else(|| line.painted(paint), |width| line.fitted(width, paint));
    let mut lines = Vec::new();
    for operation in operations {
        let about = match &operation.question {
            Some(question) => question.about(run),
            None => [&operation.command, &operation.held, &operation.directory]
                .into_iter()
                .flatten()
                .map(|about| Line::of(Tone::Plain, about))
                .collect(),
        };
        lines.push(fitted(headline(operation, now)));
        lines.extend(about.into_iter().map(|about| fitted(about.indented(MARGIN))));
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// What the run has kept, as far as it fits beside everything else.
fn kept(session: &Session, detail: &RunDetail) -> Vec<String> {
    let all = &detail.artifacts;
    if all.is_empty() {
        return Vec::new();
    }
    let (shown, rest) = all.split_at(all.len().min(ARTIFACTS));
    let width = session.output.size.map(|size| size.width);
    let table = super::artifacts::table(detail, shown);
    let mut lines = vec![String::new()];
    lines.extend(table.lines(width, session.output.paint));
    if !rest.is_empty() {
        lines.push(format!("{} more: agentos artifacts {}", rest.len(), detail.run.run_id));
    }
    lines
}

/// How wide the names of facts are.
const MARGIN: usize = 12;

/// What it is, and since when.
fn headline(operation: &UnderWay, now: Timestamp) -> Line {
    let step = operation.step_number.map(|number| format!("step {number}  ")).unwrap_or_default();
    let (what, text) = match &operation.question {
        Some(question) => ("asks", format!("{step}{}", question.text)),
        None => {
            let kind = operation.kind.map(OperationKind::as_str).unwrap_or_default();
            ("under way", format!("{step}{kind} {}", operation.name))
        }
    };
    let line = Line::of(Tone::Faint, &format!("{what:<MARGIN$}"))
        .with(Tone::Plain, &text)
        .with(Tone::Faint, &format!("  {}", duration::span(now.0 - operation.since.0)));
    let pid = operation.pid.map(|pid| format!("  process {pid}"));
    line.with(Tone::Plain, &pid.unwrap_or_default())
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
