//! `agentos artifacts`: what a run has kept, and copies of it.

mod download;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentos_core::path::OperationId;
use agentos_store::records::{ArtifactRecord, RunDetail, StepRecord};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{CommandError, Result};
use crate::names;
use crate::output::complain;
use crate::session::Session;
use crate::terminal::bytes::size;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;
use download::Download;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// Only those of this step: its number or its name
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    /// Only those of this type
    #[arg(long = "type", value_enum, ignore_case = true, value_name = "TYPE")]
    kind: Option<Kind>,

    /// Copy them into this folder, and see that they are what was kept
    #[arg(long, value_name = "FOLDER")]
    download: Option<PathBuf>,

    /// Replace files that are there already
    #[arg(long, requires = "download")]
    force: bool,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Kind {
    Screenshot,
    LogFile,
    SessionFile,
    TestReport,
    BuildOutput,
    Document,
    Other,
}

/// An artifact, and where it was copied to.
#[derive(Serialize)]
struct Item<'a> {
    #[serde(flatten)]
    artifact: &'a ArtifactRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    downloaded_to: Option<&'a Path>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let store = session.look_for(&args.run)?;
    let detail = names::find_detail(&store, &args.run).await?;
    let wanted = wanted(&detail, args.step.as_deref(), args.kind)?;
    let copies = match &args.download {
        Some(folder) => Some(copied(&detail, &wanted, &Download { folder, force: args.force })?),
        None => None,
    };
    tell(session, args, (&detail, &wanted), copies.as_deref())?;
    let is_whole = copies.iter().flatten().all(Result::is_ok);
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tells of artifacts, or of their copies.
fn tell(
    session: &Session,
    args: &Args,
    (detail, wanted): (&RunDetail, &[ArtifactRecord]),
    copies: Option<&[Result<PathBuf>]>,
) -> Result<()> {
    for error in copies.unwrap_or_default().iter().filter_map(|copy| copy.as_ref().err()) {
        complain(error);
    }
    if args.json {
        return session.output.document(&document(wanted, copies));
    }
    if wanted.is_empty() {
        session.output.note(&format!("{} has kept no such thing", detail.run.run_id));
        return Ok(());
    }
    match copies {
        Some(copies) => {
            let paths = copies.iter().filter_map(|copy| copy.as_ref().ok());
            session.output.lines(paths.map(|path| path.to_string_lossy()))?;
        }
        None => {
            let (width, paint) = (session.output.size.map(|size| size.width), session.output.paint);
            session.output.lines(table(detail, wanted).lines(width, paint))?;
        }
    }
    Ok(())
}

/// Artifacts as every interface lists them, with where they were copied to.
pub(crate) fn document(wanted: &[ArtifactRecord], copies: Option<&[Result<PathBuf>]>) -> Value {
    let items = wanted.iter().enumerate().map(|(number, artifact)| {
        let copy = copies.and_then(|copies| copies.get(number));
        Item { artifact, downloaded_to: copy.and_then(|copy| copy.as_deref().ok()) }
    });
    let (items, total) = (items.collect::<Vec<_>>(), wanted.len());
    json!({ "items": items, "page": 1, "limit": total, "total": total, "next": null })
}

/// The artifacts that were asked for.
pub(crate) fn wanted(
    detail: &RunDetail,
    step: Option<&str>,
    kind: Option<Kind>,
) -> Result<Vec<ArtifactRecord>> {
    let steps = step.map(|step| {
        let number: Option<u32> = step.parse().ok();
        let is_it = |found: &&StepRecord| {
            let operation = found.path.parse::<OperationId>().ok().and_then(|path| path.name());
            let is_named =
                found.name == step || operation.is_some_and(|name| name.as_str() == step);
            is_named || number == Some(found.step_number)
        };
        detail.steps.iter().filter(is_it).map(|found| found.id).collect::<Vec<_>>()
    });
    if let (Some(step), Some([])) = (step, steps.as_deref()) {
        let run = &detail.run.run_id;
        return Err(CommandError::not_found(format!("{run} has no step `{step}`"))
            .hint(format!("`agentos show {run}` lists its steps")));
    }
    let kind = kind.and_then(|kind| kind.to_possible_value());
    let kind = kind.as_ref().map(clap::builder::PossibleValue::get_name);
    let is_wanted = |artifact: &&ArtifactRecord| {
        let of_step = steps
            .as_ref()
            .is_none_or(|steps| artifact.step_id.is_some_and(|step| steps.contains(&step)));
        of_step && kind.is_none_or(|kind| kind == artifact.r#type)
    };
    Ok(detail.artifacts.iter().filter(is_wanted).cloned().collect())
}

fn copied(
    detail: &RunDetail,
    wanted: &[ArtifactRecord],
    download: &Download<'_>,
) -> Result<Vec<Result<PathBuf>>> {
    download.copy(project_of(detail)?, wanted)
}

/// The project below which a run keeps its files.
pub(crate) fn project_of(detail: &RunDetail) -> Result<&Path> {
    let run = &detail.run.run_id;
    detail.run.work_dir.as_deref().map(Path::new).ok_or_else(|| {
        CommandError::not_found(format!("nobody has written down where {run} keeps its files"))
    })
}

/// The step that kept it, with the attempt if it was not the first.
fn made_by(step: &StepRecord, artifact: &ArtifactRecord) -> String {
    let metadata = artifact.metadata.as_ref();
    match metadata.and_then(|metadata| metadata.get("attempt")?.as_u64()) {
        Some(attempt) => format!("{} (attempt {attempt})", step.name),
        None => step.name.clone(),
    }
}

/// Artifacts as a table.
pub(super) fn table(detail: &RunDetail, artifacts: &[ArtifactRecord]) -> Table {
    let mut table = Table::new(&[
        Column::text("ARTIFACT"),
        Column::text("TYPE"),
        Column::number("SIZE"),
        Column::text("STEP"),
        Column::text("FILE"),
    ]);
    for artifact in artifacts {
        let step = detail.steps.iter().find(|step| Some(step.id) == artifact.step_id);
        let bytes = artifact.size_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        table.row(vec![
            Line::of(Tone::Strong, &artifact.name),
            Line::of(Tone::Plain, &artifact.r#type),
            Line::of(Tone::Plain, &bytes.map(size).unwrap_or_default()),
            Line::of(Tone::Faint, &step.map(|step| made_by(step, artifact)).unwrap_or_default()),
            Line::of(Tone::Faint, &artifact.storage_path),
        ]);
    }
    table
}
