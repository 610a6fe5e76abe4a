//! `agentos diff`: what a run, or one of its steps, has done to the files, and what two runs have done differently.

mod compare;
mod shown;

use std::process::ExitCode;

use agentos_core::value::Value;
use agentos_store::records::Records as _;
use agentos_workspace::version_control::Diff;
use agentos_workspace::workspace::snapshot::Comparison;
use serde::Serialize;

use crate::error::{Cause, CommandError, Result};
use crate::names;
use crate::session::Session;
use crate::travel::past::Past;
use crate::travel::range::{Range, Unknown};
use crate::workspace::desk::Desk;
use compare::Compared;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// Only what this step has changed: its number, or its name
    #[arg(long, value_name = "STEP", conflicts_with = "against")]
    step: Option<String>,

    /// What is different in another run: its files, and how its steps went
    #[arg(long, value_name = "RUN")]
    against: Option<String>,

    /// Only which files, and how many lines
    #[arg(long)]
    stat: bool,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

/// What is printed for programs.
#[derive(Serialize)]
struct Document<'a> {
    run_id: &'a str,
    step: Option<u32>,
    against: Option<&'a str>,
    #[serde(flatten)]
    files: &'a Diff,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<&'a Compared>,
}

/// What a run, or one of its steps, has done to the files, as every interface tells it.
pub(crate) async fn document(session: &Session, run: &str, step: Option<&str>) -> Result<Value> {
    let store = session.look_for(run)?;
    let past = Past::load(&store, names::find(&store, run).await?).await?;
    let desk = Desk::open(session, &store)?.at_run(&past.run).await?;
    let step = step.map(|step| past.step(step)).transpose()?;
    let mut range = Range::new(&desk, &store);
    let found = match step {
        Some(step) => range.of_step(&past, step).await,
        None => range.of_run(&past).await,
    };
    let wanted = Comparison { has_text: true, ..Comparison::default() };
    let diff = match found {
        Ok(found) => found.difference(&desk, wanted).await,
        Err(error) => Err(error),
    };
    range.forget().await;
    let document = Document {
        run_id: &past.run.run_id,
        step: step.map(|step| step.number.0),
        against: None,
        files: &diff?,
        runs: None,
    };
    serde_json::to_value(&document).map_err(|error| CommandError::failed(error.to_string()))
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let store = session.look_for(&args.run)?;
    let past = Past::load(&store, names::find(&store, &args.run).await?).await?;
    let desk = Desk::open(session, &store)?.at_run(&past.run).await?;
    let other = match &args.against {
        Some(name) => Some(Past::load(&store, names::find(&store, name).await?).await?),
        None => None,
    };
    let step = args.step.as_deref().map(|step| past.step(step)).transpose()?;
    let mut range = Range::new(&desk, &store);
    let found = match (&other, step) {
        (Some(other), _) => range.between(&past, other).await,
        (None, Some(step)) => range.of_step(&past, step).await,
        (None, None) => range.of_run(&past).await,
    };
    // What is piped is to be applied.
    let is_whole = session.output.size.is_none() && !args.json && other.is_none();
    let wanted = Comparison { has_text: !args.stat, is_whole, ..Comparison::default() };
    let diff = match found {
        Ok(found) => found.difference(&desk, wanted).await,
        // How two runs went can be told without their files.
        Err(error) if other.is_some() => {
            session.output.note(&format!("their files can't be compared: {}", error.message));
            Ok(Diff::default())
        }
        Err(error) => Err(error),
    };
    range.forget().await;
    let diff = diff?;
    let runs = match &other {
        Some(other) => {
            let (one, two) =
                (store.run_detail(past.run.id).await?, store.run_detail(other.run.id).await?);
            Some(Compared::of(&one, &two))
        }
        None => None,
    };
    if args.json {
        session.output.document(&Document {
            run_id: &past.run.run_id,
            step: step.map(|step| step.number.0),
            against: other.as_ref().map(|other| &*other.run.run_id),
            files: &diff,
            runs: runs.as_ref(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    print(session, (&past, other.as_ref()), &diff, runs.as_ref())?;
    if is_whole && diff.text_truncated {
        return Err(CommandError::failed(
            "the rest is left out, because it is too long: this is no patch that can be applied",
        )
        .hint("`--stat` lists the files; `git diff` in the workspace has no such limit"));
    }
    Ok(ExitCode::SUCCESS)
}

fn print(
    session: &Session,
    (past, other): (&Past, Option<&Past>),
    diff: &Diff,
    runs: Option<&Compared>,
) -> Result<()> {
    let output = &session.output;
    let mut lines = Vec::new();
    if let (Some(runs), Some(other)) = (runs, other) {
        let (one, two) = (&past.run.run_id, &other.run.run_id);
        lines.extend(runs.lines(output, (one, two)));
        lines.push(String::new());
    }
    if diff.files_changed == 0 {
        output.lines(lines)?;
        output.note("no files differ");
        return Ok(());
    }
    // A patch that is piped is to be one, and nothing else.
    if output.size.is_some() || runs.is_some() || diff.text.is_none() {
        lines.extend(shown::summary(output, diff));
        if diff.text.is_some() {
            lines.push(String::new());
        }
    }
    lines.extend(shown::patch(output, diff));
    output.lines(lines)?;
    if diff.text_truncated && (output.size.is_some() || runs.is_some()) {
        output.note("the rest is left out: it is too long");
    }
    Ok(())
}

impl From<Unknown> for CommandError {
    fn from(unknown: Unknown) -> Self {
        let refused = Self::refused(unknown.to_string()).because(Cause::FilesNotKept);
        match unknown {
            Unknown::BackedUp { workspace, .. } => refused
                .cli_hint(format!("`agentos workspace restore {workspace}` brings it back"))
                .api_hint(format!("`POST /api/workspaces/{workspace}/restore` brings it back")),
            _ => refused,
        }
    }
}
