//! `agentos run`: a new run, seen to its end.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_sdk::check_input;
use agentos_store::records::Records as _;
use agentos_store::sqlite::{Owner, SqliteStore};
use clap::ArgMatches;

use super::report;
use crate::agents;
use crate::error::{CommandError, Result};
use crate::inputs::{Given, assemble, files, given_flags};
use crate::session::{Opened, Session};
use crate::start::{self, NewRunRequest, RunNames};
use crate::view::Stream;
use crate::workspace::choose::Choice;
use crate::workspace::{self, Placed, WorkspaceArgs, choose, setup, tend};
use crate::{executor, foreground, scribe};

/// The longest input that is read, in bytes.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workflow; its inputs can be given as flags (`agentos run NAME --help` lists them)
    #[arg(value_name = "WORKFLOW")]
    name: String,

    /// An input, or `-` for all of them as JSON on standard input
    #[arg(long, value_name = "KEY=VALUE")]
    input: Vec<String>,

    /// A JSON file with inputs
    #[arg(long, value_name = "FILE")]
    input_file: Option<PathBuf>,

    #[command(flatten)]
    place: WorkspaceArgs,

    /// Put another agent in the place of one, for this run: `claude=codex`, or `claude=scripted:FILE` to play a scenario
    #[arg(long, value_name = "NAME=OTHER[:FILE]")]
    agent: Vec<String>,

    /// Leave the run to the background executor, and return at once
    #[arg(long)]
    detach: bool,

    /// Print the finished run as a JSON document (with --detach: as it stands)
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(
    session: &Session,
    args: Args,
    matches: Option<&ArgMatches>,
) -> Result<ExitCode> {
    // Where nobody knows which checkout this is, that is what is wrong.
    let found = session.catalog.find(&args.name);
    let workflow = found.map_err(|error| session.location().err().unwrap_or(error))?;
    for twin in session.catalog.twins(&args.name) {
        session.output.note(&twin);
    }
    let flags = matches.map(given_flags).unwrap_or_default();
    let value = assemble(workflow.input.as_ref(), gather(&args, flags)?)?;
    check(&args.name, workflow.input.as_ref(), &value)?;
    let folder = session.surroundings.cwd.clone().unwrap_or_default();
    let files = files(workflow.input.as_ref(), &value, &folder)?;
    let agents = agents::replacements(session, &args.agent, &folder)?;
    let choice = choose::choose(session, &args.place, workflow.workspace.as_deref())?;
    if choice != Choice::Checkout && args.place.allow_setup {
        setup::allow(session)?;
    }
    let Opened { store, prepared } = session.open()?;
    let prepared = start::adopt(&store, session.location()?, prepared).await?;
    // What is seen to its end here is ours from the start: an executor that lives must not find it first.
    let owner = if args.detach { None } else { Some(foreground::enlist(&store)?) };
    let owned_by = owner.as_ref().map(Owner::id);
    start::register_project(&store, &prepared).await?;
    let names = RunNames::new(&store, &workflow.name).await?;
    let (run, called) = (names.run, (names.run.to_string(), names.run_id.clone()));
    let placed =
        workspace::place(session, &store, (choice, args.place.base.clone()), called).await?;
    let request = NewRunRequest {
        workflow: &workflow,
        input: value,
        files,
        agents,
        owner: owned_by,
        names,
        placed: &placed,
    };
    start::create(&store, &prepared, request).await?;
    begin(session, &store, run, placed).await?;
    scribe::write(&store, run).await;
    let Some(owner) = owner else {
        executor::ensure(&store, &prepared.project_path).await?;
        let detail = store.run_detail(run).await?;
        return match args.json {
            true => session.output.document(&detail).map(|()| ExitCode::SUCCESS),
            false => session.output.lines([detail.run.run_id]).map(|()| ExitCode::SUCCESS),
        };
    };
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = foreground::drive(session, &store, (owner, run), stream).await?;
    report(session, &detail, args.json)
}

/// The run is there, so its workspace is in use.
async fn begin(session: &Session, store: &SqliteStore, run: RunId, placed: Placed) -> Result<()> {
    match placed.workspace {
        Some(workspace) if !placed.is_shared => {
            let record = store.run_detail(run).await?.run;
            tend::occupy(session, store, &record, workspace).await
        }
        _ => Ok(()),
    }
}

fn gather(args: &Args, flags: Vec<(String, Vec<String>)>) -> Result<Given> {
    let file = args.input_file.as_ref().map(|path| {
        let name = path.display().to_string();
        let failed = |error| CommandError::usage(format!("{name} can't be read: {error}"));
        std::fs::read_to_string(path).map(|text| (name.clone(), text)).map_err(failed)
    });
    let (dashes, pairs): (Vec<String>, Vec<String>) =
        args.input.iter().cloned().partition(|pair| pair == "-");
    let stdin = match dashes.is_empty() {
        true => None,
        false => Some(read_stdin()?),
    };
    Ok(Given { file: file.transpose()?, stdin, pairs, flags })
}

fn read_stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| CommandError::usage(format!("standard input can't be read: {error}")))?;
    if text.len() as u64 > LONGEST {
        return Err(CommandError::usage(format!(
            "standard input is longer than {} MB",
            LONGEST >> 20
        ))
        .hint("give large data as a file (`\"format\": \"file\"` in the schema)"));
    }
    Ok(text)
}

fn check(name: &str, schema: Option<&Value>, value: &Value) -> Result<()> {
    let Some(schema) = schema else { return Ok(()) };
    check_input(schema, value).map_err(|error| {
        CommandError::usage(error.to_string())
            .hint(format!("`agentos run {name} --help` lists the inputs"))
    })
}
